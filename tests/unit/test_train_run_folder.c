// SPDX-License-Identifier: Apache-2.0
// The run folder's beginnings and ends, and rows held out for validation.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "train/holdout.h"
#include "train/run_folder.h"

static char old_folder[4096];
static char folder[] = "/tmp/hone_run_XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    return !getcwd(old_folder, sizeof old_folder) || !mkdtemp(folder) || chdir(folder) != 0;
}

static int leave_folder(void **state) {
    (void)state;
    return chdir(old_folder) != 0 || rmdir(folder) != 0;
}

static void an_empty_run_leaves_nothing(void **state) {
    (void)state;
    hone_run_folder *run = NULL;
    hone_error error = {0};
    assert_int_equal(hone_run_folder_create("run", &run, NULL), HONE_OK);
    assert_true(hone_path_exists("run/metrics.jsonl"));
    assert_int_equal(hone_run_folder_check("run", false, &error), HONE_EXISTS);
    assert_string_equal(error.message,
                        "'run' exists already, but nothing was saved there: it may be deleted, unless a run "
                        "is going on in it, or choose another -o");
    assert_int_equal(hone_run_folder_check("run", true, &error), HONE_NOT_FOUND);
    assert_non_null(strstr(error.message, "state.hone"));
    hone_run_folder_close(run);
    assert_false(hone_path_exists("run"));
    assert_int_equal(hone_run_folder_check("run", false, NULL), HONE_OK);
    assert_int_equal(hone_run_folder_check("run", true, NULL), HONE_NOT_FOUND);
    hone_run_folder_close(NULL);
}

static void what_others_put_there_stays(void **state) {
    (void)state;
    hone_run_folder *run = NULL;
    assert_int_equal(hone_run_folder_create("run", &run, NULL), HONE_OK);
    assert_int_equal(hone_file_write_all("run/notes", "x", 1, NULL), HONE_OK);
    hone_run_folder_close(run);
    assert_true(hone_path_exists("run/notes"));
    hone_error error = {0};
    assert_int_equal(hone_run_folder_check("run", false, &error), HONE_EXISTS); // which nobody is told to delete
    assert_string_equal(error.message, "'run' exists already, without a state.hone to resume from: choose another -o");
    assert_false(hone_path_exists("run/metrics.jsonl"));
    unlink("run/notes");
    rmdir("run");
}

