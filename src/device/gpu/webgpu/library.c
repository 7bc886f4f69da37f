// SPDX-License-Identifier: Apache-2.0
// Finding libwgpu_native at run time: what HONE_WGPU names, or what `make install` has put beside hone, or what this build
// was made with, or the system's.
#define _GNU_SOURCE // dladdr, dlinfo
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/gpu/webgpu/internal.h"

#define WEBGPU_PATH 4096

// The version that a build's headers are of agrees with the library's in what a release may change: all but the last byte.
#define WEBGPU_SAME_VERSION(a, b) ((a) >> 16 == (b) >> 16)

// What to do about a library that cannot be used.
#define WEBGPU_NAME_ANOTHER "let HONE_WGPU name a libwgpu_native.so of version %u.%u%s"
#define WEBGPU_WANTED                                                                                                  \
    (unsigned)HONE_WGPU_VERSION >> 24, (unsigned)HONE_WGPU_VERSION >> 16 & 255, wanted ? ", or be unset" : ""

// Tries FOLDER/NAME for the folder of `file`; NULL if there is none.
static void *open_beside(const char *file, const char *name) {
    char path[WEBGPU_PATH];
    const char *const slash = strrchr(file, '/');
    if (!slash) return NULL;
    const int length = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - file), file, name);
    return length < (int)sizeof(path) && access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

// Beside libhone.so, or below the prefix of the program that contains libhone.
static void *open_installed(void) {
    static const char beside_library[] = "hone/libwgpu_native.so";
    static const char beside_program[] = "../" HONE_LIBRARY_FOLDER "/hone/libwgpu_native.so";
    static const char here;
    Dl_info info;
    void *library = NULL;
    if (dladdr(&here, &info) && info.dli_fname) library = open_beside(info.dli_fname, beside_library);
    if (library) return library;
    char program[WEBGPU_PATH];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0) return NULL;
    program[length] = 0;
    return open_beside(program, beside_program);
}

// What the loader has against a file, without the name that most of its messages begin with.
static const char *loader_reason(const char *path) {
    const char *const reason = dlerror();
    const size_t length = strlen(path);
    if (!reason) return "the loader does not say why";
    return strncmp(reason, path, length) == 0 && strncmp(reason + length, ": ", 2) == 0 ? reason + length + 2 : reason;
}

static hone_status open_library(webgpu_driver *gpu, const char *wanted, hone_error *error) {
    if (wanted) {
        gpu->library = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
        HONE_FAIL_IF(!gpu->library, error, NOT_FOUND,
                     "webgpu: HONE_WGPU=%.300s does not load: %.400s; " WEBGPU_NAME_ANOTHER, wanted,
                     loader_reason(wanted), WEBGPU_WANTED);
        return HONE_OK;
    }
    gpu->library = open_installed();
    if (!gpu->library) gpu->library = dlopen(HONE_WGPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!gpu->library) gpu->library = dlopen("libwgpu_native.so", RTLD_NOW | RTLD_LOCAL);
    HONE_FAIL_IF(!gpu->library, error, NOT_FOUND,
                 "webgpu: libwgpu_native.so is not installed; HONE_WGPU=/path/to/it names one");
    return HONE_OK;
}

// The library as the user knows it: what HONE_WGPU says, or the file that was found.
static void describe(const webgpu_driver *gpu, const char *wanted, char *out, size_t size) {
    struct link_map *map = NULL;
    if (wanted)
        snprintf(out, size, "HONE_WGPU=%.300s", wanted);
    else if (dlinfo(gpu->library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0])
        snprintf(out, size, "%.300s", map->l_name);
    else
        snprintf(out, size, "libwgpu_native.so");
}

hone_status webgpu_load(webgpu_driver *gpu, hone_error *error) {
    char name[320];
    const char *const given = getenv("HONE_WGPU");
    const char *const wanted = given && given[0] ? given : NULL;
    HONE_TRY(open_library(gpu, wanted, error));
    describe(gpu, wanted, name, sizeof(name));
    // The version first: another version may lack functions, which would be the lesser news.
    *(void **)&gpu->GetVersion = dlsym(gpu->library, "wgpuGetVersion");
    HONE_FAIL_IF(!gpu->GetVersion, error, UNSUPPORTED,
                 "webgpu: %s is not wgpu-native: it lacks wgpuGetVersion; " WEBGPU_NAME_ANOTHER, name, WEBGPU_WANTED);
    const uint32_t version = gpu->GetVersion();
    HONE_FAIL_IF(!WEBGPU_SAME_VERSION(version, (uint32_t)HONE_WGPU_VERSION), error, UNSUPPORTED,
                 "webgpu: %s is wgpu-native %u.%u, which this hone cannot use; " WEBGPU_NAME_ANOTHER, name,
                 version >> 24, version >> 16 & 255, WEBGPU_WANTED);
    snprintf(gpu->version, sizeof(gpu->version), "%u.%u.%u.%u", version >> 24, version >> 16 & 255, version >> 8 & 255,
             version & 255);
#define WEBGPU_LOAD(function)                                                                                          \
    *(void **)&gpu->function = dlsym(gpu->library, "wgpu" #function);                                                  \
    HONE_FAIL_IF(!gpu->function, error, UNSUPPORTED, "webgpu: %s lacks wgpu%s; " WEBGPU_NAME_ANOTHER, name, #function, \
                 WEBGPU_WANTED);
    WEBGPU_FUNCTIONS(WEBGPU_LOAD)
#undef WEBGPU_LOAD
    return HONE_OK;
}
