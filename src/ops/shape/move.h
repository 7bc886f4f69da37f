// SPDX-License-Identifier: Apache-2.0
// What the files of this family share: a strided copy, reading dims and ScalarType codes, the operators of each file.
#ifndef HONE_OPS_SHAPE_MOVE_H
#define HONE_OPS_SHAPE_MOVE_H

#include "ops/op.h"
#include "ops/shared/variants.h"

// A copy of dims[0] x ... elements from one strided place to another; strides in elements.
typedef struct hone_move {
    int rank;
    size_t element; // bytes
    int64_t dims[HONE_MAX_RANK], to[HONE_MAX_RANK], from[HONE_MAX_RANK];
} hone_move;

void hone_move_run(const hone_op_call *call, const hone_move *move, void *to, const void *from);
// Row-major strides of a type.
void hone_move_strides(const hone_tensor_type *type, int64_t *strides);

// ATen's code of an element type (6 is float), as ScalarType arguments carry it.
hone_status hone_scalar_type(const hone_op_call *call, int64_t code, hone_dtype *out, hone_error *error);

// One number as an element of `dtype`, at most 8 bytes; output 0 filled with it; the check that elements can hold it.
void hone_encode_number(hone_dtype dtype, const hone_operand *number, unsigned char *bytes);
void hone_fill_number(const hone_op_call *call, const hone_operand *number);
hone_status hone_check_number(const hone_op_call *call, const hone_operand *number, hone_dtype dtype,
                              hone_error *error);

// On a GPU: the copy between two tensors, from and to element first of each; output filled with an element's bytes.
void hone_kernel_move(hone_kernel_list *list, const hone_move *move, const hone_tensor *to, int64_t to_first,
                      const hone_tensor *from, int64_t from_first);
void hone_kernel_fill(hone_kernel_list *list, const hone_tensor *out, const unsigned char *element);
// The places of a tensor that get elements of another: along each dimension first, first + step, ..., count of them, from
// element from_first on by the strides `from`. The rest is filled with an element's bytes, or kept if `fill` is NULL.
typedef struct hone_placement {
    int64_t first[HONE_MAX_RANK], step[HONE_MAX_RANK], count[HONE_MAX_RANK], from[HONE_MAX_RANK];
    int64_t from_first;
} hone_placement;
void hone_kernel_put(hone_kernel_list *list, const hone_tensor *out, const hone_tensor *from,
                     const hone_placement *part, const unsigned char *fill);
HONE_DECLARE_KERNEL(fill)
HONE_DECLARE_KERNEL(copy)

extern const hone_op hone_op_view, hone_op_unsqueeze, hone_op_squeeze, hone_op_squeeze_dim, hone_op_squeeze_dims;
extern const hone_op hone_op_clone, hone_op_permute, hone_op_expand;
extern const hone_op hone_op_select, hone_op_select_backward, hone_op_slice, hone_op_slice_backward;
extern const hone_op hone_op_cat, hone_op_split;
extern const hone_op hone_op_full, hone_op_full_like, hone_op_fill;
extern const hone_op hone_op_pad, hone_op_flip, hone_op_repeat, hone_op_arange;

#endif
