// SPDX-License-Identifier: Apache-2.0
// Program bytes that lie: cuts at every byte, flipped bits, impossible counts, wrong unions, overlaps, no memory.
#include "support/scratch.h"

#include <hone/program.h>

#include "base/clock.h"
#include "base/random.h"
#include "formats/pte.h"
#include "support/pte_maker.h"

static hone_device *device;

static int set_up(void **state) {
    (void)state;
    hone_error error;
    return hone_device_open(&(hone_device_description){.name = "cpu", .threads = 1}, &device, &error) != HONE_OK;
}
static int tear_down(void **state) {
    (void)state;
    hone_device_close(device);
    return 0;
}

static uint8_t *vector(const char *name, size_t *size) {
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/programs/vectors/%s/model.pte", HONE_SOURCE_DIR, name);
    return scratch_read(path, size);
}

// Calls a program whose inputs are small, with zeros.
static hone_status call(hone_pte *pte, hone_error *error) {
    enum { PORTS = 16, BYTES = 1 << 16 };
    static uint64_t zeros[BYTES / 8];
    hone_tensor inputs[PORTS], outputs[PORTS];
    const size_t in = hone_pte_input_count(pte), out = hone_pte_output_count(pte);
    if (in > PORTS || out > PORTS) return HONE_OK;
    for (size_t i = 0; i < in; i++) {
        inputs[i] = (hone_tensor){.type = hone_pte_input(pte, i)->type, .data = zeros};
        if (hone_type_bytes(&inputs[i].type) > BYTES) return HONE_OK;
    }
    return hone_pte_run(pte, inputs, in, outputs, out, error);
}

// Opens the bytes and calls the program; nothing stays behind.
static hone_status use(const uint8_t *bytes, size_t size, hone_error *error) {
    const size_t held = scratch_held();
    hone_source *source;
    hone_pte *pte;
    OK(hone_memory_source(bytes, size, "x.pte", &source, &why));
    hone_status status = hone_pte_open_source(device, source, NULL, &pte, error);
    if (status == HONE_OK) {
        status = call(pte, error);
        hone_pte_close(pte);
    } else {
        if (!strstr(error->message, "'x.pte'")) fail_msg("no file in '%s'", error->message);
        hone_source_close(&source);
    }
    assert_int_equal(scratch_held(), held);
    return status;
}

// --- recorded programs, damaged -------------------------------------------------------------------------------------

static const char *const names[] = {"mm__2x3x4", "adamw_step__buffers_alias_4x3", "sum__dim0_drop",
                                    "dynamic_shape__linear_rows"};

static void cut_anywhere_it_is_refused(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        size_t whole;
        hone_error error = {0};
        uint8_t *const bytes = vector(names[n], &whole);
        const hone_status good = use(bytes, whole, &error);
        if (good != HONE_OK) fail_msg("%s: %s", names[n], error.message);
        for (size_t size = 0; size < whole; size++) {
            uint8_t *const copy = malloc(size + (size == 0)); // a sanitizer sees the end
            memcpy(copy, bytes, size);
            const hone_status status = use(copy, size, &error);
            if (status != HONE_BAD_FORMAT) fail_msg("%s cut at %zu: %s", names[n], size, hone_status_name(status));
            free(copy);
        }
        free(bytes);
    }
}

static void flipped_bits_are_survived(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        size_t size;
        uint8_t *const bytes = vector(names[n], &size);
        hone_random random = hone_random_seed(5, n);
        hone_error error = {0};
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            (void)use(bytes, size, &error);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        uint8_t *const copy = malloc(size);
        for (int round = 0; round < 3000; round++) {
            memcpy(copy, bytes, size);
            for (uint32_t changes = 1 + hone_random_below(&random, 8); changes > 0; changes--) {
                const uint32_t at = hone_random_below(&random, (uint32_t)size - 4);
                const uint32_t word = hone_random_below(&random, 2) ? UINT32_MAX : hone_random_u32(&random);
                memcpy(copy + at, &word, hone_random_below(&random, 2) ? 4 : 1);
            }
            (void)use(copy, size, &error);
        }
        free(copy);
        free(bytes);
    }
}

