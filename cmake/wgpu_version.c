// SPDX-License-Identifier: Apache-2.0
// Run at configure time: prints the version of the library that the first argument names.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int count, char **words) {
    void *const library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
    uint32_t (*version)(void) = NULL;
    if (library) *(void **)&version = dlsym(library, "wgpuGetVersion");
    if (version) printf("0x%08x", version());
    return version ? 0 : 1;
}
