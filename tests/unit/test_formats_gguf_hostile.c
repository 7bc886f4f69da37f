// SPDX-License-Identifier: Apache-2.0
// GGUF bytes that lie: impossible counts and sizes, duplicates, overlaps, cuts at every byte, flipped bits, no memory.
#include "support/scratch.h"

#include "base/random.h"
#include "formats/gguf.h"

// A file made by hand, field by field.
typedef struct handmade {
    uint8_t bytes[2048];
    size_t size;
} handmade;

static void put(handmade *file, const void *bytes, size_t size) {
    assert_true(file->size + size <= sizeof file->bytes);
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
}

static void u32(handmade *file, uint32_t value) {
    put(file, &value, sizeof value);
}

static void u64(handmade *file, uint64_t value) {
    put(file, &value, sizeof value);
}

static void string(handmade *file, const char *text) {
    u64(file, strlen(text));
    put(file, text, strlen(text));
}

static handmade begin(uint32_t version, uint64_t tensors, uint64_t keys) {
    handmade file = {0};
    put(&file, "GGUF", 4);
    u32(&file, version);
    u64(&file, tensors);
    u64(&file, keys);
    return file;
}

static void tensor(handmade *file, const char *name, uint64_t ne0, uint64_t ne1, uint32_t type, uint64_t offset) {
    string(file, name);
    u32(file, 2);
    u64(file, ne0);
    u64(file, ne1);
    u32(file, type);
    u64(file, offset);
}

static void data(handmade *file, size_t bytes) {
    static const uint8_t zeros[1024] = {0};
    const size_t gap = (32 - file->size % 32) % 32;
    put(file, zeros, gap + bytes);
}

static hone_status read_bytes(const uint8_t *bytes, size_t size, hone_gguf **out, hone_error *error) {
    hone_source *source = NULL;
    *out = NULL;
    hone_status status = hone_memory_source(bytes, size, "x.gguf", &source, error);
    if (status != HONE_OK) return status;
    status = hone_gguf_read(source, out, error);
    if (status != HONE_OK) hone_source_close(&source);
    return status;
}

// Refused with these words, without a leak, and without memory beyond what the file could ever need.
static void refuses(const handmade *file, hone_status wanted, const char *words) {
    const hone_memory_count before = hone_memory_counted();
    hone_error error = {0};
    hone_gguf *gguf = NULL;
    const hone_status status = read_bytes(file->bytes, file->size, &gguf, &error);
    if (status != wanted)
        fail_msg("%s instead of %s: %s", hone_status_name(status), hone_status_name(wanted), error.message);
    assert_null(gguf);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
    assert_non_null(strstr(error.message, "'x.gguf'"));
    assert_int_equal(hone_memory_counted().bytes, before.bytes);
    assert_true(hone_memory_counted().peak_bytes - before.bytes < 256 << 10);
}

static void other_files_are_named(void **state) {
    (void)state;
    handmade file = {0};
    refuses(&file, HONE_BAD_FORMAT, "is not a GGUF file: it is empty");
    put(&file, "<!DOCTYPE html>", 15);
    refuses(&file, HONE_BAD_FORMAT, "is not a GGUF file: it begins with \"<!DO\"");
    file.size = 0;
    put(&file, "version https://git-lfs", 23);
    refuses(&file, HONE_BAD_FORMAT, "git-lfs");
    file.size = 0;
    put(&file, "\x7f\x45\0\1", 4);
    refuses(&file, HONE_BAD_FORMAT, "it begins with the bytes 7f 45 00 01");
    file.size = 0;
    put(&file, "GG", 2);
    refuses(&file, HONE_BAD_FORMAT, "is not a GGUF file");
    file = begin(1, 0, 0);
    refuses(&file, HONE_UNSUPPORTED, "version 1");
    file = begin(4, 0, 0);
    refuses(&file, HONE_UNSUPPORTED, "version 4");
    file = begin(0, 0, 0);
    refuses(&file, HONE_UNSUPPORTED, "version 0");
    file = begin(UINT32_C(3) << 24, 0, 0);
    refuses(&file, HONE_UNSUPPORTED, "big-endian");
}

