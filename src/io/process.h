/*
 * process.h - what this process uses of the machine, as the system counts it. For /metrics.
 *
 * Errors      What the system does not tell is 0.
 */
#ifndef ALM_IO_PROCESS_H
#define ALM_IO_PROCESS_H

#include "base/base.h"

typedef struct alm_process_use {
    int64_t cpu_ns; /* user and system */
    int64_t resident_bytes, virtual_bytes;
    int64_t open_files, files_max;
    int64_t threads;
    int64_t started_ns; /* since 1970 */
} alm_process_use;

void alm_process_use_get(alm_process_use *out);
/* Most maps of memory that a process may have (vm.max_map_count). */
int64_t alm_process_maps_max(void);

#endif
