// SPDX-License-Identifier: Apache-2.0
// Reads .pte files. The layout, little endian:
//
//   OFFSET  SIZE  what
//   0       4     offset of the root table
//   4       4     "ET12"
//   8       4     "eh00": the extended header; absent in old files, which have no segments
//   12      4     its length: 32, or 24 without the last field
//   16      8     bytes of the description: everything from 0 on but the segments
//   24      8     begin of the segments, to which their offsets are relative; 0 if there are none
//   32      8     bytes of the segments
//   ...           the description, a FlatBuffer (flatbuffer.c); its root is the table Program
//   ...           segments, each at a multiple of 128: constants, one for each delegate, one for each named datum
//
//   Program         0 version u32, 1 methods [ExecutionPlan], 2 constants of old files [Buffer: 0 storage [u8]],
//                   3 inline delegates [0 data [u8]], 4 segments [0 offset u64, 1 size u64], 5 constant segment
//                   (0 segment u32, 1 offsets [u64]), 6 mutable segments, 7 named data [0 key string, 1 segment u32]
//   ExecutionPlan   0 name, 1 container, 2 values [EValue], 3 inputs [i32], 4 outputs [i32], 5 chains [Chain: 0 inputs,
//                   1 outputs, 2 instructions], 6 operators [0 name, 1 overload], 7 delegates [BackendDelegate]
//   Instruction     union 0/1: 1 KernelCall (0 operator i32, 1 args [i32]), 2 DelegateCall (0 delegate i32, 1 args),
//                   3 MoveCall (0 from, 1 to), 4 JumpFalseCall, 5 FreeCall
//   EValue          union 0/1: 1 Null, 2 Int, 3 Bool, 4 Double, 5 Tensor, 6 String, 7 IntList (of value numbers),
//                   8 DoubleList, 9 BoolList, 10 TensorList, 11 OptionalTensorList
//   Tensor          0 scalar type i8, 1 storage offset i32, 2 sizes [i32], 3 dim order [u8], 5 data buffer u32,
//                   6 allocation, 8 dynamism i8 (0 static, 1 upper bound, 2 unbound)
//   BackendDelegate 0 id, 1 processed (0 location i8: 0 inline, 1 segment; 1 index u32), 2 compile specs [0 key, 1 value]
#include "formats/pte.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/pte_inside.h"

// --- element types --------------------------------------------------------------------------------------------------

static const struct {
    int code;
    const char *name;
    int dtype; // hone_dtype, -1 = none
} codes[] = {
    {0, "u8", HONE_DTYPE_U8},   {1, "i8", HONE_DTYPE_I8},   {2, "i16", -1},
    {3, "i32", HONE_DTYPE_I32}, {4, "i64", HONE_DTYPE_I64}, {5, "f16", HONE_DTYPE_F16},
    {6, "f32", HONE_DTYPE_F32}, {7, "f64", HONE_DTYPE_F64}, {11, "bool", HONE_DTYPE_BOOL},
    {15, "bf16", -1},
};

bool hone_pte_dtype(int code, hone_dtype *out) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code != code || codes[i].dtype < 0) continue;
        *out = (hone_dtype)codes[i].dtype;
        return true;
    }
    return false;
}

const char *hone_pte_dtype_name(int code) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code == code) return codes[i].name;
    }
    return "an unknown type";
}

hone_dtype hone_pte_device_dtype(hone_dtype dtype) {
    switch (dtype) {
    case HONE_DTYPE_I64:
        return HONE_DTYPE_I32;
    case HONE_DTYPE_F16:
    case HONE_DTYPE_F64:
        return HONE_DTYPE_F32;
    default:
        return dtype;
    }
}

int hone_pte_code(hone_dtype dtype) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].dtype == (int)dtype) return codes[i].code;
    }
    return -1;
}

// --- the file -------------------------------------------------------------------------------------------------------

#define HEADER_LEAST 24
#define HEADER_ALL   32

