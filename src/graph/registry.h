// SPDX-License-Identifier: Apache-2.0
// The table of operators: the generated list of the built-in families, and those registered at run time.
#ifndef HONE_GRAPH_REGISTRY_H
#define HONE_GRAPH_REGISTRY_H

#include <hone/op.h>

// One NULL-ended list for each folder of src/ops, itself ended by NULL; generated at configure time.
extern const hone_op *const *const hone_builtin_families[];

#endif