static void counts_are_compared_with_what_is_left(void **state) {
    (void)state;
    handmade file = begin(3, UINT64_C(1) << 63, 0);
    refuses(&file, HONE_BAD_FORMAT, "cut or damaged");
    file = begin(3, 0, UINT64_MAX);
    refuses(&file, HONE_BAD_FORMAT, "cut or damaged");
    const uint32_t kinds[] = {HONE_GGUF_U8, HONE_GGUF_F64, HONE_GGUF_STRING, HONE_GGUF_BOOL};
    const uint64_t counts[] = {UINT64_C(1) << 60, UINT64_C(1) << 63, UINT64_MAX, 1000};
    for (size_t k = 0; k < 4; k++) {
        for (size_t c = 0; c < 4; c++) {
            file = begin(3, 0, 1);
            string(&file, "tokens");
            u32(&file, HONE_GGUF_ARRAY);
            u32(&file, kinds[k]);
            u64(&file, counts[c]);
            data(&file, 64);
            refuses(&file, HONE_BAD_FORMAT, "'tokens'");
        }
    }
    for (size_t c = 0; c < 4; c++) {
        file = begin(3, 0, 1);
        string(&file, "name");
        u32(&file, HONE_GGUF_STRING);
        u64(&file, counts[c]);
        data(&file, 64);
        refuses(&file, HONE_BAD_FORMAT, "inside the value of key 'name'");
        file = begin(3, 0, 1);
        u64(&file, counts[c]);
        data(&file, 64);
        refuses(&file, HONE_BAD_FORMAT, "the name of a key");
    }
    // The count fits, the strings do not.
    file = begin(3, 0, 1);
    string(&file, "tokens");
    u32(&file, HONE_GGUF_ARRAY);
    u32(&file, HONE_GGUF_STRING);
    u64(&file, 3);
    string(&file, "a");
    u64(&file, UINT64_MAX - 7);
    data(&file, 64);
    refuses(&file, HONE_BAD_FORMAT, "'tokens'");
}

static void kinds_and_names_are_checked(void **state) {
    (void)state;
    handmade file = begin(3, 0, 1);
    string(&file, "k");
    u32(&file, 13);
    data(&file, 8);
    refuses(&file, HONE_BAD_FORMAT, "unknown kind 13");
    file = begin(3, 0, 1);
    string(&file, "k");
    u32(&file, HONE_GGUF_ARRAY);
    u32(&file, 77);
    u64(&file, 0);
    refuses(&file, HONE_BAD_FORMAT, "unknown kind 77");
    file = begin(3, 0, 1);
    string(&file, "k");
    u32(&file, HONE_GGUF_ARRAY);
    u32(&file, HONE_GGUF_ARRAY);
    u64(&file, 0);
    refuses(&file, HONE_UNSUPPORTED, "array of arrays");
    file = begin(3, 0, 1);
    string(&file, "");
    data(&file, 32);
    refuses(&file, HONE_BAD_FORMAT, "1 to 65535");
    file = begin(3, 0, 1);
    u64(&file, 3);
    put(&file, "a\0b", 3);
    data(&file, 32);
    refuses(&file, HONE_BAD_FORMAT, "zero byte");
    file = begin(3, 0, 2);
    for (int i = 0; i < 2; i++) {
        string(&file, "again");
        u32(&file, HONE_GGUF_U32);
        u32(&file, 1);
    }
    refuses(&file, HONE_BAD_FORMAT, "key 'again' appears twice");
    const uint32_t alignments[] = {0, 1, 4, 24, 33};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        file = begin(3, 0, 1);
        string(&file, "general.alignment");
        u32(&file, HONE_GGUF_U32);
        u32(&file, alignments[i]);
        refuses(&file, HONE_BAD_FORMAT, "power of two");
    }
}