// Looks at the first bytes and says how many belong to the description.
static hone_status read_header(hone_pte_file *file, uint64_t *description, hone_error *error) {
    hone_source *const source = file->source;
    uint8_t head[40] = {0};
    const size_t n = source->size < sizeof head ? (size_t)source->size : sizeof head;
    HONE_TRY(hone_source_read(source, 0, head, n, "the header", error));
    HONE_FAIL_IF(n < 8 || memcmp(head + 4, "ET", 2) != 0, error, BAD_FORMAT, "'%s' is not an ExecuTorch program: it %s",
                 source->name, n == 0 ? "is empty" : "does not have \"ET12\" at byte 4");
    HONE_FAIL_IF(memcmp(head + 4, "ET12", 4) != 0, error, UNSUPPORTED,
                 "'%s' is an ExecuTorch program of format %.4s; hone reads ET12", source->name, (const char *)head + 4);
    *description = source->size;
    if (n < 12 || memcmp(head + 8, "eh00", 4) != 0) return HONE_OK; // an old file
    uint32_t length = 0;
    uint64_t size = 0, base = 0, bytes = 0;
    memcpy(&length, head + 12, sizeof length);
    memcpy(&size, head + 16, sizeof size);
    memcpy(&base, head + 24, sizeof base);
    HONE_FAIL_IF(n < 8 + HEADER_LEAST || length < HEADER_LEAST, error, BAD_FORMAT,
                 "'%s' has an extended header of %" PRIu32 " bytes, where %d at least belong: the file is cut or "
                 "damaged",
                 source->name, length, HEADER_LEAST);
    if (length >= HEADER_ALL && n >= 8 + HEADER_ALL) memcpy(&bytes, head + 32, sizeof bytes);
    HONE_FAIL_IF(size > source->size || base > source->size || bytes > source->size - base || (base > 0 && base < size),
                 error, BAD_FORMAT,
                 "'%s' has %" PRIu64 " bytes, but its header speaks of %" PRIu64 " of description and %" PRIu64
                 " of data from byte %" PRIu64 " on: the file is cut or damaged",
                 source->name, source->size, size, bytes, base);
    *description = size;
    file->segment_base = base;
    file->extended = true;
    return HONE_OK;
}

static int compare_named(const void *a, const void *b) {
    return strcmp(((const hone_pte_named *)a)->key, ((const hone_pte_named *)b)->key);
}

static hone_status read_named(hone_pte_file *file, hone_error *error) {
    hone_flat *const flat = &file->flat;
    const hone_flat_vector list = hone_flat_list(flat, file->program, 7, 4);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_TRY(hone_pte_plausible(flat, list, "named data", error));
    HONE_TRY(HONE_NEW_ARRAY(&file->named, list.count, "the named data of a program", error));
    for (uint32_t i = 0; i < list.count; i++) {
        hone_flat_note(flat, "named datum", i);
        const hone_flat_table entry = hone_flat_table_at(flat, list, i);
        file->named[i].key = hone_flat_text(flat, entry, 0).bytes;
        file->named[i].segment = hone_flat_u32(flat, entry, 1, 0);
        HONE_TRY(hone_flat_status(flat, error));
        HONE_FAIL_IF(file->named[i].segment >= file->segments.count, error, BAD_FORMAT,
                     "'%s': named datum '%.80s' lies in segment %" PRIu32 " of %" PRIu32, flat->file,
                     file->named[i].key, file->named[i].segment, file->segments.count);
        file->named_count++;
    }
    if (list.count > 1) qsort(file->named, list.count, sizeof *file->named, compare_named);
    return HONE_OK;
}

bool hone_pte_find_key(const hone_pte_file *file, hone_flat_string key, uint32_t *segment) {
    const hone_pte_named wanted = {.key = key.bytes};
    const hone_pte_named *const found =
        file->named_count ? bsearch(&wanted, file->named, file->named_count, sizeof *file->named, compare_named) : NULL;
    if (found) *segment = found->segment;
    return found != NULL;
}

static hone_status read_description(hone_pte_file *file, hone_error *error) {
    uint64_t size = 0;
    HONE_TRY(read_header(file, &size, error));
    HONE_FAIL_IF(size > INT32_MAX, error, UNSUPPORTED,
                 "'%s' has a description of %" PRIu64 " bytes; at most 2 GiB are read", file->source->name, size);
    HONE_TRY(hone_allocate_raw((size_t)size, 1, "the description of a program", (void **)&file->bytes, error));
    HONE_TRY(hone_source_read(file->source, 0, file->bytes, (size_t)size, "the description", error));
    hone_flat *const flat = &file->flat;
    HONE_TRY(hone_flat_open(flat, file->bytes, (size_t)size, "ET12", file->source->name, 0, error));
    hone_flat_note(flat, "table", 0);
    file->program = hone_flat_root(flat);
    file->methods = hone_flat_list(flat, file->program, 1, 4);
    file->segments = hone_flat_list(flat, file->program, 4, 4);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_FAIL_IF(file->methods.count == 0, error, BAD_FORMAT, "'%s' has no methods", flat->file);
    HONE_TRY(hone_pte_plausible(flat, file->methods, "methods", error));
    return read_named(file, error);
}

