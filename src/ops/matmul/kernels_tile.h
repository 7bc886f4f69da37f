// SPDX-License-Identifier: Apache-2.0
// Template: tiles, transposing and dot products in floats. Included by kernels_<set>.c, which defines NAME, TARGET,
// INLINE, LANES, TILE_ROWS, TILE_VECTORS, DOT_ROWS, DOT_COLUMNS, the types `vec` (LANES floats),
// `quad` (4 floats) and `bytes` (16), and the functions on them.

#define PARTS        (HONE_STRIP / LANES)
#define TILE_COLUMNS (TILE_VECTORS * LANES)

TARGET static void NAME(tile)(int64_t k, const float *a, int64_t a_step, const float *b, int64_t b_step, float *c,
                              int64_t c_step, bool add) {
    vec sum[TILE_ROWS][TILE_VECTORS];
    for (int i = 0; i < TILE_ROWS; i++) {
        for (int j = 0; j < TILE_VECTORS; j++) sum[i][j] = vec_splat(0);
    }
    for (int64_t p = 0; p < k; p++) {
        vec right[TILE_VECTORS];
        for (int j = 0; j < TILE_VECTORS; j++) right[j] = vec_load(b + j * LANES);
        for (int i = 0; i < TILE_ROWS; i++) {
            const vec left = vec_splat(a[i]);
            for (int j = 0; j < TILE_VECTORS; j++) sum[i][j] = vec_fma(left, right[j], sum[i][j]);
        }
        a += a_step;
        b += b_step;
    }
    // Added at the end, not begun with: a long sum made of the sums of its chunks loses far fewer bits than one that
    // adds every product to a total which is already large.
    for (int i = 0; i < TILE_ROWS; i++) {
        for (int j = 0; j < TILE_VECTORS; j++) {
            float *const place = c + i * c_step + j * LANES;
            vec_store(place, add ? vec_load(place) + sum[i][j] : sum[i][j]);
        }
    }
}

// Four rows of k elements to out[p * step + 0..3]. Four-lane vectors exist everywhere, so this is the same for all.
INLINE void NAME(transpose4)(const float *const row[4], int64_t k, float factor, float *out, int64_t step) {
    int64_t p = 0;
    const quad f = {factor, factor, factor, factor};
    for (; p + 4 <= k; p += 4) {
        quad r[4], t[4];
        for (int i = 0; i < 4; i++) memcpy(&r[i], row[i] + p, sizeof r[i]);
        t[0] = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
        t[1] = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
        t[2] = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
        t[3] = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
        r[0] = __builtin_shufflevector(t[0], t[2], 0, 1, 4, 5) * f;
        r[1] = __builtin_shufflevector(t[0], t[2], 2, 3, 6, 7) * f;
        r[2] = __builtin_shufflevector(t[1], t[3], 0, 1, 4, 5) * f;
        r[3] = __builtin_shufflevector(t[1], t[3], 2, 3, 6, 7) * f;
        for (int i = 0; i < 4; i++) memcpy(out + (p + i) * step, &r[i], sizeof r[i]);
    }
    for (; p < k; p++) {
        for (int i = 0; i < 4; i++) out[p * step + i] = row[i][p] * factor;
    }
}

TARGET static void NAME(transpose)(const float *rows, int64_t ld, int64_t valid, int count, int64_t k, float factor,
                                   float *out, int64_t out_step) {
    for (int i = 0; i < count; i += 4) {
        // The last four overlap those before when the count is no multiple of 4; fewer than four go one by one.
        const int first = i + 4 <= count || count < 4 ? i : count - 4;
        const float *row[4];
        for (int j = 0; j < 4; j++) row[j] = rows + (first + j < valid ? first + j : valid - 1) * ld;
        if (count >= 4) {
            NAME(transpose4)(row, k, factor, out + first, out_step);
        } else {
            for (int64_t p = 0; p < k; p++) {
                for (int j = 0; j < count; j++) out[p * out_step + j] = row[j][p] * factor;
            }
        }
    }
}

