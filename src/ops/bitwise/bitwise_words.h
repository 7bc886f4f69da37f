// SPDX-License-Identifier: Apache-2.0
// Which function a kernel of this family computes; read by C and by Slang.
#define BITWISE_AND     0
#define BITWISE_OR      1
#define BITWISE_NOT     2
#define BITWISE_UNTRUTH 3 // not of a bool
