// SPDX-License-Identifier: Apache-2.0
// Cases of the larger and smaller of two whole numbers.
#include "ops/shared/cases.h"

static void pick(const hone_reference *run, bool larger) {
    const hone_tensor_type *const out = &run->output_types[0];
    for (int64_t i = 0; i < hone_case_count(out); i++) {
        const double a = run->inputs[0][hone_case_broadcast(out, i, &run->input_types[0])];
        const double b = run->inputs[1][hone_case_broadcast(out, i, &run->input_types[1])];
        run->outputs[0][i] = (a > b) == larger ? a : b;
    }
}

static void maximum(const hone_reference *run) {
    pick(run, true);
}
static void minimum(const hone_reference *run) {
    pick(run, false);
}

#define PICK(op_, name_, function, ...)                                                                                \
    {op_, name_, HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = function}

const hone_op_case hone_cases_extreme[] = {
    PICK("aten::maximum", "i32", maximum, HONE_I32_IN(-9, 9, 7, 13), HONE_I32_IN(-9, 9, 7, 13)),
    PICK("aten::maximum", "i32, both sides repeat", maximum, HONE_I32_IN(-9, 9, 7, 1), HONE_I32_IN(-9, 9, 13)),
    PICK("aten::maximum", "i32, the largest and smallest", maximum, HONE_I32_OF((2147483647, -2147483648, 0), 9),
         HONE_I32_OF((-2147483648, 2147483647, -1), 9)),
    PICK("aten::minimum", "i32", minimum, HONE_I32_IN(-9, 9, 7, 13), HONE_I32_IN(-9, 9, 13)),
    PICK("aten::minimum", "i32, nothing", minimum, HONE_I32_IN(-9, 9, 0, 13), HONE_I32_IN(-9, 9, 13)),
    PICK("aten::minimum", "i32, several blocks", minimum, HONE_I32_IN(-9, 9, 3, 12345), HONE_I32_IN(-9, 9, 3, 1)),
    PICK("aten::maximum", "subnormal", maximum, HONE_F32_OF((1e-45, -1e-45, 0), 3, 1),
         HONE_F32_OF((3e-45, -3e-45, -0.0, INFINITY), 4)),
    PICK("aten::minimum", "subnormal", minimum, HONE_F32_OF((1e-45, -1e-45, 0), 3, 1),
         HONE_F32_OF((3e-45, -3e-45, -0.0, -INFINITY), 4)),
    {0},
};