// Each aligned word of the file in turn becomes a count or an offset that cannot be.
static void awkward_words_are_survived(void **state) {
    (void)state;
    static const uint32_t words[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0x40000000, 0x10000};
    size_t size;
    hone_error error = {0};
    uint8_t *const bytes = vector("adamw_step__buffers_alias_4x3", &size);
    const double start = hone_clock_seconds();
    const size_t before = hone_memory_counted().bytes;
    for (size_t at = 0; at + 4 <= size; at += 4) {
        uint32_t good;
        memcpy(&good, bytes + at, 4);
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            memcpy(bytes + at, &words[w], 4);
            (void)use(bytes, size, &error);
        }
        memcpy(bytes + at, &good, 4);
    }
    // About nine thousand of them: none takes a second, none takes memory that no byte of the file asks for.
    assert_true(hone_clock_seconds() - start < 120);
    assert_true(hone_memory_counted().peak_bytes - before < (size_t)64 << 20);
    free(bytes);
}

static void other_files_are_named(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        hone_status status;
        const char *words;
    } files[] = {
        {"", 0, HONE_BAD_FORMAT, "is not an ExecuTorch program: it is empty"},
        {"GGUF\3\0\0\0", 8, HONE_BAD_FORMAT, "is not an ExecuTorch program"},
        {"\0\0\0\0ET13\0\0\0\0", 12, HONE_UNSUPPORTED, "format ET13"},
        {"\x10\0\0\0ET12eh00\x10\0\0\0", 16, HONE_BAD_FORMAT, "extended header"},
        {"\0\0\0\0ET12", 8, HONE_BAD_FORMAT, "outside"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        hone_error error = {0};
        assert_int_equal(use((const uint8_t *)files[i].bytes, files[i].size, &error), files[i].status);
        if (!strstr(error.message, files[i].words)) fail_msg("%s", error.message);
    }
}

// --- made by hand ---------------------------------------------------------------------------------------------------

static hone_status use_made(const made_program *program, hone_error *error) {
    size_t size;
    uint8_t *const bytes = made_file(program, &size);
    const hone_status status = use(bytes, size, error);
    free(bytes);
    return status;
}

static void refuses(const made_program *program, hone_status wanted, const char *words) {
    hone_error error = {0};
    const hone_status status = use_made(program, &error);
    if (status != wanted || !strstr(error.message, words))
        fail_msg("%s: %s\nwanted %s: %s", hone_status_name(status), error.message, hone_status_name(wanted), words);
}

// x + y in a delegate.
static made_program sum(void) {
    made_program program = {0};
    made_graph *const g = &program.delegates[0];
    const int x = MADE_F32(g, 2, 3), y = MADE_F32(g, 2, 3), alpha = made_integer(g, 1), out = MADE_F32(g, 2, 3);
    MADE_CALL(g, "aten.add.Tensor", x, y, alpha, out);
    made_input(g, x);
    made_input(g, y);
    made_output(g, out);
    made_wrap(&program);
    return program;
}

static void numbers_of_values_are_checked(void **state) {
    (void)state;
    hone_error error = {0};
    made_program p = sum();
    if (use_made(&p, &error) != HONE_OK) fail_msg("%s", error.message);
    for (int argument = 0; argument < 4; argument++) {
        for (int64_t id = -1; id < 300; id += 77) {
            p = sum();
            p.delegates[0].calls[0].arguments[argument] = (int32_t)(id < 4 ? id : id + INT32_MAX / 2);
            if (id >= 0 && id < 4) continue;
            assert_int_equal(use_made(&p, &error), HONE_BAD_FORMAT);
        }
    }
    p = sum();
    p.delegates[0].inputs[0] = 99;
    refuses(&p, HONE_BAD_FORMAT, "input 0 of the delegate");
    p = sum();
    p.method.outputs[0] = 99;
    refuses(&p, HONE_BAD_FORMAT, "output 0 of method 'forward' is value 99 of 3");
    p = sum();
    p.method.calls[0].arguments[1] = 99;
    refuses(&p, HONE_BAD_FORMAT, "value 99 of 3");
    p = sum();
    p.method.calls[0].delegate = 7;
    refuses(&p, HONE_BAD_FORMAT, "calls delegate 7 of 1");
    p = sum();
    p.method.calls[0].count = 1;
    refuses(&p, HONE_BAD_FORMAT, "has 2 inputs and 1 outputs, but 1 arguments");
}

