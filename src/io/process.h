/*
 * process.h - processes as the system knows them: who this one is, whether another runs, and what this one uses
 * (for /metrics).
 *
 * Errors      What the system does not tell is 0.
 */
#ifndef ALM_IO_PROCESS_H
#define ALM_IO_PROCESS_H

#include "io/io.h"

typedef struct alm_process_use {
    int64_t cpu_ns; /* user and system */
    int64_t resident_bytes, virtual_bytes;
    int64_t open_files, files_max;
    int64_t threads;
    int64_t started_ns; /* since 1970 */
} alm_process_use;

void alm_process_use_get(alm_process_use *out);
/* process_self and process_runs of alm_io. */
void alm_process_self(alm_io_process *out);
int alm_process_runs(const alm_io_process *process);
/* Most maps of memory that a process may have (vm.max_map_count). */
int64_t alm_process_maps_max(void);

#endif
