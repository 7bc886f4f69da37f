// SPDX-License-Identifier: Apache-2.0
// How comparisons and logic run on a GPU.
#include "ops/compare/compare.h"
#include "ops/compare/compare_words.h"
#include "ops/shared/kernels.h"

static int64_t element_of(hone_dtype dtype) {
    return dtype == HONE_DTYPE_F32   ? ELEMENT_F32
           : dtype == HONE_DTYPE_I32 ? ELEMENT_I32
           : dtype == HONE_DTYPE_I64 ? ELEMENT_I64
                                     : ELEMENT_BYTE;
}

// The number that stands for the second tensor, in the precision of the elements: a float, or what a whole number can be
// compared with exactly.
static void number_words(hone_kernel_list *list, hone_kernel_dispatch *d, hone_dtype dtype, double number) {
    if (dtype == HONE_DTYPE_F32) {
        hone_kernel_number(list, d, number);
        return;
    }
    const int64_t whole = number >= 0x1p63 ? INT64_MAX : number > -0x1p63 ? (int64_t)number : INT64_MIN;
    const bool nan = number != number;
    const int fraction = nan || number == (double)whole ? 0 : number > 0 ? 1 : -1;
    hone_kernel_word(list, d, (uint32_t)(uint64_t)whole);
    hone_kernel_word(list, d, (uint32_t)((uint64_t)whole >> 32));
    // Above the largest number there is, which a double shows as 2^63.
    hone_kernel_word(list, d, number >= 0x1p63 ? 1 : fraction);
    hone_kernel_word(list, d, nan);
}

static const char *entry_of(const hone_tensor *a, const hone_tensor *b, int code) {
    const hone_dtype first = a->type.dtype, second = b ? b->type.dtype : first;
    if (code >= COMPARE_NOT) return "compare.logic";
    if (first == HONE_DTYPE_F32 && second == HONE_DTYPE_F32) return "compare.compare_f32";
    return b && first == HONE_DTYPE_I32 && second == HONE_DTYPE_I32 ? "compare.compare_i32" : "compare.compare_any";
}

// `b` NULL: the number at operand 1 stands for it, or nothing does.
static void compare(const hone_op_call *call, hone_kernel_list *list, const hone_tensor *b, int code) {
    const hone_tensor *const a = hone_operand_tensor(call, 0);
    const hone_tensor_type scalar = {.dtype = HONE_DTYPE_F32};
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type,
                        (const hone_tensor_type *[]){&a->type, b ? &b->type : &scalar}, 2);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, entry_of(a, b, code), hone_kernel_groups((broadcast.count + 3) / 4, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, a);
    hone_kernel_bind(list, d, b);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_broadcast(list, d, &broadcast);
    hone_kernel_word(list, d, code);
    hone_kernel_word(list, d, element_of(a->type.dtype));
    hone_kernel_word(list, d, b ? element_of(b->type.dtype) : ELEMENT_NUMBER);
    if (!b && call->operand_count > 1) number_words(list, d, a->type.dtype, call->operands[1].real);
}

static void with_tensor(const hone_op_call *call, hone_kernel_list *list, int code) {
    compare(call, list, hone_operand_tensor(call, 1), code);
}
static void with_number(const hone_op_call *call, hone_kernel_list *list, int code) {
    compare(call, list, NULL, code);
}

HONE_PLAIN_KERNEL(eq_tensor, with_tensor, COMPARE_EQ)
HONE_PLAIN_KERNEL(ne_tensor, with_tensor, COMPARE_NE)
HONE_PLAIN_KERNEL(lt_tensor, with_tensor, COMPARE_LT)
HONE_PLAIN_KERNEL(le_tensor, with_tensor, COMPARE_LE)
HONE_PLAIN_KERNEL(gt_tensor, with_tensor, COMPARE_GT)
HONE_PLAIN_KERNEL(ge_tensor, with_tensor, COMPARE_GE)
HONE_PLAIN_KERNEL(logical_and, with_tensor, COMPARE_AND)
HONE_PLAIN_KERNEL(logical_or, with_tensor, COMPARE_OR)
HONE_PLAIN_KERNEL(eq_scalar, with_number, COMPARE_EQ)
HONE_PLAIN_KERNEL(ne_scalar, with_number, COMPARE_NE)
HONE_PLAIN_KERNEL(lt_scalar, with_number, COMPARE_LT)
HONE_PLAIN_KERNEL(le_scalar, with_number, COMPARE_LE)
HONE_PLAIN_KERNEL(gt_scalar, with_number, COMPARE_GT)
HONE_PLAIN_KERNEL(ge_scalar, with_number, COMPARE_GE)
HONE_PLAIN_KERNEL(logical_not, with_number, COMPARE_NOT)
