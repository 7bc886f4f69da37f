// SPDX-License-Identifier: Apache-2.0
// PCG-XSH-RR 64/32 (O'Neill, 2014) and a hash of 32-bit steps that every device can compute.
#include "base/random.h"

#include <assert.h>
#include <math.h>

hone_random hone_random_seed(uint64_t seed, uint64_t stream) {
    hone_random random = {.state = 0, .stream = stream << 1 | 1};
    (void)hone_random_u32(&random);
    random.state += seed;
    (void)hone_random_u32(&random);
    return random;
}

uint32_t hone_random_u32(hone_random *random) {
    const uint64_t old = random->state;
    random->state = old * UINT64_C(6364136223846793005) + random->stream;
    const uint32_t mixed = (uint32_t)((old >> 18 ^ old) >> 27);
    const uint32_t turn = (uint32_t)(old >> 59);
    return mixed >> turn | mixed << (-turn & 31);
}

uint32_t hone_random_below(hone_random *random, uint32_t bound) {
    assert(bound >= 1);
    // The first 2^32 mod bound values would make small results likelier: drawn again.
    const uint32_t first = -bound % bound;
    for (;;) {
        const uint32_t value = hone_random_u32(random);
        if (value >= first) return value % bound;
    }
}

float hone_random_float(hone_random *random) {
    return (float)(hone_random_u32(random) >> 8) * 0x1p-24f;
}

float hone_random_normal(hone_random *random) {
    const double radius_from = ((double)hone_random_u32(random) + 1) * 0x1p-32; // in (0, 1]: its logarithm is finite
    const double turn = (double)hone_random_u32(random) * 0x1p-32;
    // In double, so that C libraries which differ in the last bit still give the same float.
    return (float)(sqrt(-2 * log(radius_from)) * cos(6.283185307179586476925 * turn));
}

// A bijection of 32 bits with low bias (Wellons).
static uint32_t mix(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

uint32_t hone_random_hash(uint64_t seed, uint32_t a, uint32_t b, uint32_t c) {
    // 32-bit operations only: WGSL has no 64-bit integers.
    uint32_t hash = mix((uint32_t)seed + 0x9e3779b9u);
    hash = mix(hash ^ (uint32_t)(seed >> 32));
    hash = mix(hash + a);
    hash = mix(hash ^ b);
    return mix(hash + c);
}
