/*
 * team.h - threads for one piece of work that is cut into tasks, for recovery, where no other work waits for them.
 */
#ifndef ALM_STORAGE_TEAM_H
#define ALM_STORAGE_TEAM_H

#include "base/base.h"

enum { ALM_TEAM_MAX = 8 };

/* Task i, by thread `member` of the team: the first is the caller. */
typedef alm_status alm_team_task(alm_ctx *cx, void *arg, uint32_t member, uint32_t i);

/* Runs tasks 0 to n - 1, each once, by `threads` threads (ALM_TEAM_MAX at the most), or fewer if the system has no more. After an error
 * no task begins; that of the first task that failed is returned. All memory that tasks wrote can be read afterwards. */
ALM_NODISCARD alm_status alm_team_run(alm_ctx *cx, uint32_t threads, uint32_t n,
                                      alm_team_task *task, void *arg);

#endif
