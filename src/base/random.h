// SPDX-License-Identifier: Apache-2.0
// Random numbers whose whole state is two words, so that it can be saved, and a counter-based hash for masks.
#ifndef HONE_BASE_RANDOM_H
#define HONE_BASE_RANDOM_H

#include <stdint.h>

typedef struct hone_random {
    uint64_t state;  // PCG-XSH-RR 64/32
    uint64_t stream; // odd
} hone_random;

hone_random hone_random_seed(uint64_t seed, uint64_t stream);
uint32_t hone_random_u32(hone_random *random);
// Uniform in [0, bound), without bias; bound >= 1.
uint32_t hone_random_below(hone_random *random, uint32_t bound);
// Uniform in [0, 1) with 24 bits.
float hone_random_float(hone_random *random);
// Mean 0, deviation 1 (Box-Muller, one value a call).
float hone_random_normal(hone_random *random);
// Mixes (seed, a, b, c) into 32 uniform bits; the same on every device.
uint32_t hone_random_hash(uint64_t seed, uint32_t a, uint32_t b, uint32_t c);

#endif
