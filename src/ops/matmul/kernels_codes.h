// SPDX-License-Identifier: Apache-2.0
// Template: 4-bit and 8-bit codes to strips of floats, and products with a vector straight from codes. Included by
// kernels_<set>.c behind kernels_tile.h; see there. A decoded value is (code - zero) * scale, then + minimum, each
// rounded by itself, so that it is the value that the file's format defines, to the bit.

// Sixteen rows of sixteen bytes become sixteen columns: four rounds of interleaving row i with row i + 8.
INLINE void NAME(transpose_bytes)(bytes r[16]) {
    for (int round = 0; round < 4; round++) {
        bytes t[16];
        for (int i = 0; i < 8; i++) {
            t[2 * i] = __builtin_shufflevector(r[i], r[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            t[2 * i + 1] =
                __builtin_shufflevector(r[i], r[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        for (int i = 0; i < 16; i++) r[i] = t[i];
    }
}

// Sixteen bytes, of which only `valid` may be read; the rest are 0.
INLINE bytes NAME(load_bytes)(const uint8_t *from, int64_t valid) {
    bytes out = {0};
    if (valid >= 16) {
        memcpy(&out, from, 16);
    } else if (valid > 0) {
        memcpy(&out, from, (size_t)valid);
    }
    return out;
}

// Scales or minimums of a group for rows n0 .. n0 + 15; what lies behind the last row is not read.
INLINE void NAME(load_scales)(const hone_codes *w, const void *scales, int64_t group, int64_t n0, vec out[PARTS]) {
    const int64_t at = group * w->step + n0;
    const size_t size = w->half ? sizeof(uint16_t) : sizeof(float);
    const char *from = (const char *)scales + (size_t)at * size;
    float copy[HONE_STRIP] = {0};
    if (n0 + HONE_STRIP > w->n) {
        memcpy(copy, from, (size_t)(w->n - n0) * size);
        from = (const char *)copy;
    }
    if (w->half) {
        half_strip(from, out);
    } else {
        for (int j = 0; j < PARTS; j++) out[j] = vec_load((const float *)(const void *)from + j * LANES);
    }
}

// One column of a strip of rows.
INLINE void NAME(store_scaled)(const vec codes[PARTS], const vec scale[PARTS], const vec minimum[PARTS], bool minimums,
                               float *out) {
    for (int j = 0; j < PARTS; j++) {
        const vec value = codes[j] * scale[j];
        vec_store(out + j * LANES, minimums ? value + minimum[j] : value);
    }
}

// The state of a walk along k through the groups of a strip of rows.
typedef struct NAME(walk) {
    vec scale[PARTS], minimum[PARTS];
    int64_t end; // of the group at hand
} NAME(walk);

INLINE void NAME(walk_to)(const hone_codes *w, int64_t n0, int64_t k, NAME(walk) * walk) {
    const int64_t group = k / w->group;
    NAME(load_scales)(w, w->scales, group, n0, walk->scale);
    if (w->minimums) NAME(load_scales)(w, w->minimums, group, n0, walk->minimum);
    walk->end = (group + 1) * w->group;
}

// Columns k .. k + width - 1 of sixteen rows; width (16 or 32) and minimums are constants where this is called.
INLINE void NAME(decode_square)(const hone_codes *w, int64_t k, int64_t k1, int64_t n0, int width, bool minimums,
                                NAME(walk) * walk, float *out, int64_t out_step) {
    bytes r[16];
    const int64_t first = width == 32 ? k / 2 : k;
    for (int i = 0; i < 16; i++) {
        const int64_t n = n0 + i < w->n ? n0 + i : w->n - 1;
        r[i] = NAME(load_bytes)(w->codes + n * w->row_bytes + first, w->row_bytes - first);
    }
    NAME(transpose_bytes)(r);
    if (k >= walk->end) NAME(walk_to)(w, n0, k, walk);
    const bool whole = k + width <= k1 && k + width <= walk->end;
    for (int i = 0; i < 16; i++) {
        vec even[PARTS], odd[PARTS];
        float *const place = out + (width == 32 ? 2 * i : i) * out_step;
        if (width == 32) {
            nibble_strip(r[i], w->zero, even, odd);
        } else {
            byte_strip(r[i], even);
        }
        if (whole) {
            NAME(store_scaled)(even, walk->scale, walk->minimum, minimums, place);
            if (width == 32) NAME(store_scaled)(odd, walk->scale, walk->minimum, minimums, place + out_step);
            continue;
        }
        const int64_t column = k + (width == 32 ? 2 * i : i);
        if (column >= k1) break;
        if (column >= walk->end) NAME(walk_to)(w, n0, column, walk);
        NAME(store_scaled)(even, walk->scale, walk->minimum, minimums, place);
        if (width == 16 || column + 1 >= k1) continue;
        if (column + 1 >= walk->end) NAME(walk_to)(w, n0, column + 1, walk);
        NAME(store_scaled)(odd, walk->scale, walk->minimum, minimums, place + out_step);
    }
}

TARGET static void NAME(decode_rows)(const hone_codes *codes, int64_t k0, int64_t k1, int64_t n0, float *out,
                                     int64_t out_step) {
    const hone_codes copy = *codes, *const w = &copy; // a copy: stores to `out` cannot change it
    NAME(walk) walk = {.end = k0};
    const int width = w->bits == 4 ? 32 : 16;
    for (int64_t k = k0; k < k1; k += width) {
        float *const place = out + (k - k0) * out_step;
        if (width == 32 && w->minimums) {
            NAME(decode_square)(w, k, k1, n0, 32, true, &walk, place, out_step);
        } else if (width == 32) {
            NAME(decode_square)(w, k, k1, n0, 32, false, &walk, place, out_step);
        } else if (w->minimums) {
            NAME(decode_square)(w, k, k1, n0, 16, true, &walk, place, out_step);
        } else {
            NAME(decode_square)(w, k, k1, n0, 16, false, &walk, place, out_step);
        }
    }
}

// Sixteen codes of one row in order of their columns.
INLINE void NAME(row_codes)(const hone_codes *w, int64_t n, int64_t k0, vec out[PARTS]) {
    const int64_t first = w->bits == 4 ? k0 / 2 : k0;
    const uint8_t *const from = w->codes + n * w->row_bytes + first;
    const int64_t valid = w->row_bytes - first;
    if (w->bits == 8) {
        byte_strip(NAME(load_bytes)(from, valid), out);
        return;
    }
    uint64_t word = 0; // a register: eight bytes stored and sixteen loaded again would wait for each other
    if (valid >= 8) {
        memcpy(&word, from, sizeof word);
    } else {
        for (int64_t i = 0; i < valid; i++) word |= (uint64_t)from[i] << 8 * i;
    }
    const uint64_t both __attribute__((vector_size(16))) = {word, 0};
    nibble_row((bytes)both, w->zero, out);
}

// The same columns where they lie in more than one group: each with its own scale.
INLINE void NAME(decode_columns_mixed)(const hone_codes *w, int64_t n, int64_t k0, float *out) {
    vec codes[PARTS];
    NAME(row_codes)(w, n, k0, codes);
    for (int j = 0; j < PARTS; j++) vec_store(out + j * LANES, codes[j]);
    for (int64_t c = 0; c < HONE_STRIP && k0 + c < w->k; c++) {
        const int64_t at = (k0 + c) / w->group * w->step + n;
        out[c] *= w->half ? hone_half_to_float(((const uint16_t *)w->scales)[at]) : ((const float *)w->scales)[at];
        if (!w->minimums) continue;
        out[c] += w->half ? hone_half_to_float(((const uint16_t *)w->minimums)[at]) : ((const float *)w->minimums)[at];
    }
}

TARGET static void NAME(decode_columns)(const hone_codes *codes, int64_t n0, int64_t n1, int64_t k0, float *out,
                                        int64_t out_step) {
    const hone_codes copy = *codes, *const w = &copy;
    const int64_t last = k0 + HONE_STRIP < w->k ? k0 + HONE_STRIP - 1 : w->k - 1;
    const int64_t group = k0 / w->group;
    if (last / w->group != group) {
        for (int64_t n = n0; n < n1; n++) NAME(decode_columns_mixed)(w, n, k0, out + (n - n0) * out_step);
        return;
    }
    for (int64_t n = n0; n < n1; n += HONE_STRIP) {
        vec parts[PARTS];
        float scale[HONE_STRIP], minimum[HONE_STRIP];
        const int64_t end = n + HONE_STRIP < n1 ? n + HONE_STRIP : n1;
        NAME(load_scales)(w, w->scales, group, n, parts);
        for (int j = 0; j < PARTS; j++) vec_store(scale + j * LANES, parts[j]);
        if (w->minimums) {
            NAME(load_scales)(w, w->minimums, group, n, parts);
            for (int j = 0; j < PARTS; j++) vec_store(minimum + j * LANES, parts[j]);
        }
        for (int64_t i = n; i < end; i++) {
            vec value[PARTS];
            NAME(row_codes)(w, i, k0, value);
            for (int j = 0; j < PARTS; j++) {
                value[j] = value[j] * vec_splat(scale[i - n]);
                if (w->minimums) value[j] = value[j] + vec_splat(minimum[i - n]);
                vec_store(out + (i - n0) * out_step + j * LANES, value[j]);
            }
        }
    }
}

// One step of the matrix-vector product: `width` columns of `rows` rows, codes row_step bytes apart, against each
// vector. Sums within the step first, then by the scale into the row's total. No branches and no calls: all the totals
// are to stay in registers.
INLINE void NAME(matvec_step)(const uint8_t *codes, int64_t row_step, int bits, int width, int rows, int m,
                              const float *x, int64_t x_step, const float *scale,
                              vec total[][HONE_MATVEC_MOST_ROWS][PARTS]) {
    HONE_UNROLL
    for (int r = 0; r < rows; r++) {
        vec first[PARTS], second[PARTS];
        bytes raw;
        memcpy(&raw, codes, sizeof raw);
        if (bits == 4) {
            nibble_strip(raw, 0, first, second);
        } else {
            byte_strip(raw, first);
            if (width == 32) {
                memcpy(&raw, codes + 16, sizeof raw);
                byte_strip(raw, second);
            }
        }
        HONE_UNROLL
        for (int i = 0; i < m; i++) {
            HONE_UNROLL
            for (int j = 0; j < PARTS; j++) {
                const float *const xi = x + i * x_step + j * LANES;
                vec sum = first[j] * vec_load(xi);
                if (width == 32) sum = vec_fma(second[j], vec_load(xi + HONE_STRIP), sum);
                total[r][i][j] = vec_fma(sum, vec_splat(scale[r]), total[r][i][j]);
            }
        }
        codes += row_step;
    }
}

// Columns of a row that whole steps cover without reading behind its last byte.
INLINE int64_t NAME(whole_steps)(const hone_codes *w, int bits, int width) {
    return bits == 4 ? w->row_bytes / 16 * 32 : w->row_bytes / width * width;
}

// Scales or minimums of a group for `rows` rows, a constant; lanes behind them hold anything. A call of memcpy here
// would cost all registers.
INLINE void NAME(matvec_scales)(const hone_codes *w, const void *scales, int64_t group, int64_t n0, int rows,
                                vec out[PARTS]) {
    const int64_t at = group * w->step + n0;
    const char *from = (const char *)scales + (size_t)at * (w->half ? sizeof(uint16_t) : sizeof(float));
    float copy[HONE_STRIP] = {0};
    // For rows to come: each group's values lie far from the last one's, and no processor sees that coming.
    __builtin_prefetch(from + 64);
    if (n0 + HONE_STRIP > w->step) {
        if (w->half) {
            memcpy(copy, from, (size_t)rows * sizeof(uint16_t));
        } else {
            memcpy(copy, from, (size_t)rows * sizeof(float));
        }
        from = (const char *)copy;
    }
    if (w->half) {
        half_strip(from, out);
    } else {
        for (int j = 0; j < PARTS; j++) out[j] = vec_load((const float *)(const void *)from + j * LANES);
    }
}

// What a group's minimums add to the rows' results, a lane for each row: the minimum by the vector's sum over the group.
// A zero other than 0 is a minimum of -zero * scale.
INLINE void NAME(matvec_minimums)(const hone_codes *w, int64_t group, int64_t groups, int64_t n0, int rows, int m,
                                  const vec scale[PARTS], const float *sums, vec extra[HONE_MATVEC_MOST_ROWS][PARTS]) {
    vec minimum[PARTS];
    if (!w->minimums && w->zero == 0) return;
    if (w->minimums) {
        NAME(matvec_scales)(w, w->minimums, group, n0, rows, minimum);
    } else {
        for (int j = 0; j < PARTS; j++) minimum[j] = scale[j] * vec_splat((float)-w->zero);
    }
    HONE_UNROLL
    for (int i = 0; i < m; i++) {
        HONE_UNROLL
        for (int j = 0; j < PARTS; j++)
            extra[i][j] = vec_fma(minimum[j], vec_splat(sums[i * groups + group]), extra[i][j]);
    }
}

INLINE void NAME(matvec_store)(vec total[][HONE_MATVEC_MOST_ROWS][PARTS], vec extra[][PARTS], int rows, int m, float *y,
                               int64_t y_step) {
    HONE_UNROLL
    for (int i = 0; i < m; i++) {
        float add[HONE_STRIP];
        for (int j = 0; j < PARTS; j++) vec_store(add + j * LANES, extra[i][j]);
        HONE_UNROLL
        for (int r = 0; r < rows; r += 4) {
            vec four[4][PARTS];
            for (int q = 0; q < 4; q++) {
                for (int j = 0; j < PARTS; j++) four[q][j] = r + q < rows ? total[r + q][i][j] : vec_splat(0);
            }
            const quad sum = NAME(reduce4)(four);
            for (int q = 0; q < 4 && r + q < rows; q++) y[i * y_step + r + q] = sum[q] + add[r + q];
        }
    }
}

// `rows` rows against `m` vectors; bits, width, one_step, rows and m are constants where this is called. one_step: a
// group is a step, so that its scales are read where they are used, once, instead of being kept in registers.
INLINE void NAME(matvec_rows)(const hone_codes *w, int bits, int width, bool one_step, int rows, int m, const float *x,
                              const float *sums, int64_t n0, float *y, int64_t y_step) {
    const int64_t x_step = (w->k + 31) / 32 * 32, groups = (w->k + w->group - 1) / w->group;
    const int64_t whole = NAME(whole_steps)(w, bits, width);
    const int per_byte = bits == 4 ? 2 : 1;
    const uint8_t *const base = w->codes + n0 * w->row_bytes;
    uint8_t tail[HONE_STRIP][32]; // what is left behind the whole steps, padded
    if (whole < w->k) {
        const int64_t at = whole / per_byte;
        memset(tail, 0, sizeof tail);
        for (int r = 0; r < rows; r++) memcpy(tail[r], base + r * w->row_bytes + at, (size_t)(w->row_bytes - at));
    }
    vec total[HONE_STRIP][HONE_MATVEC_MOST_ROWS][PARTS], extra[HONE_MATVEC_MOST_ROWS][PARTS];
    HONE_UNROLL
    for (int i = 0; i < m; i++) {
        HONE_UNROLL
        for (int j = 0; j < PARTS; j++) {
            extra[i][j] = vec_splat(0);
            HONE_UNROLL
            for (int r = 0; r < rows; r++) total[r][i][j] = vec_splat(0);
        }
    }
    float scale[HONE_STRIP];
    int64_t k = 0;
    for (int64_t group = 0; group < groups; group++) {
        vec parts[PARTS];
        NAME(matvec_scales)(w, w->scales, group, n0, rows, parts);
        for (int j = 0; j < PARTS; j++) vec_store(scale + j * LANES, parts[j]);
        NAME(matvec_minimums)(w, group, groups, n0, rows, m, parts, sums, extra);
        const int64_t end = (group + 1) * w->group < whole ? (group + 1) * w->group : whole;
        while (k < end) {
            const uint8_t *const codes = base + k / per_byte;
            // The next rows follow these in memory, in pieces too short for the processor to see them coming.
            HONE_UNROLL
            for (int line = 0; line < rows * width / per_byte; line += 64)
                __builtin_prefetch(base + rows * (w->row_bytes + k / per_byte) + line);
            NAME(matvec_step)(codes, w->row_bytes, bits, width, rows, m, x + k, x_step, scale, total);
            k += width;
            if (one_step) break;
        }
    }
    if (whole < w->k) NAME(matvec_step)(tail[0], sizeof tail[0], bits, width, rows, m, x + whole, x_step, scale, total);
    NAME(matvec_store)(total, extra, rows, m, y + n0, y_step);
}

INLINE void NAME(matvec_range)(const hone_codes *w, int bits, int width, bool one_step, int rows, int m, const float *x,
                               const float *sums, int64_t n0, int64_t n1, float *y, int64_t y_step) {
    int64_t n = n0;
    for (; n + rows <= n1; n += rows) NAME(matvec_rows)(w, bits, width, one_step, rows, m, x, sums, n, y, y_step);
    for (; n < n1; n++) NAME(matvec_rows)(w, bits, width, one_step, 1, m, x, sums, n, y, y_step);
}

#define MATVEC_CASE(bits, width, one_step, m)                                                                          \
    NAME(matvec_range)(w, bits, width, one_step, MATVEC_ROWS(m), m, x, sums, n0, n1, y, y_step)
#define MATVEC_FORMAT(m)                                                                                               \
    if (w->bits == 4 && w->group == 32) {                                                                              \
        MATVEC_CASE(4, 32, true, m);                                                                                   \
    } else if (w->bits == 4) {                                                                                         \
        MATVEC_CASE(4, 32, false, m);                                                                                  \
    } else if (w->group == 32) {                                                                                       \
        MATVEC_CASE(8, 32, true, m);                                                                                   \
    } else if (w->group % 32 == 0) {                                                                                   \
        MATVEC_CASE(8, 32, false, m);                                                                                  \
    } else {                                                                                                           \
        MATVEC_CASE(8, 16, false, m);                                                                                  \
    }

TARGET static void NAME(matvec)(const hone_codes *codes, int m, const float *x, const float *sums, int64_t n0,
                                int64_t n1, float *y, int64_t y_step) {
    const hone_codes copy = *codes, *const w = &copy;
    switch (m) {
    case 1:
        MATVEC_FORMAT(1) break;
    case 2:
        MATVEC_FORMAT(2) break;
    case 3:
        MATVEC_FORMAT(3) break;
    default:
        MATVEC_FORMAT(4) break;
    }
}
