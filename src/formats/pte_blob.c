// SPDX-License-Identifier: Apache-2.0
// Reads the delegates of a program: what ExecuTorch's Vulkan back end, and its WebGPU back end, are given. The layout,
// little endian:
//
//   OFFSET  SIZE  what
//   0       4     zero
//   4       4     "VH00"
//   8       2     30, the bytes of this header
//   10      4     begin of the description within the blob
//   14      4     its bytes
//   18      4     begin of the blob's own data
//   22      8     their bytes; usually 0: constants are named data of the program
//   ...           the description, a FlatBuffer (flatbuffer.c) "VK00"; its root is the table VkGraph
//
//   VkGraph       0 version string, 1 chain [OperatorCall], 2 values [VkValue], 3 inputs [u32], 4 outputs [u32],
//                 5 constants [VkBytes]
//   OperatorCall  0 number u32, 1 name string, 2 args [i32]: numbers of values, the result last
//   VkBytes       0 offset u64, 1 length u64, 2 key string; offset 2^64-1: the named datum `key` of the program, else
//                 a place in the blob's own data
//   VkValue       union 0/1: 1 Null, 2 Int, 3 Double, 4 Bool, 5 VkTensor, 6 IntList, 7 DoubleList, 8 BoolList,
//                 9 ValueList, 10 String, 11 SymInt
//   VkTensor      0 datatype i8 (0 bool, 1 u8, 2 i8, 3 i32, 4 f16, 5 f32, 6 f64, 7 i64), 1 dims [u32], 2 constant i32
//                 (-1 = none; absent = 0), 6 staging datatype i8: what the host gives and takes
#include <inttypes.h>
#include <string.h>

#include "formats/pte_inside.h"

#define BLOB_HEADER 30

// Where the delegate's bytes lie.
static hone_status locate_blob(hone_pte_file *file, hone_flat_table delegate, uint32_t index, hone_pte_range *out,
                               hone_error *error) {
    hone_flat *const flat = &file->flat;
    const hone_flat_table processed = hone_flat_child(flat, delegate, 1);
    const int location = hone_flat_i8(flat, processed, 0, 0);
    const uint32_t which = hone_flat_u32(flat, processed, 1, 0);
    HONE_TRY(hone_flat_status(flat, error));
    if (location == 1) return hone_pte_segment(file, which, out, error);
    const hone_flat_vector list = hone_flat_list(flat, file->program, 3, 4);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_FAIL_IF(location != 0 || which >= list.count, error, BAD_FORMAT,
                 "'%s': delegate %" PRIu32 " is inline datum %" PRIu32 " of %" PRIu32 " (location %d)", flat->file,
                 index, which, list.count, location);
    const hone_flat_vector bytes = hone_flat_list(flat, hone_flat_table_at(flat, list, which), 0, 1);
    *out = (hone_pte_range){bytes.at, bytes.count};
    return hone_flat_status(flat, error);
}

// The header, checked against the blob's own size; `description` is relative to the blob.
static hone_status read_header(const hone_pte_file *file, uint32_t index, hone_pte_blob *blob,
                               hone_pte_range *description, hone_error *error) {
    const char *const name = file->flat.file;
    uint8_t head[BLOB_HEADER] = {0};
    const hone_pte_range whole = blob->whole;
    HONE_FAIL_IF(whole.bytes < BLOB_HEADER, error, BAD_FORMAT,
                 "'%s': delegate %" PRIu32 " has %" PRIu64 " bytes, fewer than its header: the file is cut or damaged",
                 name, index, whole.bytes);
    HONE_TRY(hone_source_read(file->source, whole.offset, head, sizeof head, "the header of a delegate", error));
    uint16_t length;
    uint32_t begin, bytes, raw;
    uint64_t raw_bytes;
    memcpy(&length, head + 8, sizeof length);
    memcpy(&begin, head + 10, sizeof begin);
    memcpy(&bytes, head + 14, sizeof bytes);
    memcpy(&raw, head + 18, sizeof raw);
    memcpy(&raw_bytes, head + 22, sizeof raw_bytes);
    HONE_FAIL_IF(memcmp(head + 4, "VH00", 4) != 0 || length < BLOB_HEADER, error, BAD_FORMAT,
                 "'%s': delegate %" PRIu32 " does not begin with \"VH00\" at byte %" PRIu64 ": the file is damaged",
                 name, index, whole.offset + 4);
    HONE_FAIL_IF(begin < length || begin > whole.bytes || bytes > whole.bytes - begin || raw > whole.bytes ||
                     raw_bytes > whole.bytes - raw,
                 error, BAD_FORMAT,
                 "'%s': delegate %" PRIu32 " of %" PRIu64 " bytes speaks of %" PRIu32 " from byte %" PRIu32
                 " and %" PRIu64 " from byte %" PRIu32 " on: the file is cut or damaged",
                 name, index, whole.bytes, bytes, begin, raw_bytes, raw);
    *description = (hone_pte_range){begin, bytes};
    blob->raw = (hone_pte_range){whole.offset + raw, raw_bytes};
    return HONE_OK;
}

