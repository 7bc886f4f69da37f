// SPDX-License-Identifier: Apache-2.0
// Comparisons and types of elements; read by C and by Slang.
#define COMPARE_EQ     0
#define COMPARE_NE     1
#define COMPARE_LT     2
#define COMPARE_LE     3
#define COMPARE_GT     4
#define COMPARE_GE     5
#define COMPARE_NOT    6
#define COMPARE_AND    7
#define COMPARE_OR     8
#define ELEMENT_F32    0
#define ELEMENT_I32    1
#define ELEMENT_I64    2
#define ELEMENT_BYTE   3
#define ELEMENT_NUMBER 4 // one number, for all elements
