// SPDX-License-Identifier: Apache-2.0
// What the shape rules of all operators share: checks that explain themselves, broadcasting, negative
// dimensions.
#include "ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// The name of the i-th argument in the schema ("mat2" in "aten::mm(Tensor self, Tensor mat2) -> Tensor"); "?"
// if there is none. Commas within () and [] separate nothing, and a lone "*" is no argument.
static const char *argument_name(const hone_op *op, size_t index, char *text, size_t size) {
    const char *at = strchr(op->schema, '(');
    size_t seen = 0;
    snprintf(text, size, "?");
    while (at && *at && *at != ')') {
        const char *begin = at + 1; // behind "(" or ","
        const char *name = begin;   // the last word before "=" or the end
        int depth = 0;
        bool valued = false;
        for (at = begin; *at && (depth > 0 || (*at != ',' && *at != ')')); at++) {
            if (*at == '(' || *at == '[') depth++;
            if (*at == ')' || *at == ']') depth--;
            if (*at == ' ' && !valued && at[1] != '=') name = at + 1;
            if (*at == '=') valued = true;
        }
        if (strcspn(name, ",)= ") == 1 && *name == '*') continue;
        if (seen++ == index) {
            snprintf(text, size, "%.*s", (int)strcspn(name, ",)= "), name);
            return text;
        }
    }
    return text;
}

hone_status hone_op_invalid(const hone_op_call *call, hone_error *error, const char *format, ...) {
    char text[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return hone_error_set(error, HONE_INVALID_ARGUMENT, "%.*s: %s", (int)strcspn(call->op->schema, "("),
                          call->op->schema, text);
}

const char *hone_op_type_text(const hone_tensor *tensor) {
    enum { PLACES = 4, BYTES = 192 };
    static _Thread_local char places[PLACES][BYTES];
    static _Thread_local unsigned next;
    if (!tensor) return "nothing";
    return hone_type_print(&tensor->type, places[next++ % PLACES], BYTES);
}

hone_status hone_op_want_dtype(const hone_op_call *call, size_t operand, hone_dtype dtype, hone_error *error) {
    char name[64];
    const hone_tensor *const tensor = hone_operand_tensor(call, operand);
    HONE_OP_CHECK(tensor, "'%s' must be given", argument_name(call->op, operand, name, sizeof name));
    HONE_OP_CHECK(tensor->type.dtype == dtype, "'%s' must be %s, not %s",
                  argument_name(call->op, operand, name, sizeof name), hone_dtype_name(dtype),
                  hone_op_type_text(tensor));
    return HONE_OK;
}

hone_status hone_op_want_rank(const hone_op_call *call, size_t operand, int rank, hone_error *error) {
    char name[64];
    const hone_tensor *const tensor = hone_operand_tensor(call, operand);
    HONE_OP_CHECK(tensor, "'%s' must be given", argument_name(call->op, operand, name, sizeof name));
    HONE_OP_CHECK(tensor->type.rank == rank, "'%s' must have %d dimension%s, not be %s",
                  argument_name(call->op, operand, name, sizeof name), rank, rank == 1 ? "" : "s",
                  hone_op_type_text(tensor));
    return HONE_OK;
}

hone_status hone_op_broadcast(const hone_op_call *call, const hone_tensor_type *a, const hone_tensor_type *b,
                              hone_tensor_type *out, hone_error *error) {
    hone_tensor_type result = {.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= result.rank; i++) { // counted from the last dimension
        const int64_t of_a = i <= a->rank ? a->dims[a->rank - i] : 1;
        const int64_t of_b = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1) {
            const hone_tensor left = {.type = *a}, right = {.type = *b};
            return hone_op_invalid(call, error, "shapes of %s and %s do not broadcast: %lld against %lld",
                                   hone_op_type_text(&left), hone_op_type_text(&right), (long long)of_a,
                                   (long long)of_b);
        }
        result.dims[result.rank - i] = of_a == 1 ? of_b : of_a;
    }
    *out = result; // may be *a or *b
    return HONE_OK;
}

hone_status hone_op_dim(const hone_op_call *call, int64_t dim, int rank, int *out, hone_error *error) {
    // A scalar takes 0 and -1, as in ATen.
    const int64_t span = rank > 0 ? rank : 1;
    HONE_OP_CHECK(dim >= -span && dim < span, "dimension %lld is not within [%lld, %lld)", (long long)dim,
                  (long long)-span, (long long)span);
    *out = (int)(dim < 0 ? dim + span : dim);
    return HONE_OK;
}