hone_status hone_pte_file_read(hone_source *source, hone_pte_file **out, hone_error *error) {
    *out = NULL;
    hone_pte_file *file;
    HONE_TRY(HONE_NEW(&file, "a program", error));
    file->source = source;
    const hone_status status = read_description(file, error);
    if (status != HONE_OK) {
        file->source = NULL; // stays with the caller
        hone_pte_file_close(file);
        return status;
    }
    *out = file;
    return HONE_OK;
}

hone_status hone_pte_file_open(const char *path, hone_pte_file **out, hone_error *error) {
    *out = NULL;
    hone_source *source = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    const hone_status status = hone_pte_file_read(source, out, error);
    if (status != HONE_OK) hone_source_close(&source);
    return status;
}

void hone_pte_file_close(hone_pte_file *file) {
    if (!file) return;
    hone_source_close(&file->source);
    hone_free(file->bytes);
    hone_free(file->named);
    hone_free(file);
}

hone_status hone_pte_plausible(const hone_flat *flat, hone_flat_vector list, const char *what, hone_error *error) {
    // Each entry is an offset of 4 bytes and a table with a field or two of its own; a list that only repeats one offset
    // is no writer's work, and would make little bytes into much memory.
    HONE_FAIL_IF((uint64_t)list.count * 16 > flat->size, error, BAD_FORMAT,
                 "'%s' claims %" PRIu32 " %s in a description of %" PRIu32 " bytes: the file is damaged", flat->file,
                 list.count, what, flat->size);
    return HONE_OK;
}

hone_status hone_pte_segment(hone_pte_file *file, uint32_t index, hone_pte_range *out, hone_error *error) {
    hone_flat *const flat = &file->flat;
    HONE_FAIL_IF(index >= file->segments.count, error, BAD_FORMAT,
                 "'%s': segment %" PRIu32 " is asked for, but there are %" PRIu32, flat->file, index,
                 file->segments.count);
    hone_flat_note(flat, "segment", index);
    const hone_flat_table segment = hone_flat_table_at(flat, file->segments, index);
    const uint64_t offset = hone_flat_u64(flat, segment, 0, 0);
    const uint64_t bytes = hone_flat_u64(flat, segment, 1, 0);
    HONE_TRY(hone_flat_status(flat, error));
    const uint64_t room = file->source->size - file->segment_base;
    HONE_FAIL_IF(!file->extended || offset > room || bytes > room - offset, error, BAD_FORMAT,
                 "'%s': segment %" PRIu32 " has %" PRIu64 " bytes from byte %" PRIu64 " of the data on, beyond the end "
                 "of the file: it is cut or damaged",
                 flat->file, index, bytes, offset);
    *out = (hone_pte_range){file->segment_base + offset, bytes};
    return HONE_OK;
}

// --- methods --------------------------------------------------------------------------------------------------------

// The method's lists, not yet what stands in them.
static hone_status read_method(hone_pte_file *file, uint32_t index, hone_pte_method *out, hone_error *error) {
    hone_flat *const flat = &file->flat;
    hone_flat_note(flat, "method", index);
    const hone_flat_table plan = hone_flat_table_at(flat, file->methods, index);
    *out = (hone_pte_method){
        .name = hone_flat_text(flat, plan, 0),
        .values = hone_flat_list(flat, plan, 2, 4),
        .inputs = hone_flat_list(flat, plan, 3, 4),
        .outputs = hone_flat_list(flat, plan, 4, 4),
        .operators = hone_flat_list(flat, plan, 6, 4),
        .delegates = hone_flat_list(flat, plan, 7, 4),
    };
    const hone_flat_vector chains = hone_flat_list(flat, plan, 5, 4);
    if (chains.count == 1) out->instructions = hone_flat_list(flat, hone_flat_table_at(flat, chains, 0), 2, 4);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_FAIL_IF(chains.count > 1, error, UNSUPPORTED, "'%s': method '%.80s' has %" PRIu32 " chains; hone runs one",
                 flat->file, out->name.bytes, chains.count);
    HONE_TRY(hone_pte_plausible(flat, out->values, "values", error));
    HONE_TRY(hone_pte_plausible(flat, out->instructions, "instructions", error));
    return hone_pte_plausible(flat, out->delegates, "delegates", error);
}

