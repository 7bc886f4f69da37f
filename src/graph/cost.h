// SPDX-License-Identifier: Apache-2.0
// Bytes and floating-point operations of a plan's steps.
#ifndef HONE_GRAPH_COST_H
#define HONE_GRAPH_COST_H

#include "graph/plan.h"

// Fills bytes and flop of rows [count], which are those of the plan's steps in order, views left out, with calls set.
void hone_plan_costs(const hone_plan *plan, hone_profile_row *rows, size_t count);

#endif
