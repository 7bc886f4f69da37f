// SPDX-License-Identifier: Apache-2.0
// Time and the machine: monotonic seconds, peak memory, core count.
#ifndef HONE_BASE_CLOCK_H
#define HONE_BASE_CLOCK_H

#include <stdint.h>

double hone_clock_seconds(void);        // monotonic
uint64_t hone_process_peak_bytes(void); // largest resident set so far; 0 if unknown
uint64_t hone_process_bytes(void);      // resident set now; 0 if unknown
int hone_core_count(void);              // processors this process may run on (affinity and cgroup quota), >= 1

#endif