static hone_status read_specs(hone_flat *flat, hone_flat_table delegate, hone_pte_blob *blob, hone_error *error) {
    const hone_flat_vector specs = hone_flat_list(flat, delegate, 2, 4);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_TRY(hone_pte_plausible(flat, specs, "compile options", error));
    for (uint32_t i = 0; i < specs.count; i++) {
        const hone_flat_table spec = hone_flat_table_at(flat, specs, i);
        const hone_flat_vector value = hone_flat_list(flat, spec, 1, 1);
        if (strcmp(hone_flat_text(flat, spec, 0).bytes, "force_fp16") == 0 && value.count > 0)
            blob->half = hone_flat_u8_at(flat, value, 0) != 0;
    }
    return hone_flat_status(flat, error);
}

static hone_status read_graph(hone_pte_blob *blob, hone_error *error) {
    hone_flat *const flat = &blob->flat;
    hone_flat_note(flat, "delegate's table", 0);
    const hone_flat_table graph = hone_flat_root(flat);
    blob->version = hone_flat_text(flat, graph, 0);
    blob->chain = hone_flat_list(flat, graph, 1, 4);
    blob->values = hone_flat_list(flat, graph, 2, 4);
    blob->inputs = hone_flat_list(flat, graph, 3, 4);
    blob->outputs = hone_flat_list(flat, graph, 4, 4);
    blob->constants = hone_flat_list(flat, graph, 5, 4);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_TRY(hone_pte_plausible(flat, blob->chain, "calls", error));
    HONE_TRY(hone_pte_plausible(flat, blob->values, "values", error));
    HONE_TRY(hone_pte_plausible(flat, blob->constants, "constants", error));
    for (int i = 0; i < 2; i++) {
        const hone_flat_vector list = i ? blob->outputs : blob->inputs;
        for (uint32_t j = 0; j < list.count; j++) {
            const uint32_t value = hone_flat_u32_at(flat, list, j);
            HONE_FAIL_IF(value >= blob->values.count, error, BAD_FORMAT,
                         "'%s': %s %" PRIu32 " of the delegate at byte %" PRIu64 " is value %" PRIu32 " of %" PRIu32,
                         flat->file, i ? "output" : "input", j, blob->whole.offset, value, blob->values.count);
        }
    }
    return HONE_OK;
}

hone_status hone_pte_blob_locate(hone_pte_file *file, const hone_pte_method *method, uint32_t index, hone_pte_blob *out,
                                 hone_error *error) {
    hone_flat *const flat = &file->flat;
    *out = (hone_pte_blob){0};
    HONE_FAIL_IF(index >= method->delegates.count, error, BAD_FORMAT,
                 "'%s': delegate %" PRIu32 " is called, but there are %" PRIu32, flat->file, index,
                 method->delegates.count);
    hone_flat_note(flat, "delegate", index);
    const hone_flat_table delegate = hone_flat_table_at(flat, method->delegates, index);
    const hone_flat_string id = hone_flat_text(flat, delegate, 0);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_FAIL_IF(strcmp(id.bytes, "VulkanBackend") != 0, error, UNSUPPORTED,
                 "'%s': delegate %" PRIu32 " is for '%.80s'; hone runs what was lowered for VulkanBackend", flat->file,
                 index, id.bytes);
    HONE_TRY(read_specs(flat, delegate, out, error));
    return locate_blob(file, delegate, index, &out->whole, error);
}

