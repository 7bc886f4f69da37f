// SPDX-License-Identifier: Apache-2.0
// A libwgpu_native of a version that never was.
#include <stdint.h>

__attribute__((visibility("default"))) uint32_t wgpuGetVersion(void);
uint32_t wgpuGetVersion(void) {
    return 0x01020304;
}
