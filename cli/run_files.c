// SPDX-License-Identifier: Apache-2.0
// The files of hone run: which ones its calls read and write. All that can be wrong with them is found before the first call.
#include "run.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "formats/npy.h"

// --- files in a folder ----------------------------------------------------------------------------------------------

static hone_status calls_path(running *r, int64_t step, size_t index, hone_error *error) {
    hone_text_clear(&r->path);
    if (r->step_files) {
        hone_text_print(&r->path, "%s/in_%" PRId64 "_%zu.npy", r->settings->calls, step, index);
    } else {
        hone_text_print(&r->path, "%s/in_%zu.npy", r->settings->calls, index);
    }
    return hone_text_status(&r->path, error);
}

// A number as it is printed, without leading zeros.
static bool take_number(const char **text, int64_t *out) {
    const char *at = *text;
    if (*at < '0' || *at > '9' || (at[0] == '0' && at[1] >= '0' && at[1] <= '9')) return false;
    for (*out = 0; *at >= '0' && *at <= '9'; at++) {
        if (*out > INT64_MAX / 16) return false;
        *out = *out * 10 + (*at - '0');
    }
    *text = at;
    return true;
}

// in_<i>.npy gives step -1.
static bool parse_name(const char *name, int64_t *step, int64_t *index) {
    *step = -1;
    if (strncmp(name, "in_", 3) != 0) return false;
    name += 3;
    if (!take_number(&name, index)) return false;
    if (*name == '_') {
        *step = *index;
        name++;
        if (!take_number(&name, index)) return false;
    }
    return strcmp(name, ".npy") == 0;
}

static bool is_input_like(const char *name) {
    const size_t length = strlen(name);
    return strncmp(name, "in_", 3) == 0 && length > 4 && strcmp(name + length - 4, ".npy") == 0;
}

typedef struct found_files {
    int64_t single, stepped; // files of either form
    int64_t last_step;
} found_files;

static hone_status note_file(running *r, const char *name, found_files *found, hone_error *error) {
    const char *const folder = r->settings->calls;
    int64_t step = 0, index = 0;
    if (!is_input_like(name)) return HONE_OK;
    HONE_FAIL_IF(
        !parse_name(name, &step, &index), error, INVALID_ARGUMENT,
        "'%s/%s' is neither in_<i>.npy nor in_<step>_<i>.npy, numbers without leading zeros: rename it or take "
        "it away",
        folder, name);
    HONE_FAIL_IF((uint64_t)index >= r->input_count, error, MISMATCH,
                 "'%s/%s' is for input %" PRId64 ", but the program takes %zu, numbered from 0", folder, name, index,
                 r->input_count);
    if (step < 0) {
        found->single++;
    } else {
        found->stepped++;
        if (step > found->last_step) found->last_step = step;
    }
    HONE_FAIL_IF(found->single > 0 && found->stepped > 0, error, INVALID_ARGUMENT,
                 "'%s' holds both in_<i>.npy, for one call, and in_<step>_<i>.npy, for several: take one form away",
                 folder);
    return HONE_OK;
}

static hone_status list_folder(running *r, found_files *found, hone_error *error) {
    const char *const folder = r->settings->calls;
    HONE_FAIL_IF(!hone_path_is_folder(folder), error, NOT_FOUND, "'%s' is not a folder", folder);
    DIR *const directory = opendir(folder);
    HONE_FAIL_IF(!directory, error, IO, "the folder '%s' cannot be read", folder);
    hone_status status = HONE_OK;
    for (const struct dirent *entry; status == HONE_OK && (entry = readdir(directory));)
        status = note_file(r, entry->d_name, found, error);
    closedir(directory);
    return status;
}

// Names differ, so that only the count has to be right; else the first one that is not there is looked for.
static hone_status check_all_there(running *r, const found_files *found, hone_error *error) {
    const int64_t inputs = (int64_t)r->input_count;
    const int64_t files = found->single + found->stepped;
    if (files % (inputs ? inputs : 1) == 0 && files / (inputs ? inputs : 1) == r->calls) return HONE_OK;
    for (int64_t step = 0; step < r->calls; step++) {
        for (size_t i = 0; i < r->input_count; i++) {
            HONE_TRY(calls_path(r, step, i, error));
            if (hone_path_exists(r->path.bytes)) continue;
            HONE_FAIL_IF(files == 0, error, NOT_FOUND, "'%s' holds no inputs: neither in_0.npy nor in_0_0.npy",
                         r->settings->calls);
            if (r->step_files)
                HONE_FAIL(error, NOT_FOUND,
                          "'%s' is missing: the calls go up to in_%" PRId64 "_*.npy, with %zu inputs each",
                          r->path.bytes, found->last_step, r->input_count);
            HONE_FAIL(error, NOT_FOUND, "'%s' is missing: the program takes %zu inputs", r->path.bytes, r->input_count);
        }
    }
    return HONE_OK;
}

static hone_status count_calls(running *r, hone_error *error) {
    found_files found = {.last_step = -1};
    HONE_TRY(list_folder(r, &found, error));
    r->step_files = found.stepped > 0;
    r->calls = r->step_files ? found.last_step + 1 : 1;
    return r->input_count > 0 ? check_all_there(r, &found, error) : HONE_OK;
}