static hone_status check_ports(hone_pte_file *file, const hone_pte_method *out, hone_error *error) {
    hone_flat *const flat = &file->flat;
    for (int i = 0; i < 2; i++) {
        const hone_flat_vector list = i ? out->outputs : out->inputs;
        for (uint32_t j = 0; j < list.count; j++) {
            const uint32_t value = hone_flat_u32_at(flat, list, j);
            HONE_FAIL_IF(value >= out->values.count, error, BAD_FORMAT,
                         "'%s': %s %" PRIu32 " of method '%.80s' is value %" PRIu32 " of %" PRIu32, flat->file,
                         i ? "output" : "input", j, out->name.bytes, value, out->values.count);
        }
    }
    return HONE_OK;
}

hone_status hone_pte_method_at(hone_pte_file *file, uint32_t index, hone_pte_method *out, hone_error *error) {
    HONE_TRY(read_method(file, index, out, error));
    return check_ports(file, out, error);
}

hone_status hone_pte_method_find(hone_pte_file *file, const char *name, hone_pte_method *out, hone_error *error) {
    for (uint32_t i = 0; i < file->methods.count; i++) {
        HONE_TRY(read_method(file, i, out, error));
        if (strcmp(out->name.bytes, name) == 0) return check_ports(file, out, error);
    }
    HONE_TRY(hone_pte_method_at(file, 0, out, error));
    HONE_FAIL(error, NOT_FOUND, "'%s' has no method '%.80s'; the first of %" PRIu32 " is '%.80s'", file->flat.file,
              name, file->methods.count, out->name.bytes);
}

// The tensor's shape and element type; `out` has its kind already.
static hone_status method_tensor(hone_pte_file *file, hone_flat_table tensor, uint32_t index, hone_pte_value *out,
                                 hone_error *error) {
    hone_flat *const flat = &file->flat;
    const hone_flat_vector sizes = hone_flat_list(flat, tensor, 2, 4);
    const hone_flat_vector order = hone_flat_list(flat, tensor, 3, 1);
    const hone_flat_table allocation = hone_flat_child(flat, tensor, 6);
    const uint32_t data = hone_flat_u32(flat, tensor, 5, 0);
    const int dynamism = hone_flat_i8(flat, tensor, 8, 0);
    const int32_t storage = hone_flat_i32(flat, tensor, 1, 0);
    const hone_flat_table extra = hone_flat_child(flat, tensor, 9);
    const uint64_t initial_list = hone_flat_u64(flat, extra, 0, 0);
    out->initial_list = initial_list > UINT32_MAX ? UINT32_MAX : (uint32_t)initial_list;
    out->text = hone_flat_text(flat, extra, 1);
    out->external = hone_flat_i8(flat, extra, 2, 0) == 1;
    out->code = out->host_code = hone_flat_i8(flat, tensor, 0, 0);
    out->bounded = dynamism != 0;
    out->constant = data > 0 ? (int64_t)data : out->external ? 0 : -1;
    out->initial = data > 0 && allocation.at;
    HONE_TRY(hone_flat_status(flat, error));
    HONE_FAIL_IF(dynamism > 1 || dynamism < 0, error, UNSUPPORTED,
                 "'%s': value %" PRIu32 " has a shape without bounds: export it with upper bounds", flat->file, index);
    HONE_FAIL_IF(storage != 0, error, UNSUPPORTED, "'%s': value %" PRIu32 " begins within another one's storage",
                 flat->file, index);
    for (uint32_t i = 0; i < order.count; i++) {
        HONE_FAIL_IF(hone_flat_u8_at(flat, order, i) != i, error, UNSUPPORTED,
                     "'%s': value %" PRIu32 " is not in row-major order (channels last?): export it contiguous",
                     flat->file, index);
    }
    return hone_pte_shape(flat, "value", index, sizes, out, error);
}