static void tensors_are_checked(void **state) {
    (void)state;
    handmade file = begin(3, 1, 0);
    string(&file, "t");
    u32(&file, 5);
    data(&file, 64);
    refuses(&file, HONE_BAD_FORMAT, "5 dimensions");
    const struct {
        uint64_t ne0;
        uint64_t ne1;
        uint32_t type;
        uint64_t offset;
        const char *words;
    } cases[] = {
        {UINT64_C(1) << 33, UINT64_C(1) << 33, 0, 0, "product leaves 63 bits"},
        {UINT64_MAX, 1, 0, 0, "product leaves 63 bits"},
        {UINT64_C(1) << 62, 0, 0, 0, "63 bits"},
        {UINT64_C(1) << 62, 1, 0, 0, "63 bits"},
        {48, 1, HONE_BLOCK_Q4_0, 0, "blocks of 32"},
        {32, 1, HONE_BLOCK_Q4_K, 0, "blocks of 256"},
        {8, 1, 0, 8, "no multiple of the alignment"},
        {8, 1, 0, UINT64_MAX - 31, "impossible offset"},
        {8, 1, 0, UINT64_C(1) << 62, "needs bytes to"},
        {17, 1, 0, 0, "ends at byte 128, but tensor 't' needs bytes to 164: the file is cut; fetch it again"},
        {8, 1, 0, 64, "needs bytes to 192"},
        {8, 1, 16, 1024, "needs bytes to"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file = begin(3, 1, 0);
        tensor(&file, "t", cases[i].ne0, cases[i].ne1, cases[i].type, cases[i].offset);
        data(&file, 32);
        refuses(&file, HONE_BAD_FORMAT, cases[i].words);
    }
    file = begin(3, 2, 0);
    tensor(&file, "same", 8, 1, 0, 0);
    tensor(&file, "same", 8, 1, 0, 32);
    data(&file, 64);
    refuses(&file, HONE_BAD_FORMAT, "tensor 'same' appears twice");
    file = begin(3, 2, 0);
    tensor(&file, "one", 16, 1, 0, 0);
    tensor(&file, "two", 8, 1, 0, 32);
    data(&file, 64);
    refuses(&file, HONE_BAD_FORMAT, "'one' and 'two' overlap");
}

static void unknown_types_wait_until_they_are_wanted(void **state) {
    (void)state;
    handmade file = begin(2, 2, 0);
    tensor(&file, "odd", 256, 1, 16, 0);
    tensor(&file, "plain", 2, 1, 0, 96);
    data(&file, 96 + 8);
    hone_gguf *gguf = NULL;
    hone_error error = {0};
    float values[256];
    assert_int_equal(read_bytes(file.bytes, file.size, &gguf, &error), HONE_OK);
    assert_int_equal(gguf->version, 2);
    assert_int_equal(gguf->tensors[0].type, 16);
    assert_int_equal(hone_gguf_read_floats(gguf, &gguf->tensors[1], values, &error), HONE_OK);
    assert_int_equal(hone_gguf_read_floats(gguf, &gguf->tensors[0], values, &error), HONE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "'odd' is stored as IQ2_XXS"));
    assert_non_null(strstr(error.message, "Q4_K"));
    hone_gguf_close(gguf);
}

// A small file with a bit of everything.
static handmade sample(void) {
    handmade file = begin(3, 3, 5);
    string(&file, "general.architecture");
    u32(&file, HONE_GGUF_STRING);
    string(&file, "llama");
    string(&file, "general.alignment");
    u32(&file, HONE_GGUF_U32);
    u32(&file, 32);
    string(&file, "tokens");
    u32(&file, HONE_GGUF_ARRAY);
    u32(&file, HONE_GGUF_STRING);
    u64(&file, 3);
    string(&file, "a");
    string(&file, "");
    string(&file, "token");
    string(&file, "scores");
    u32(&file, HONE_GGUF_ARRAY);
    u32(&file, HONE_GGUF_F32);
    u64(&file, 2);
    u64(&file, 0);
    string(&file, "flag");
    u32(&file, HONE_GGUF_BOOL);
    put(&file, "\1", 1);
    tensor(&file, "blk.0.attn_q.weight", 32, 2, HONE_BLOCK_Q4_0, 0);
    tensor(&file, "blk.0.attn_k.weight", 32, 1, HONE_BLOCK_Q8_0, 64);
    tensor(&file, "output_norm.weight", 8, 1, HONE_BLOCK_F32, 128);
    data(&file, 128 + 32);
    return file;
}