// --- files by --input -------------------------------------------------------------------------------------------------

// NAME=FILE: *index becomes the input of that name, input_count where there is none, as for a path with "=".
static const char *named_input(const running *r, const char *text, size_t *index) {
    const char *const equals = strchr(text, '=');
    for (*index = 0; equals && *index < r->input_count; ++*index) {
        const char *const name = hone_pte_input(r->pte, *index)->name;
        const size_t length = (size_t)(equals - text);
        if (strlen(name) == length && strncmp(name, text, length) == 0) return equals + 1;
    }
    *index = r->input_count;
    return text;
}

static hone_status refuse_name(const running *r, const char *text, hone_error *error) {
    hone_text names = {0};
    for (size_t i = 0; i < r->input_count; i++)
        hone_text_print(&names, "%s%.80s", i ? ", " : "", hone_pte_input(r->pte, i)->name);
    hone_status status = hone_text_status(&names, error);
    if (status == HONE_OK)
        status = hone_error_set(
            error, HONE_INVALID_ARGUMENT,
            "--input %.200s: there is no such file, and the program has no input of that name: it has %s", text,
            names.bytes ? names.bytes : "none");
    hone_text_clear(&names);
    return status;
}

// First those by name; the others are the inputs that are left, in order.
static hone_status assign_paths(running *r, hone_error *error) {
    const cli_texts *const texts = &r->settings->inputs;
    HONE_FAIL_IF(texts->count > r->input_count, error, INVALID_ARGUMENT,
                 "%zu inputs are given, but the program takes %zu", texts->count, r->input_count);
    size_t index;
    for (size_t i = 0; i < texts->count; i++) {
        const char *const path = named_input(r, texts->items[i], &index);
        if (index == r->input_count) continue;
        HONE_FAIL_IF(path[0] == 0, error, INVALID_ARGUMENT, "--input %.200s names no file: give NAME=FILE.npy",
                     texts->items[i]);
        HONE_FAIL_IF(r->paths[index], error, INVALID_ARGUMENT, "input %zu (%s) is given twice, as '%s' and as '%s'",
                     index, hone_pte_input(r->pte, index)->name, r->paths[index], path);
        r->paths[index] = path;
    }
    size_t place = 0;
    for (size_t i = 0; i < texts->count; i++) {
        const char *const path = named_input(r, texts->items[i], &index);
        if (index < r->input_count) continue;
        if (strchr(path, '=') && !hone_path_exists(path)) return refuse_name(r, path, error);
        while (r->paths[place]) place++; // there are no more texts than inputs
        r->paths[place] = path;
    }
    for (size_t i = 0; i < r->input_count; i++) {
        HONE_FAIL_IF(!r->paths[i], error, INVALID_ARGUMENT, "input %zu (%s) of %zu is missing: give --input FILE.npy",
                     i, hone_pte_input(r->pte, i)->name, r->input_count);
    }
    return HONE_OK;
}

hone_status run_find_inputs(running *r, hone_error *error) {
    r->calls = 1;
    if (r->settings->calls) return count_calls(r, error);
    const hone_status status = assign_paths(r, error);
    r->misused = status == HONE_INVALID_ARGUMENT;
    return status;
}

// --- what is written --------------------------------------------------------------------------------------------------

static hone_status output_path(running *r, int64_t step, size_t index, hone_error *error) {
    hone_text_clear(&r->path);
    if (r->step_files) {
        hone_text_print(&r->path, "%s%" PRId64 "_%zu.npy", r->settings->output, step, index);
    } else {
        hone_text_print(&r->path, "%s%zu.npy", r->settings->output, index);
    }
    return hone_text_status(&r->path, error);
}

typedef struct file_identity {
    dev_t device;
    ino_t inode;
} file_identity;

