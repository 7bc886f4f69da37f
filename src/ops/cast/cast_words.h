// SPDX-License-Identifier: Apache-2.0
// Types of elements that conversions read and write; read by C and by Slang.
#define CAST_F32  0
#define CAST_F16  1
#define CAST_BF16 2
#define CAST_F64  3
#define CAST_I32  4
#define CAST_I64  5
#define CAST_I8   6
#define CAST_U8   7
#define CAST_BOOL 8