// The sums of the lanes of four groups of PARTS vectors, in an order that does not depend on LANES:
// first lanes 8 apart, then 4 apart; then transposed, and the four rows added in pairs.
INLINE quad NAME(reduce4)(vec v[4][PARTS]) {
    quad r[4], t[4];
    for (int i = 0; i < 4; i++) {
        float lane[HONE_STRIP];
        for (int j = 0; j < PARTS; j++) vec_store(lane + j * LANES, v[i][j]);
        quad q[4];
        memcpy(q, lane, sizeof q);
        r[i] = (q[0] + q[2]) + (q[1] + q[3]);
    }
    t[0] = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    t[1] = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    t[2] = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    t[3] = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(t[0], t[2], 0, 1, 4, 5) + __builtin_shufflevector(t[1], t[3], 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(t[0], t[2], 2, 3, 6, 7) + __builtin_shufflevector(t[1], t[3], 2, 3, 6, 7);
    return r[0] + r[1];
}

// A block of row_count x column_count dot products; both are constants where this is called.
INLINE void NAME(dot_block)(int64_t k, const float *x, int64_t ldx, int row_count, const float *y, int64_t ldy,
                            int column_count, float *out, int64_t r_step, int64_t s_step, bool add) {
    vec sum[DOT_ROWS][DOT_COLUMNS][PARTS];
    for (int r = 0; r < row_count; r++) {
        for (int s = 0; s < column_count; s++) {
            for (int j = 0; j < PARTS; j++) sum[r][s][j] = vec_splat(0);
        }
    }
    int64_t p = 0;
    for (; p + HONE_STRIP <= k; p += HONE_STRIP) {
        vec left[DOT_ROWS][PARTS];
        for (int r = 0; r < row_count; r++) {
            for (int j = 0; j < PARTS; j++) left[r][j] = vec_load(x + r * ldx + p + j * LANES);
        }
        for (int s = 0; s < column_count; s++) {
            for (int j = 0; j < PARTS; j++) {
                const vec right = vec_load(y + s * ldy + p + j * LANES);
                for (int r = 0; r < row_count; r++) sum[r][s][j] = vec_fma(left[r][j], right, sum[r][s][j]);
            }
        }
    }
    for (int r = 0; r < row_count; r++) {
        for (int s = 0; s < column_count; s += 4) {
            vec four[4][PARTS];
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < PARTS; j++) four[i][j] = s + i < column_count ? sum[r][s + i][j] : vec_splat(0);
            }
            const quad total = NAME(reduce4)(four);
            for (int i = 0; i < 4 && s + i < column_count; i++) {
                float value = total[i];
                for (int64_t t = p; t < k; t++) value += x[r * ldx + t] * y[(s + i) * ldy + t];
                float *const place = out + r * r_step + (s + i) * s_step;
                *place = add ? *place + value : value;
            }
        }
    }
}

TARGET static void NAME(dots)(int64_t k, const float *x, int64_t ldx, int64_t x_count, const float *y, int64_t ldy,
                              int64_t y_count, float *out, int64_t r_step, int64_t s_step, bool add) {
    for (int64_t s = 0; s < y_count;) {
        const bool full = s + DOT_COLUMNS <= y_count;
        const float *const yy = y + s * ldy;
        float *const place = out + s * s_step;
        int64_t r = 0;
        for (; full && r + DOT_ROWS <= x_count; r += DOT_ROWS)
            NAME(dot_block)(k, x + r * ldx, ldx, DOT_ROWS, yy, ldy, DOT_COLUMNS, place + r * r_step, r_step, s_step,
                            add);
        for (; full && r < x_count; r++)
            NAME(dot_block)(k, x + r * ldx, ldx, 1, yy, ldy, DOT_COLUMNS, place + r * r_step, r_step, s_step, add);
        for (; !full && r + DOT_ROWS <= x_count; r += DOT_ROWS)
            NAME(dot_block)(k, x + r * ldx, ldx, DOT_ROWS, yy, ldy, 1, place + r * r_step, r_step, s_step, add);
        for (; !full && r < x_count; r++)
            NAME(dot_block)(k, x + r * ldx, ldx, 1, yy, ldy, 1, place + r * r_step, r_step, s_step, add);
        s += full ? DOT_COLUMNS : 1;
    }
}
