// SPDX-License-Identifier: Apache-2.0
// Which function a binary kernel computes; read by C and by Slang.
#define BINARY_ADD   0
#define BINARY_SUB   1
#define BINARY_MUL   2
#define BINARY_DIV   3
#define BINARY_POW   4
#define BINARY_FLOOR 5
#define BINARY_TRUNC 6