hone_status hone_pte_blob_read(hone_pte_file *file, uint32_t index, hone_pte_blob *blob, hone_error *error) {
    hone_pte_range description = {0};
    HONE_TRY(read_header(file, index, blob, &description, error));
    const uint64_t place = blob->whole.offset + description.offset;
    const size_t bytes = (size_t)description.bytes;
    HONE_TRY(hone_allocate_raw(bytes, 1, "the description of a delegate", (void **)&blob->bytes, error));
    hone_status status = hone_source_read(file->source, place, blob->bytes, bytes, "a delegate", error);
    if (status == HONE_OK)
        status = hone_flat_open(&blob->flat, blob->bytes, bytes, "VK00", file->flat.file, place, error);
    if (status == HONE_OK) status = read_graph(blob, error);
    if (status != HONE_OK) hone_pte_blob_clear(blob);
    return status;
}

void hone_pte_blob_clear(hone_pte_blob *blob) {
    hone_free(blob->bytes);
    *blob = (hone_pte_blob){0};
}

// ATen's number of an element type by the numbering of the blob; -1 where there is none.
static int code_of(int datatype) {
    static const int table[] = {11, 0, 1, 3, 5, 6, 7, 4};
    return datatype >= 0 && datatype < 8 ? table[datatype] : -1;
}

static hone_status blob_tensor(hone_pte_blob *blob, hone_flat_table tensor, uint32_t index, hone_pte_value *out,
                               hone_error *error) {
    hone_flat *const flat = &blob->flat;
    const hone_flat_vector dims = hone_flat_list(flat, tensor, 1, 4);
    const int datatype = hone_flat_i8(flat, tensor, 0, 0);
    const int staging = hone_flat_i8(flat, tensor, 6, 127);
    const int32_t constant = hone_flat_i32(flat, tensor, 2, 0);
    HONE_TRY(hone_flat_status(flat, error));
    out->kind = HONE_PTE_TENSOR;
    out->code = code_of(datatype);
    out->host_code = code_of(staging) >= 0 ? code_of(staging) : out->code;
    HONE_FAIL_IF(constant < -1 || (constant >= 0 && (uint32_t)constant >= blob->constants.count), error, BAD_FORMAT,
                 "'%s': delegate's value %" PRIu32 " is constant %" PRId32 " of %" PRIu32, flat->file, index, constant,
                 blob->constants.count);
    out->constant = constant;
    return hone_pte_shape(flat, "delegate's value", index, dims, out, error);
}

hone_status hone_pte_blob_value(hone_pte_blob *blob, uint32_t index, hone_pte_value *out, hone_error *error) {
    hone_flat *const flat = &blob->flat;
    *out = (hone_pte_value){.constant = -1};
    HONE_FAIL_IF(index >= blob->values.count, error, BAD_FORMAT,
                 "'%s': value %" PRIu32 " is named, but the delegate at byte %" PRIu64 " has %" PRIu32, flat->file,
                 index, blob->whole.offset, blob->values.count);
    hone_flat_note(flat, "delegate's value", index);
    const hone_flat_table entry = hone_flat_table_at(flat, blob->values, index);
    const int kind = hone_flat_u8(flat, entry, 0, 0);
    const hone_flat_table body = hone_flat_child(flat, entry, 1);
    HONE_FAIL_IF(kind > 1 && !body.at && hone_flat_status(flat, NULL) == HONE_OK, error, BAD_FORMAT,
                 "'%s': delegate's value %" PRIu32 " says that it is of kind %d, but is nothing", flat->file, index,
                 kind);
    switch (kind) {
    case 0:
    case 1:
        break;
    case 2:
        *out = (hone_pte_value){.kind = HONE_PTE_INTEGER, .integer = hone_flat_i64(flat, body, 0, 0)};
        break;
    case 3:
        *out = (hone_pte_value){.kind = HONE_PTE_REAL, .real = hone_flat_f64(flat, body, 0, 0)};
        break;
    case 4:
        *out = (hone_pte_value){.kind = HONE_PTE_BOOLEAN, .integer = hone_flat_u8(flat, body, 0, 0) != 0};
        break;
    case 5:
        return blob_tensor(blob, body, index, out, error);
    case 6:
        *out = (hone_pte_value){.kind = HONE_PTE_INTEGERS, .items = hone_flat_list(flat, body, 0, 8)};
        break;
    case 7:
        *out = (hone_pte_value){.kind = HONE_PTE_REALS, .items = hone_flat_list(flat, body, 0, 8)};
        break;
    case 8:
        *out = (hone_pte_value){.kind = HONE_PTE_BOOLEANS, .items = hone_flat_list(flat, body, 0, 1)};
        break;
    case 9:
        *out = (hone_pte_value){.kind = HONE_PTE_VALUES, .items = hone_flat_list(flat, body, 0, 4)};
        break;
    case 10:
        *out = (hone_pte_value){.kind = HONE_PTE_STRING, .text = hone_flat_text(flat, body, 0)};
        break;
    case 11:
        *out = (hone_pte_value){.kind = HONE_PTE_SYMBOL, .integer = hone_flat_i32(flat, body, 0, 0)};
        break;
    default:
        HONE_FAIL(error, BAD_FORMAT, "'%s': delegate's value %" PRIu32 " is of the unknown kind %d", flat->file, index,
                  kind);
    }
    return hone_flat_status(flat, error);
}