static int by_identity(const void *a, const void *b) {
    const file_identity *const x = a, *const y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

static bool identify(const char *path, file_identity *out) {
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    *out = (file_identity){.device = info.st_dev, .inode = info.st_ino};
    return true;
}

// The program and the inputs of all calls, sorted.
static hone_status list_read(running *r, file_identity **out, size_t *count, hone_error *error) {
    size_t files = 0;
    *count = 0;
    HONE_FAIL_IF(!hone_mul_size((size_t)r->calls, r->input_count, &files), error, OUT_OF_MEMORY, "too many calls");
    HONE_TRY(HONE_NEW_ARRAY(out, files + 1, "the files that are read", error));
    *count += identify(r->program, &(*out)[*count]);
    for (int64_t step = 0; step < r->calls; step++) {
        for (size_t i = 0; i < r->input_count; i++) {
            if (r->settings->calls) HONE_TRY(calls_path(r, step, i, error));
            *count += identify(r->settings->calls ? r->path.bytes : r->paths[i], &(*out)[*count]);
        }
    }
    if (*count > 0) qsort(*out, *count, sizeof **out, by_identity);
    return HONE_OK;
}

static hone_status check_overwriting(const char *path, const file_identity *read, size_t count, const char *option,
                                     hone_error *error) {
    file_identity own;
    HONE_FAIL_IF(identify(path, &own) && count > 0 && bsearch(&own, read, count, sizeof own, by_identity), error,
                 INVALID_ARGUMENT, "--%s would write over '%s', which is read: give another place", option, path);
    return HONE_OK;
}

// A name that a later run with --calls would take for an input.
static hone_status check_names(running *r, const char *folder, const char *base, hone_error *error) {
    file_identity a, b;
    struct stat x, y;
    if (!r->settings->calls || strncmp(base, "in_", 3) != 0) return HONE_OK;
    if (stat(folder, &x) != 0 || stat(r->settings->calls, &y) != 0) return HONE_OK;
    a = (file_identity){x.st_dev, x.st_ino};
    b = (file_identity){y.st_dev, y.st_ino};
    HONE_FAIL_IF(by_identity(&a, &b) == 0, error, INVALID_ARGUMENT,
                 "--output %s writes into the folder of the inputs, under their names: give another place",
                 r->settings->output);
    return HONE_OK;
}

// hone_free the result.
static hone_status output_folder(const running *r, char **out, hone_error *error) {
    const char *const prefix = r->settings->output;
    const char *const slash = strrchr(prefix, '/');
    return hone_copy_string(slash ? prefix : ".", slash ? (size_t)(slash - prefix) + 1 : 1, out, error);
}

static hone_status check_prefix(running *r, hone_error *error) {
    const char *const prefix = r->settings->output;
    const char *const slash = strrchr(prefix, '/');
    char *folder = NULL;
    HONE_TRY(output_folder(r, &folder, error));
    hone_status status = HONE_OK;
    if (!hone_path_is_folder(folder))
        status = hone_error_set(error, HONE_NOT_FOUND, "--output %s: the folder '%s' does not exist", prefix, folder);
    if (status == HONE_OK) status = check_names(r, folder, slash ? slash + 1 : prefix, error);
    hone_free(folder);
    return status;
}

// A file can be made there. What is no regular file (a pipe) is left alone: to open it may have an effect.
static hone_status check_writable(const char *path, hone_error *error) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return HONE_OK;
    hone_output *output;
    HONE_TRY(hone_output_create(path, &output, error));
    hone_output_abandon(&output);
    return HONE_OK;
}

static hone_status check_written(running *r, const file_identity *read, size_t count, hone_error *error) {
    if (r->settings->save) HONE_TRY(check_overwriting(r->settings->save, read, count, "save", error));
    for (int64_t step = 0; step < r->calls && r->settings->output; step++) {
        for (size_t i = 0; i < r->output_count; i++) {
            HONE_TRY(output_path(r, step, i, error));
            HONE_TRY(check_overwriting(r->path.bytes, read, count, "output", error));
            HONE_FAIL_IF(r->settings->save && strcmp(r->settings->save, r->path.bytes) == 0, error, INVALID_ARGUMENT,
                         "--save and --output both write '%s': give another place", r->settings->save);
        }
    }
    return HONE_OK;
}

hone_status run_check_outputs(running *r, hone_error *error) {
    const run_settings *const s = r->settings;
    file_identity *read = NULL;
    size_t count;
    if (!s->output && !s->save) return HONE_OK;
    hone_status status = s->output ? check_prefix(r, error) : HONE_OK;
    if (status == HONE_OK) status = list_read(r, &read, &count, error);
    if (status == HONE_OK) status = check_written(r, read, count, error);
    hone_free(read);
    r->misused = status == HONE_INVALID_ARGUMENT;
    HONE_TRY(status);
    if (s->output && r->output_count > 0) {
        HONE_TRY(output_path(r, 0, 0, error));
        HONE_TRY(check_writable(r->path.bytes, error));
    }
    if (!s->save) return HONE_OK;
    HONE_TRY(check_writable(s->save, error));
    return hone_pte_check_save(r->pte, error);
}

// --- one call -----------------------------------------------------------------------------------------------------------

hone_status run_read_inputs(running *r, int64_t step, hone_error *error) {
    for (size_t i = 0; i < r->input_count; i++) {
        if (r->settings->calls) HONE_TRY(calls_path(r, step, i, error));
        hone_free(r->inputs[i].data);
        r->inputs[i].data = NULL;
        HONE_TRY(hone_npy_read(r->settings->calls ? r->path.bytes : r->paths[i], &r->inputs[i], error));
    }
    return HONE_OK;
}

hone_status run_write_outputs(running *r, int64_t step, hone_error *error) {
    for (size_t i = 0; i < r->output_count && r->settings->output; i++) {
        HONE_TRY(output_path(r, step, i, error));
        HONE_TRY(hone_npy_write_one_of_many(r->path.bytes, &r->outputs[i], error));
    }
    return HONE_OK;
}

hone_status run_sync_outputs(const running *r, hone_error *error) {
    char *folder = NULL;
    if (!r->settings->output) return HONE_OK;
    HONE_TRY(output_folder(r, &folder, error));
    const hone_status status = hone_folder_sync(folder, error);
    hone_free(folder);
    return status;
}