// Reads and, if that works, looks at everything.
static hone_status use(const uint8_t *bytes, size_t size, hone_error *error) {
    hone_gguf *gguf = NULL;
    const hone_status status = read_bytes(bytes, size, &gguf, error);
    if (status != HONE_OK) return status;
    for (size_t i = 0; i < gguf->entry_count; i++) {
        const hone_gguf_entry *const entry = &gguf->entries[i];
        assert_ptr_equal(hone_gguf_find(gguf, entry->key.bytes), entry);
        if (entry->kind == HONE_GGUF_STRING) assert_int_equal(entry->string.bytes[entry->string.length], 0);
    }
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        uint8_t *const copy = malloc((size_t)gguf->tensors[i].bytes + 1);
        const hone_status read =
            hone_gguf_read_bytes(gguf, &gguf->tensors[i], 0, copy, (size_t)gguf->tensors[i].bytes, error);
        assert_true(read == HONE_OK || read == HONE_UNSUPPORTED);
        free(copy);
    }
    hone_gguf_close(gguf);
    return HONE_OK;
}

static void cut_anywhere_it_is_refused(void **state) {
    (void)state;
    const handmade file = sample();
    hone_error error = {0};
    assert_int_equal(use(file.bytes, file.size, &error), HONE_OK);
    const size_t held = scratch_held();
    for (size_t size = 0; size < file.size; size++) {
        // In memory of exactly that size, so that a sanitizer sees any step too far.
        uint8_t *const copy = malloc(size + (size == 0));
        memcpy(copy, file.bytes, size);
        const hone_status status = use(copy, size, &error);
        if (status != HONE_BAD_FORMAT) fail_msg("cut at %zu: %s", size, hone_status_name(status));
        if (size > 4 && !strstr(error.message, "cut")) fail_msg("cut at %zu: %s", size, error.message);
        assert_int_equal(scratch_held(), held);
        free(copy);
    }
}

static void flipped_bits_are_survived(void **state) {
    (void)state;
    const handmade good = sample();
    const size_t held = scratch_held();
    hone_random random = hone_random_seed(11, 1);
    hone_error error = {0};
    for (size_t bit = 0; bit < 8 * good.size; bit++) {
        handmade file = good;
        file.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        (void)use(file.bytes, file.size, &error);
        assert_int_equal(scratch_held(), held);
    }
    for (int round = 0; round < 20000; round++) {
        handmade file = good;
        const uint32_t changes = 1 + hone_random_below(&random, 8);
        for (uint32_t i = 0; i < changes; i++) {
            const uint32_t at = hone_random_below(&random, (uint32_t)good.size);
            file.bytes[at] = (uint8_t)hone_random_u32(&random);
        }
        (void)use(file.bytes, file.size, &error);
        assert_int_equal(scratch_held(), held);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const handmade file = sample();
    const size_t held = scratch_held();
    for (uint64_t n = 0;; n++) {
        hone_error error = {0};
        hone_memory_fail_after(n, n % 2 == 0);
        const hone_status status = use(file.bytes, file.size, &error);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(scratch_held(), held);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_OUT_OF_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(counts_are_compared_with_what_is_left),
        cmocka_unit_test(kinds_and_names_are_checked),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(unknown_types_wait_until_they_are_wanted),
        cmocka_unit_test(cut_anywhere_it_is_refused),
        cmocka_unit_test(flipped_bits_are_survived),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