static void kinds_and_shapes_are_checked(void **state) {
    (void)state;
    made_program p = sum();
    p.delegates[0].calls[0].arguments[0] = 2; // a number for a tensor
    refuses(&p, HONE_BAD_FORMAT, "value 2 is not a tensor");
    p = sum();
    p.delegates[0].calls[0].arguments[3] = 2;
    refuses(&p, HONE_BAD_FORMAT, "its result is not a tensor");
    p = sum();
    p.delegates[0].values[3].dims[1] = 4;
    refuses(&p, HONE_BAD_FORMAT, "delegate 0, call 0 (aten.add.Tensor): it gives f32[2,3], but the file says f32[2,4]");
    p = sum();
    p.delegates[0].values[1].dims[1] = 4;
    refuses(&p, HONE_BAD_FORMAT, "input 1 of delegate 0 is f32[2,4], but is given f32[2,3]");
    p = sum();
    p.delegates[0].values[0].dims[0] = UINT32_MAX;
    refuses(&p, HONE_BAD_FORMAT, "4294967295");
    p = sum();
    p.delegates[0].values[0].rank = 5;
    for (int d = 0; d < 5; d++) p.delegates[0].values[0].dims[d] = 1 << 30;
    refuses(&p, HONE_BAD_FORMAT, "too many elements");
    p = sum();
    p.delegates[0].values[0].dtype = 99;
    refuses(&p, HONE_UNSUPPORTED, "hone has no form for");
    p = sum();
    p.method.values[0].dtype = 2;
    refuses(&p, HONE_UNSUPPORTED, "i16");
    p = sum();
    p.delegates[0].input_count = 1; // y is never made
    p.method.calls[0].arguments[1] = p.method.calls[0].arguments[2];
    p.method.calls[0].count = 2;
    refuses(&p, HONE_BAD_FORMAT, "value 1 is read before a call has made it");
}

static void operators_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *name, *words;
    } refused[] = {
        {"aten.convolution.default", "aten.convolution.default (convolutions are not supported)"},
        {"et_vk.q8ta_add.default", "(activations in 8 bits are not supported)"},
        {"aten.upsample_nearest2d.vec", "(up-sampling is not supported)"},
        {"aten.native_group_norm.default", "(group norm is not supported)"},
        {"aten.nonsense.default", "aten.nonsense.default (they are not among the operators of hone)"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        made_program p = sum();
        p.delegates[0].calls[0].name = refused[i].name;
        refuses(&p, HONE_UNSUPPORTED, refused[i].words);
    }
    made_program p = sum();
    MADE_KERNEL(&p.method, "aten::nonsense", "out", 0, 1, 2, 2);
    refuses(&p, HONE_UNSUPPORTED, "aten::nonsense.out");
}

static void constants_are_checked(void **state) {
    (void)state;
    for (int named = 0; named < 2; named++) {
        const float data[6] = {1, 2, 3, 4, 5, 6};
        made_program p = sum();
        p.named = named;
        p.delegates[0].input_count = 1;
        p.method.calls[0].arguments[1] = p.method.calls[0].arguments[2];
        p.method.calls[0].count = 2;
        p.method.input_count = 1;
        made_constant(&p, &p.delegates[0], 1, data, sizeof data);
        hone_error error = {0};
        if (use_made(&p, &error) != HONE_OK) fail_msg("%s", error.message);
        p.constants[0].bytes -= 4;
        refuses(&p, HONE_BAD_FORMAT, "which takes 24 bytes, but has 20");
        p.constants[0].bytes = (size_t)1 << 40;
        if (!named) refuses(&p, HONE_BAD_FORMAT, "beyond");
        p.constants[0].bytes = sizeof data;
        p.delegates[0].values[1].constant = 3;
        refuses(&p, HONE_BAD_FORMAT, "is constant 3 of 1");
        p.delegates[0].values[1].constant = -2;
        refuses(&p, HONE_BAD_FORMAT, "is constant -2 of 1");
    }
}

