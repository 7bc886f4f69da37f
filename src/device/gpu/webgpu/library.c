// SPDX-License-Identifier: Apache-2.0
// Finding libwgpu_native at run time: what HONE_WGPU names, or what `make install` has put beside hone, or what this build
// was made with, or the system's.
#define _GNU_SOURCE // dladdr
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/gpu/webgpu/internal.h"

#define WEBGPU_PATH 4096

// The version that a build's headers are of agrees with the library's in what a release may change: all but the last byte.
#define WEBGPU_SAME_VERSION(a, b) ((a) >> 16 == (b) >> 16)

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

static hone_status open_library(webgpu_driver *gpu, hone_error *error) {
    const char *const wanted = getenv("HONE_WGPU");
    if (wanted && wanted[0]) {
        gpu->library = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
        HONE_FAIL_IF(!gpu->library, error, NOT_FOUND, "webgpu: HONE_WGPU=%s does not load: %s", wanted, dlerror());
        return HONE_OK;
    }
    gpu->library = open_installed();
    if (!gpu->library) gpu->library = dlopen(HONE_WGPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!gpu->library) gpu->library = dlopen("libwgpu_native.so", RTLD_NOW | RTLD_LOCAL);
    HONE_FAIL_IF(!gpu->library, error, NOT_FOUND,
                 "webgpu: libwgpu_native.so is not installed; HONE_WGPU=/path/to/it names one");
    return HONE_OK;
}

hone_status webgpu_load(webgpu_driver *gpu, hone_error *error) {
    HONE_TRY(open_library(gpu, error));
    // The version first: another version may lack functions, which would be the lesser news.
    *(void **)&gpu->GetVersion = dlsym(gpu->library, "wgpuGetVersion");
    const uint32_t version = gpu->GetVersion ? gpu->GetVersion() : 0;
    HONE_FAIL_IF(!WEBGPU_SAME_VERSION(version, (uint32_t)HONE_WGPU_VERSION), error, UNSUPPORTED,
                 "webgpu: libwgpu_native is version %u.%u, this hone needs %u.%u", version >> 24, version >> 16 & 255,
                 (unsigned)HONE_WGPU_VERSION >> 24, (unsigned)HONE_WGPU_VERSION >> 16 & 255);
    snprintf(gpu->version, sizeof(gpu->version), "%u.%u.%u.%u", version >> 24, version >> 16 & 255, version >> 8 & 255,
             version & 255);
#define WEBGPU_LOAD(name)                                                                                              \
    *(void **)&gpu->name = dlsym(gpu->library, "wgpu" #name);                                                          \
    HONE_FAIL_IF(!gpu->name, error, UNSUPPORTED, "webgpu: libwgpu_native lacks wgpu%s", #name);
    WEBGPU_FUNCTIONS(WEBGPU_LOAD)
#undef WEBGPU_LOAD
    return HONE_OK;
}
