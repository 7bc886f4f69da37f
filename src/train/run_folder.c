// SPDX-License-Identifier: Apache-2.0
// Creating, resuming, saving and, where nothing came of it, removing a run's folder.
#include "train/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define STATE       "state.hone"
#define METRICS     "metrics.jsonl"
#define REPORT      "report.html"
#define STATE_BYTES ((uint64_t)1 << 40) // no state is larger

static void remove_within(const hone_run_folder *folder, const char *name) {
    char *path = NULL;
    if (hone_path_join(folder->path, name, &path, NULL) == HONE_OK) unlink(path);
    hone_free(path);
}

// NAME.tmp and a number, where NAME is one that a run has: what a killed process had begun.
static bool is_leftover(const char *name) {
    static const char *const names[] = {STATE, REPORT, "adapter.gguf", "adapter_model.safetensors",
                                        "adapter_config.json"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i]);
        if (strncmp(name, names[i], length) == 0 && strncmp(name + length, ".tmp", 4) == 0) return true;
    }
    return false;
}

// Whether the folder is what a run leaves that ended before anything was saved: metrics, and nothing that is somebody else's.
static bool is_unsaved_run(const char *path) {
    bool metrics = false, other = false;
    DIR *const directory = opendir(path);
    if (!directory) return false;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        const char *const name = entry->d_name;
        if (strcmp(name, METRICS) == 0)
            metrics = true;
        else if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !is_leftover(name))
            other = true;
    }
    closedir(directory);
    return metrics && !other;
}

#define MAY_BE_DELETED "it may be deleted, unless a run is going on in it"

static hone_status refuse_existing(const char *path, bool state, hone_error *error) {
    HONE_FAIL_IF(state, error, EXISTS, "'%s' exists already: choose another -o, or --resume to go on", path);
    HONE_FAIL_IF(is_unsaved_run(path), error, EXISTS,
                 "'%s' exists already, but nothing was saved there: " MAY_BE_DELETED ", or choose another -o", path);
    HONE_FAIL(error, EXISTS, "'%s' exists already%s: choose another -o", path,
              hone_path_is_folder(path) ? ", without a state.hone to resume from" : "");
}

static hone_status refuse_unsaved(const char *path, hone_error *error) {
    HONE_FAIL(error, NOT_FOUND, "'%s' has no " STATE " to resume from: nothing was saved there; %s", path,
              is_unsaved_run(path) ? MAY_BE_DELETED : "choose another -o, without --resume, to begin a run");
}

hone_status hone_run_folder_check(const char *path, bool resume, hone_error *error) {
    HONE_FAIL_IF(resume && !hone_path_is_folder(path), error, NOT_FOUND,
                 "'%s' is no run to resume: there is no such folder; leave --resume out to begin one", path);
    if (!resume && !hone_path_exists(path)) return HONE_OK;
    char *state = NULL;
    HONE_TRY(hone_path_join(path, STATE, &state, error));
    const bool there = hone_path_exists(state);
    hone_free(state);
    if (!resume) return refuse_existing(path, there, error);
    return there ? HONE_OK : refuse_unsaved(path, error);
}

static hone_status allocate(const char *path, hone_run_folder **out, hone_error *error) {
    hone_run_folder *folder = NULL;
    HONE_TRY(HONE_NEW(&folder, "a run", error));
    folder->saved_step = -1;
    hone_status status = hone_copy_string(path, strlen(path), &folder->path, error);
    if (status == HONE_OK) status = hone_path_join(path, STATE, &folder->state, error);
    if (status == HONE_OK) {
        *out = folder;
    } else {
        hone_run_folder_close(folder);
    }
    return status;
}

static hone_status start_metrics(hone_run_folder *folder, int64_t step, hone_error *error) {
    char *path = NULL;
    HONE_TRY(hone_path_join(folder->path, METRICS, &path, error));
    const hone_status status = step < 0 ? hone_metrics_create(path, &folder->metrics, error)
                                        : hone_metrics_resume(path, step, &folder->metrics, error);
    hone_free(path);
    return status;
}

hone_status hone_run_folder_create(const char *path, hone_run_folder **out, hone_error *error) {
    *out = NULL;
    HONE_TRY(hone_run_folder_check(path, false, error));
    hone_run_folder *folder = NULL;
    HONE_TRY(allocate(path, &folder, error));
    hone_status status = hone_folder_create(path, error);
    folder->created = status == HONE_OK;
    if (status == HONE_OK) status = start_metrics(folder, -1, error);
    if (status == HONE_OK) {
        *out = folder;
    } else {
        hone_run_folder_close(folder);
    }
    return status;
}

static void remove_leftovers(const hone_run_folder *folder) {
    DIR *const directory = opendir(folder->path);
    if (!directory) return;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (is_leftover(entry->d_name)) remove_within(folder, entry->d_name);
    }
    closedir(directory);
}

