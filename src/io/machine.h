/*
 * machine.h - how much memory and how many processors this process may use: what its limits and those of its container
 * leave of the machine's.
 *
 * Memory      the least of: what the machine has; memory.max and memory.high (control groups, version 2),
 *             memory.limit_in_bytes (version 1) of the group of the process and of all groups above it that can be seen;
 *             RLIMIT_AS and RLIMIT_DATA.
 * Processors  the least of: those that the process may run on (affinity, which cpusets narrow); the quotas cpu.max
 *             (version 2) and cpu.cfs_quota_us (version 1) of these groups, rounded up.
 * Errors      what cannot be read is no limit.
 * Source      Linux, Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst, scheduler/sched-bwc.rst; proc(5).
 */
#ifndef ALM_IO_MACHINE_H
#define ALM_IO_MACHINE_H

#include "base/base.h"

typedef struct alm_machine {
    int64_t memory_bytes;
    const char *memory_by;     /* what limits it: "machine", "cgroup", "RLIMIT_AS", "RLIMIT_DATA" */
    uint32_t processors;       /* at least 1 */
    const char *processors_by; /* "machine", "affinity", "cgroup" */
} alm_machine;

/* Limits may change while the process runs: it is read anew each time. */
void alm_machine_get(alm_machine *out);

/* Makes the allocator return to the system what it keeps for reuse (jemalloc; others keep little, and nothing is done). */
void alm_machine_return_kept(void);

/* Like alm_machine_get, but reads /proc and the control groups below source->root, and takes the limits of the process from
 * `source`. For tests. */
typedef struct alm_machine_source {
    const char *root;                    /* in front of /proc and of mount points */
    int64_t address_space_max, data_max; /* bytes; INT64_MAX: no limit */
    uint32_t online, allowed;            /* processors */
} alm_machine_source;
void alm_machine_get_from(const alm_machine_source *source, alm_machine *out);

#endif