static void resuming_clears_what_a_killed_process_left(void **state) {
    (void)state;
    static const char *const kept[] = {"run/state.hone", "run/adapter.gguf", "run/state.tmp1", "run/my.tmp1"};
    static const char *const gone[] = {"run/state.hone.tmp123", "run/adapter.gguf.tmp7-1", "run/report.html.tmp9"};
    assert_int_equal(hone_folder_create("run", NULL), HONE_OK);
    for (int i = 0; i < 4; i++) assert_int_equal(hone_file_write_all(kept[i], "x", 1, NULL), HONE_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(hone_file_write_all(gone[i], "x", 1, NULL), HONE_OK);
    hone_run_folder *run = NULL;
    assert_int_equal(hone_run_folder_resume("run", 3, &run, NULL), HONE_OK);
    hone_run_folder_close(run);
    for (int i = 0; i < 3; i++) assert_false(hone_path_exists(gone[i]));
    for (int i = 0; i < 4; i++) {
        assert_true(hone_path_exists(kept[i]));
        unlink(kept[i]);
    }
    unlink("run/metrics.jsonl");
    rmdir("run");
}

static void folder_that_cannot_be(void **state) {
    (void)state;
    hone_run_folder *run = NULL;
    hone_error error = {0};
    assert_int_equal(hone_run_folder_create("missing/run", &run, &error), HONE_NOT_FOUND);
    assert_null(run);
    assert_non_null(strstr(error.message, "missing/run"));
}

// --- held-out rows ----------------------------------------------------------------------------------------------------

// Row i has i % 5 + 2 tokens, all of them 1000 * i + place.
static hone_dataset *make_data(size_t rows) {
    hone_dataset *data = NULL;
    assert_int_equal(HONE_NEW(&data, "data", NULL), HONE_OK);
    assert_int_equal(HONE_NEW_ARRAY(&data->rows, rows, "rows", NULL), HONE_OK);
    assert_int_equal(HONE_NEW_ARRAY(&data->ids, rows * 6, "ids", NULL), HONE_OK);
    assert_int_equal(HONE_NEW_ARRAY(&data->labels, rows * 6, "labels", NULL), HONE_OK);
    assert_int_equal(hone_copy_string("data.jsonl", 10, &data->name, NULL), HONE_OK);
    for (size_t i = 0; i < rows; i++) {
        const size_t length = i % 5 + 2;
        data->rows[i] =
            (hone_dataset_row){.first = data->token_count, .length = length, .supervised = length - 1, .line = i + 1};
        for (size_t t = 0; t < length; t++) {
            data->ids[data->token_count] = (int32_t)(1000 * i + t);
            data->labels[data->token_count++] = t ? (int32_t)(1000 * i + t) : HONE_NOT_TRAINED;
        }
        data->statistics.supervised += length - 1;
    }
    data->row_count = data->statistics.rows = data->statistics.used = rows;
    data->statistics.tokens = data->token_count;
    return data;
}

static void check_rows(const hone_dataset *data, uint8_t *seen) {
    size_t first = 0, supervised = 0;
    for (size_t i = 0; i < data->row_count; i++) {
        const hone_dataset_row *const row = &data->rows[i];
        const size_t was = (size_t)row->line - 1;
        assert_int_equal(seen[was]++, 0);
        assert_true(i == 0 || row->line > data->rows[i - 1].line);
        assert_int_equal(row->first, first);
        assert_int_equal(row->length, was % 5 + 2);
        for (size_t t = 0; t < row->length; t++) {
            assert_int_equal(data->ids[first + t], 1000 * was + t);
            assert_int_equal(data->labels[first + t], t ? (int)(1000 * was + t) : HONE_NOT_TRAINED);
        }
        first += row->length;
        supervised += row->supervised;
    }
    assert_int_equal(data->token_count, first);
    assert_int_equal(data->statistics.tokens, first);
    assert_int_equal(data->statistics.supervised, supervised);
    assert_int_equal(data->statistics.used, data->row_count);
}

static void rows_are_held_out(void **state) {
    (void)state;
    const struct {
        size_t rows, held;
        double fraction;
    } cases[] = {{100, 10, 0.1}, {3, 1, 0.01}, {3, 2, 0.99}, {2, 1, 0.5}, {457, 46, 0.1}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        hone_dataset *const data = make_data(cases[c].rows);
        hone_dataset *held = NULL;
        uint8_t seen[500] = {0};
        assert_int_equal(hone_dataset_hold_out(data, cases[c].fraction, 7, &held, NULL), HONE_OK);
        assert_int_equal(held->row_count, cases[c].held);
        assert_int_equal(data->row_count, cases[c].rows - cases[c].held);
        check_rows(data, seen);
        check_rows(held, seen);
        for (size_t i = 0; i < cases[c].rows; i++) assert_int_equal(seen[i], 1);
        hone_dataset_destroy(held);
        hone_dataset_destroy(data);
    }
}

static void the_seed_decides(void **state) {
    (void)state;
    uint64_t first_lines[3];
    for (int i = 0; i < 3; i++) {
        hone_dataset *const data = make_data(400);
        hone_dataset *held = NULL;
        assert_int_equal(hone_dataset_hold_out(data, 0.1, i == 2 ? 8 : 7, &held, NULL), HONE_OK);
        first_lines[i] = 0;
        for (size_t r = 0; r < held->row_count; r++) first_lines[i] = first_lines[i] * 31 + held->rows[r].line;
        hone_dataset_destroy(held);
        hone_dataset_destroy(data);
    }
    assert_true(first_lines[0] == first_lines[1]);
    assert_true(first_lines[0] != first_lines[2]);
}

static void one_row_cannot_be_split(void **state) {
    (void)state;
    hone_dataset *const data = make_data(1);
    hone_dataset *held = NULL;
    assert_int_equal(hone_dataset_hold_out(data, 0.5, 7, &held, NULL), HONE_BAD_DATA);
    assert_null(held);
    assert_int_equal(data->row_count, 1);
    hone_dataset_destroy(data);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hone_dataset *const data = make_data(20);
    bool done = false;
    for (uint64_t n = 0; !done; n++) {
        hone_dataset *held = NULL;
        const hone_memory_count before = hone_memory_counted();
        hone_memory_fail_after(n, true);
        const hone_status status = hone_dataset_hold_out(data, 0.5, 7, &held, NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_true(status == HONE_OK || status == HONE_OUT_OF_MEMORY);
        assert_int_equal(data->row_count, status == HONE_OK ? 10 : 20);
        hone_dataset_destroy(held);
        assert_int_equal(hone_memory_counted().blocks, before.blocks);
        done = status == HONE_OK;
    }
    hone_dataset_destroy(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_run_leaves_nothing),
        cmocka_unit_test(what_others_put_there_stays),
        cmocka_unit_test(resuming_clears_what_a_killed_process_left),
        cmocka_unit_test(folder_that_cannot_be),
        cmocka_unit_test(rows_are_held_out),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(one_row_cannot_be_split),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
