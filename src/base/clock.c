// SPDX-License-Identifier: Apache-2.0
// Time, memory of this process, and the processors it may use.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // sched_getaffinity
#endif
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif

double hone_clock_seconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if defined(__linux__)
// The start of a small file of the kernel as a string; false if it cannot be read.
static int read_small(const char *path, char *text, size_t capacity) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    size_t length = 0;
    while (length + 1 < capacity) {
        const ssize_t n = read(fd, text + length, capacity - 1 - length);
        if (n <= 0) break;
        length += (size_t)n;
    }
    close(fd);
    text[length] = 0;
    return length > 0;
}

uint64_t hone_process_bytes(void) {
    char text[128];
    unsigned long long total = 0, resident = 0;
    if (!read_small("/proc/self/statm", text, sizeof text)) return 0;
    if (sscanf(text, "%llu %llu", &total, &resident) != 2) return 0;
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

// Processors of the affinity mask; the kernel refuses a mask smaller than its own, so it grows.
static int affinity_count(void) {
    for (int bits = 1024; bits <= 1 << 20; bits *= 4) {
        cpu_set_t *const set = CPU_ALLOC((size_t)bits);
        if (!set) return 0;
        const size_t size = CPU_ALLOC_SIZE((size_t)bits);
        const int found = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (found > 0) return found;
    }
    return 0;
}

// "QUOTA PERIOD" or "max PERIOD" as whole processors, rounded up; 0 = no limit.
static int quota_of(const char *text) {
    long long quota = 0, period = 0;
    if (sscanf(text, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) return 0;
    const long long whole = quota / period + (quota % period != 0);
    return whole > 1 << 20 ? 0 : (int)whole;
}

// The smallest cpu.max of this process's control group (version 2) and the groups above it; 0 = no limit.
static int cgroup_count(void) {
    char groups[4096];
    if (!read_small("/proc/self/cgroup", groups, sizeof groups)) return 0;
    const char *line = groups;
    while (line && strncmp(line, "0::/", 4) != 0) {
        line = strchr(line, '\n');
        if (line) line++;
    }
    if (!line) return 0;
    char group[4096]; // "" or "/a/b"
    const size_t length = strcspn(line + 3, "\n");
    memcpy(group, line + 3, length);
    group[length] = 0;
    int least = 0;
    for (;;) {
        char path[sizeof group + 64], text[128];
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        const int count = read_small(path, text, sizeof text) ? quota_of(text) : 0;
        if (count > 0 && (least == 0 || count < least)) least = count;
        char *const slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

// VmHWM, not getrusage: the latter still counts what the process was before exec.
uint64_t hone_process_peak_bytes(void) {
    char text[4096];
    if (!read_small("/proc/self/status", text, sizeof text)) return 0;
    const char *const line = strstr(text, "\nVmHWM:");
    return line ? strtoull(line + 7, NULL, 10) * 1024 : 0;
}
#else
uint64_t hone_process_bytes(void) {
    return 0;
}

uint64_t hone_process_peak_bytes(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
    return (uint64_t)usage.ru_maxrss;
#else
    return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

static int affinity_count(void) {
    return 0;
}
static int cgroup_count(void) {
    return 0;
}
#endif

int hone_core_count(void) {
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
    return 1; // the machine has more, but this build cannot start threads
#else
    int count = affinity_count();
    if (count <= 0) {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online > 0 && online < 1 << 20 ? (int)online : 1;
    }
    const int quota = cgroup_count();
    return quota > 0 && quota < count ? quota : count;
#endif
}