hone_status hone_pte_blob_call(hone_pte_blob *blob, uint32_t index, hone_pte_call *out, hone_error *error) {
    hone_flat *const flat = &blob->flat;
    hone_flat_note(flat, "delegate's call", index);
    const hone_flat_table entry = hone_flat_table_at(flat, blob->chain, index);
    *out = (hone_pte_call){.kind = HONE_PTE_KERNEL,
                           .name = hone_flat_text(flat, entry, 1),
                           .overload = {"", 0},
                           .arguments = hone_flat_list(flat, entry, 2, 4)};
    return hone_flat_status(flat, error);
}

hone_status hone_pte_blob_constant(hone_pte_file *file, hone_pte_blob *blob, const hone_pte_value *value,
                                   hone_pte_range *out, hone_error *error) {
    hone_flat *const flat = &blob->flat;
    hone_flat_note(flat, "delegate's constant", (uint32_t)value->constant);
    const hone_flat_table bytes = hone_flat_table_at(flat, blob->constants, (uint32_t)value->constant);
    const uint64_t offset = hone_flat_u64(flat, bytes, 0, 0);
    const uint64_t length = hone_flat_u64(flat, bytes, 1, 0);
    const hone_flat_string key = hone_flat_text(flat, bytes, 2);
    HONE_TRY(hone_flat_status(flat, error));
    if (offset == UINT64_MAX) {
        uint32_t segment;
        HONE_FAIL_IF(!hone_pte_find_key(file, key, &segment), error, BAD_FORMAT,
                     "'%s': constant %" PRId64 " of the delegate at byte %" PRIu64 " is the named datum '%.80s', which "
                     "the program does not have",
                     flat->file, value->constant, blob->whole.offset, key.bytes);
        HONE_TRY(hone_pte_segment(file, segment, out, error));
        HONE_FAIL_IF(length > out->bytes, error, BAD_FORMAT,
                     "'%s': constant %" PRId64 " of the delegate at byte %" PRIu64 " wants %" PRIu64
                     " bytes of segment %" PRIu32 ", which has %" PRIu64 ": the file is cut or damaged",
                     flat->file, value->constant, blob->whole.offset, length, segment, out->bytes);
        out->bytes = length;
        return HONE_OK;
    }
    HONE_FAIL_IF(offset > blob->raw.bytes || length > blob->raw.bytes - offset, error, BAD_FORMAT,
                 "'%s': constant %" PRId64 " of the delegate at byte %" PRIu64 " lies beyond the %" PRIu64
                 " bytes of its data: the file is cut or damaged",
                 flat->file, value->constant, blob->whole.offset, blob->raw.bytes);
    *out = (hone_pte_range){blob->raw.offset + offset, length};
    return HONE_OK;
}