hone_status hone_pte_shape(const hone_flat *flat, const char *what, uint32_t index, hone_flat_vector dims,
                           hone_pte_value *out, hone_error *error) {
    hone_dtype dtype;
    HONE_FAIL_IF(!hone_pte_dtype(out->code, &dtype), error, UNSUPPORTED,
                 "'%s': %s %" PRIu32 " has elements of type %d (%s), which hone has no form for", flat->file, what,
                 index, out->code, hone_pte_dtype_name(out->code));
    HONE_FAIL_IF(dims.count > HONE_MAX_RANK, error, UNSUPPORTED,
                 "'%s': %s %" PRIu32 " has %" PRIu32 " dimensions; hone has %d", flat->file, what, index, dims.count,
                 HONE_MAX_RANK);
    out->type = (hone_tensor_type){.dtype = dtype, .rank = (int)dims.count};
    for (uint32_t i = 0; i < dims.count; i++) {
        out->type.dims[i] = hone_flat_u32_at(flat, dims, i);
        HONE_FAIL_IF(out->type.dims[i] > INT32_MAX, error, BAD_FORMAT,
                     "'%s': dimension %" PRIu32 " of %s %" PRIu32 " is %" PRId64 ": the file is damaged", flat->file, i,
                     what, index, out->type.dims[i]);
    }
    hone_error why;
    HONE_FAIL_IF(hone_type_check(&out->type, "it", &why) != HONE_OK, error, BAD_FORMAT, "'%s': %s %" PRIu32 ": %s",
                 flat->file, what, index, why.message);
    out->type.dtype = hone_pte_device_dtype(dtype);
    return HONE_OK;
}

hone_status hone_pte_method_value(hone_pte_file *file, const hone_pte_method *method, uint32_t index,
                                  hone_pte_value *out, hone_error *error) {
    hone_flat *const flat = &file->flat;
    *out = (hone_pte_value){.constant = -1};
    HONE_FAIL_IF(index >= method->values.count, error, BAD_FORMAT,
                 "'%s': value %" PRIu32 " is named, but method '%.80s' has %" PRIu32, flat->file, index,
                 method->name.bytes, method->values.count);
    hone_flat_note(flat, "value", index);
    const hone_flat_table entry = hone_flat_table_at(flat, method->values, index);
    const int kind = hone_flat_u8(flat, entry, 0, 0);
    const hone_flat_table body = hone_flat_child(flat, entry, 1);
    HONE_FAIL_IF(kind > 1 && !body.at && hone_flat_status(flat, NULL) == HONE_OK, error, BAD_FORMAT,
                 "'%s': value %" PRIu32 " says that it is of kind %d, but is nothing", flat->file, index, kind);
    switch (kind) {
    case 0:
    case 1:
        break;
    case 2:
        *out = (hone_pte_value){.kind = HONE_PTE_INTEGER, .integer = hone_flat_i64(flat, body, 0, 0)};
        break;
    case 3:
        *out = (hone_pte_value){.kind = HONE_PTE_BOOLEAN, .integer = hone_flat_u8(flat, body, 0, 0) != 0};
        break;
    case 4:
        *out = (hone_pte_value){.kind = HONE_PTE_REAL, .real = hone_flat_f64(flat, body, 0, 0)};
        break;
    case 5:
        out->kind = HONE_PTE_TENSOR;
        return method_tensor(file, body, index, out, error);
    case 6:
        *out = (hone_pte_value){.kind = HONE_PTE_STRING, .text = hone_flat_text(flat, body, 0)};
        break;
    case 7:
        *out = (hone_pte_value){.kind = HONE_PTE_INTEGERS, .items = hone_flat_list(flat, body, 0, 8), .indirect = true};
        break;
    case 8:
        *out = (hone_pte_value){.kind = HONE_PTE_REALS, .items = hone_flat_list(flat, body, 0, 8)};
        break;
    case 9:
        *out = (hone_pte_value){.kind = HONE_PTE_BOOLEANS, .items = hone_flat_list(flat, body, 0, 1)};
        break;
    case 10:
    case 11:
        *out = (hone_pte_value){.kind = HONE_PTE_VALUES, .items = hone_flat_list(flat, body, 0, 4)};
        break;
    default:
        HONE_FAIL(error, BAD_FORMAT, "'%s': value %" PRIu32 " is of the unknown kind %d", flat->file, index, kind);
    }
    return hone_flat_status(flat, error);
}