hone_status hone_run_folder_resume(const char *path, int64_t step, hone_run_folder **out, hone_error *error) {
    *out = NULL;
    HONE_TRY(hone_run_folder_check(path, true, error));
    hone_run_folder *folder = NULL;
    HONE_TRY(allocate(path, &folder, error));
    folder->saved_step = step;
    const hone_status status = start_metrics(folder, step, error);
    if (status == HONE_OK) {
        remove_leftovers(folder); // now that nobody else writes here
        *out = folder;
    } else {
        hone_run_folder_close(folder);
    }
    return status;
}

// --- older states -----------------------------------------------------------------------------------------------------

// The step in "state-STEP.hone", -1 for any other name.
static int64_t step_of(const char *name) {
    int64_t step = -1;
    char again[64];
    if (sscanf(name, "state-%" SCNd64 ".hone", &step) != 1 || step < 0) return -1;
    snprintf(again, sizeof again, "state-%" PRId64 ".hone", step);
    return strcmp(again, name) == 0 ? step : -1;
}

static hone_status copy_file(const char *from, const char *to, hone_error *error) {
    char *bytes = NULL;
    size_t size = 0;
    HONE_TRY(hone_file_read_all(from, STATE_BYTES, &bytes, &size, error));
    const hone_status status = hone_file_write_all(to, bytes, size, error);
    hone_free(bytes);
    return status;
}

// Gives the state that is about to be replaced a second name; where the file system has no hard links, a copy.
static hone_status keep_state(const hone_run_folder *folder, hone_error *error) {
    char name[64];
    char *path = NULL;
    snprintf(name, sizeof name, "state-%" PRId64 ".hone", folder->saved_step);
    HONE_TRY(hone_path_join(folder->path, name, &path, error));
    hone_status status = HONE_OK;
    if (link(folder->state, path) != 0 && errno != EEXIST) status = copy_file(folder->state, path, error);
    hone_free(path);
    return status;
}

static int compare_steps(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y); // newest first
}

// Removes all but the newest `keep` of the numbered states.
static hone_status prune_states(const hone_run_folder *folder, size_t keep, hone_error *error) {
    DIR *const directory = opendir(folder->path);
    if (!directory) return hone_error_system(error, errno, "cannot list '%s'", folder->path);
    int64_t *steps = NULL;
    size_t count = 0, capacity = 0;
    hone_status status = HONE_OK;
    for (const struct dirent *entry; status == HONE_OK && (entry = readdir(directory));) {
        const int64_t step = step_of(entry->d_name);
        if (step < 0) continue;
        status = HONE_GROW(&steps, &capacity, count + 1, "a list of states", error);
        if (status == HONE_OK) steps[count++] = step;
    }
    closedir(directory);
    if (count > 0) qsort(steps, count, sizeof steps[0], compare_steps);
    for (size_t i = keep; status == HONE_OK && i < count; i++) {
        char name[64];
        char *path = NULL;
        snprintf(name, sizeof name, "state-%" PRId64 ".hone", steps[i]);
        status = hone_path_join(folder->path, name, &path, error);
        if (path) unlink(path);
        hone_free(path);
    }
    hone_free(steps);
    return status;
}

// --- saving -------------------------------------------------------------------------------------------------------------

static hone_status save_state(hone_run_folder *folder, hone_trainer *trainer, int keep, hone_error *error) {
    const int64_t step = hone_trainer_done_steps(trainer);
    if (step <= folder->saved_step) return HONE_OK; // nothing has changed since; less after the loss of the device
    if (keep > 1 && folder->saved_step >= 0) HONE_TRY(keep_state(folder, error));
    HONE_TRY(hone_trainer_save_state(trainer, folder->state, error));
    folder->saved_step = step;
    return prune_states(folder, (size_t)(keep > 1 ? keep - 1 : 0), error);
}

hone_status hone_run_folder_save(hone_run_folder *folder, hone_trainer *trainer, const hone_report *report, int keep,
                                 bool last, hone_error *error) {
    HONE_TRY(hone_metrics_sync(folder->metrics, error));
    HONE_TRY(save_state(folder, trainer, keep, error));
    char *path = NULL;
    HONE_TRY(hone_path_join(folder->path, REPORT, &path, error));
    hone_status status = hone_report_write(path, report, error);
    hone_free(path);
    HONE_TRY(status);
    status = hone_trainer_save_adapter(trainer, folder->path, error);
    return status == HONE_BAD_DATA && !last ? HONE_OK : status;
}

void hone_run_folder_close(hone_run_folder *folder) {
    if (!folder) return;
    hone_metrics_close(folder->metrics);
    if (folder->created && folder->saved_step < 0) {
        remove_within(folder, METRICS);
        (void)rmdir(folder->path); // refused where somebody has put something in: then it stays
    }
    hone_free(folder->state);
    hone_free(folder->path);
    hone_free(folder);
}
