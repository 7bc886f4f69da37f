// SPDX-License-Identifier: Apache-2.0
// How conversions and copies run on a GPU.
#include "ops/cast/cast.h"
#include "ops/cast/cast_words.h"
#include "ops/shared/kernels.h"

static int64_t type_of(hone_dtype dtype) {
    static const uint8_t types[HONE_DTYPE_COUNT] = {
        [HONE_DTYPE_F32] = CAST_F32, [HONE_DTYPE_F16] = CAST_F16, [HONE_DTYPE_BF16] = CAST_BF16,
        [HONE_DTYPE_F64] = CAST_F64, [HONE_DTYPE_I32] = CAST_I32, [HONE_DTYPE_I64] = CAST_I64,
        [HONE_DTYPE_I8] = CAST_I8,   [HONE_DTYPE_U8] = CAST_U8,   [HONE_DTYPE_BOOL] = CAST_BOOL,
    };
    return types[dtype];
}

static void copy(const hone_op_call *call, hone_kernel_list *list, const hone_tensor *from, const hone_tensor *to) {
    const int64_t count = hone_type_elements(&from->type), bytes = (int64_t)hone_dtype_bytes(from->type.dtype);
    for (int64_t first = 0, n; first < count; first += n) {
        n = hone_kernel_part(list, call, first, count);
        const int64_t words = (n * bytes + 3) / 4;
        hone_kernel_dispatch *const d =
            hone_kernel_add(list, "cast.copy_words", hone_kernel_groups(words, HONE_KERNEL_THREADS));
        hone_kernel_bind_elements(list, d, from, first, n);
        hone_kernel_bind_elements(list, d, to, first, n);
        hone_kernel_word(list, d, words);
    }
}

static bool is_narrow_float(hone_dtype dtype) {
    return dtype == HONE_DTYPE_F32 || dtype == HONE_DTYPE_F16 || dtype == HONE_DTYPE_BF16;
}

static const char *entry_of(hone_dtype from, hone_dtype to) {
    if (hone_dtype_bytes(to) == 8) return "cast.convert_wide";
    if (is_narrow_float(from) && is_narrow_float(to)) return "cast.convert_floats";
    const bool small = from == HONE_DTYPE_I32 || hone_dtype_bytes(from) == 1;
    return small && to == HONE_DTYPE_F32 ? "cast.convert_small" : "cast.convert";
}

static void to_copy(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const from = hone_operand_tensor(call, 0), *const to = &call->outputs[0];
    if (from->type.dtype == to->type.dtype) {
        copy(call, list, from, to);
        return;
    }
    const int64_t count = hone_type_elements(&to->type), each = hone_kernel_per_word(to->type.dtype);
    for (int64_t first = 0, n; first < count; first += n) {
        n = hone_kernel_part(list, call, first, count);
        hone_kernel_dispatch *const d = hone_kernel_add(list, entry_of(from->type.dtype, to->type.dtype),
                                                        hone_kernel_groups((n + each - 1) / each, HONE_KERNEL_THREADS));
        hone_kernel_bind_elements(list, d, from, first, n);
        hone_kernel_bind_elements(list, d, to, first, n);
        hone_kernel_word(list, d, n);
        hone_kernel_word(list, d, type_of(from->type.dtype));
        hone_kernel_word(list, d, type_of(to->type.dtype));
        hone_kernel_word(list, d, each);
    }
}

static void copy_into(const hone_op_call *call, hone_kernel_list *list) {
    copy(call, list, hone_operand_tensor(call, 1), hone_operand_tensor(call, 0));
}

HONE_PLAIN_KERNEL_RULE(to_copy, to_copy)
HONE_PLAIN_KERNEL_RULE(copy_into, copy_into)