// Many constants over the same bytes would be much memory from a small file.
static void overlapping_constants_are_refused(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    uint8_t data[3000] = {0};
    const int first = made_tensor(g, 0, 1, MADE_DIMS(3000));
    made_constant(&p, g, first, data, sizeof data);
    int64_t list[MADE_ITEMS];
    for (int i = 0; i < 15; i++) {
        const int tensor = made_tensor(g, 0, 1, MADE_DIMS((uint32_t)(3000 - i)));
        p.constants[p.constant_count].bytes = (size_t)(3000 - i);
        g->values[tensor].constant = p.constant_count++;
        list[i] = tensor;
        if (p.constant_count == MADE_ITEMS) break;
    }
    const int all = made_list(g, 10, list), dim = made_integer(g, 0);
    const int out = made_tensor(g, 0, 1, MADE_DIMS(29955));
    MADE_CALL(g, "aten.cat.default", all, dim, out);
    made_output(g, out);
    made_wrap(&p);
    refuses(&p, HONE_BAD_FORMAT, "its constants overlap");
}

static void lists_are_checked(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 2, 3);
    const int64_t items[2] = {x, 77};
    const int list = made_list(g, 2, items), dim = made_integer(g, 0), out = MADE_F32(g, 4, 3);
    MADE_CALL(g, "aten.cat.default", list, dim, out);
    made_input(g, x);
    made_output(g, out);
    made_wrap(&p);
    refuses(&p, HONE_BAD_FORMAT, "value 77 is named");
    g->values[list].items[1] = list; // a list within itself
    refuses(&p, HONE_BAD_FORMAT, "is not a tensor");
    g->values[list].items[1] = -1;
    refuses(&p, HONE_BAD_FORMAT, "tensor 1 of its list is missing");
    g->values[list].items[1] = x;
    hone_error error = {0};
    if (use_made(&p, &error) != HONE_OK) fail_msg("%s", error.message);
}

// A count that only repeats one offset would be much memory from few bytes.
static void claimed_counts_are_compared_with_the_bytes(void **state) {
    (void)state;
    enum { COUNT = 1 << 18 };
    const size_t size = 64 + 4 * (size_t)COUNT;
    uint8_t *const bytes = calloc(1, size);
    // root at 28 with fields at 16: only field 1, the methods, is there.
    const uint32_t head[] = {28, 0, 0, 0};
    const uint16_t fields[] = {8, 8, 0, 4};
    const int32_t back = 28 - 16;
    const uint32_t list[] = {4, COUNT};
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + 4, "ET12", 4);
    memcpy(bytes + 16, fields, sizeof fields);
    memcpy(bytes + 28, &back, 4);
    memcpy(bytes + 32, list, sizeof list);
    hone_error error = {0};
    const size_t before = hone_memory_counted().bytes;
    assert_int_equal(use(bytes, size, &error), HONE_BAD_FORMAT);
    if (!strstr(error.message, "claims 262144 methods")) fail_msg("%s", error.message);
    assert_true(hone_memory_counted().peak_bytes - before < (size_t)64 << 20);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere_it_is_refused),
        cmocka_unit_test(flipped_bits_are_survived),
        cmocka_unit_test(awkward_words_are_survived),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(numbers_of_values_are_checked),
        cmocka_unit_test(kinds_and_shapes_are_checked),
        cmocka_unit_test(operators_are_refused_by_name),
        cmocka_unit_test(constants_are_checked),
        cmocka_unit_test(overlapping_constants_are_refused),
        cmocka_unit_test(lists_are_checked),
        cmocka_unit_test(claimed_counts_are_compared_with_the_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