hone_status hone_pte_method_call(hone_pte_file *file, const hone_pte_method *method, uint32_t index, hone_pte_call *out,
                                 hone_error *error) {
    hone_flat *const flat = &file->flat;
    hone_flat_note(flat, "instruction", index);
    const hone_flat_table entry = hone_flat_table_at(flat, method->instructions, index);
    const hone_flat_table body = hone_flat_child(flat, entry, 1);
    *out = (hone_pte_call){.kind = (hone_pte_call_kind)hone_flat_u8(flat, entry, 0, 0)};
    const uint32_t which = hone_flat_u32(flat, body, 0, 0);
    switch (out->kind) {
    case HONE_PTE_KERNEL:
        HONE_FAIL_IF(which >= method->operators.count && hone_flat_status(flat, NULL) == HONE_OK, error, BAD_FORMAT,
                     "'%s': instruction %" PRIu32 " calls operator %" PRIu32 " of %" PRIu32, flat->file, index, which,
                     method->operators.count);
        if (hone_flat_status(flat, NULL) == HONE_OK) {
            const hone_flat_table operator_ = hone_flat_table_at(flat, method->operators, which);
            out->name = hone_flat_text(flat, operator_, 0);
            out->overload = hone_flat_text(flat, operator_, 1);
        }
        out->arguments = hone_flat_list(flat, body, 1, 4);
        break;
    case HONE_PTE_DELEGATE:
        HONE_FAIL_IF(which >= method->delegates.count && hone_flat_status(flat, NULL) == HONE_OK, error, BAD_FORMAT,
                     "'%s': instruction %" PRIu32 " calls delegate %" PRIu32 " of %" PRIu32, flat->file, index, which,
                     method->delegates.count);
        out->delegate = which;
        out->arguments = hone_flat_list(flat, body, 1, 4);
        break;
    case HONE_PTE_MOVE:
        out->from = which;
        out->to = hone_flat_u32(flat, body, 1, 0);
        break;
    case HONE_PTE_JUMP:
    case HONE_PTE_FREE:
        break;
    default:
        HONE_TRY(hone_flat_status(flat, error));
        HONE_FAIL(error, BAD_FORMAT, "'%s': instruction %" PRIu32 " is of the unknown kind %d", flat->file, index,
                  (int)out->kind);
    }
    return hone_flat_status(flat, error);
}

// The bytes that begin at offsets[index] of a segment and end with it.
static hone_status subsegment(hone_pte_file *file, hone_flat_table list, uint32_t index, hone_pte_range *out,
                              hone_error *error) {
    hone_flat *const flat = &file->flat;
    const uint32_t which = hone_flat_u32(flat, list, 0, 0);
    const hone_flat_vector offsets = hone_flat_list(flat, list, 1, 8);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_FAIL_IF(index >= offsets.count, error, BAD_FORMAT,
                 "'%s': constant %" PRIu32 " is asked for, but there are %" PRIu32, flat->file, index, offsets.count);
    HONE_TRY(hone_pte_segment(file, which, out, error));
    const uint64_t offset = hone_flat_u64_at(flat, offsets, index);
    HONE_FAIL_IF(offset > out->bytes, error, BAD_FORMAT,
                 "'%s': constant %" PRIu32 " begins at byte %" PRIu64 " of a segment of %" PRIu64, flat->file, index,
                 offset, out->bytes);
    *out = (hone_pte_range){out->offset + offset, out->bytes - offset};
    return HONE_OK;
}

hone_status hone_pte_method_constant(hone_pte_file *file, const hone_pte_value *value, hone_pte_range *out,
                                     hone_error *error) {
    hone_flat *const flat = &file->flat;
    const uint32_t index = (uint32_t)value->constant;
    if (value->external) {
        uint32_t segment;
        HONE_FAIL_IF(!hone_pte_find_key(file, value->text, &segment), error, UNSUPPORTED,
                     "'%s': the data of '%.80s' lie in another file; hone reads programs that hold their data",
                     flat->file, value->text.bytes);
        return hone_pte_segment(file, segment, out, error);
    }
    hone_flat_note(flat, "constant", index);
    if (value->initial) {
        const hone_flat_vector lists = hone_flat_list(flat, file->program, 6, 4);
        HONE_TRY(hone_flat_status(flat, error));
        HONE_FAIL_IF(value->initial_list >= lists.count, error, BAD_FORMAT,
                     "'%s': initial data of list %" PRIu32 " are asked for, but there are %" PRIu32 " lists",
                     flat->file, value->initial_list, lists.count);
        return subsegment(file, hone_flat_table_at(flat, lists, value->initial_list), index, out, error);
    }
    const hone_flat_vector old = hone_flat_list(flat, file->program, 2, 4);
    if (index < old.count) { // an old file: within the description
        const hone_flat_vector bytes = hone_flat_list(flat, hone_flat_table_at(flat, old, index), 0, 1);
        *out = (hone_pte_range){bytes.at, bytes.count};
        return hone_flat_status(flat, error);
    }
    return subsegment(file, hone_flat_child(flat, file->program, 5), index, out, error);
}
