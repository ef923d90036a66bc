/*
 * log.h - the server's log: one line per event on stderr, written by one system call, so that lines
 * of different threads never mix.
 *
 *     2026-02-14T10:00:00.123456Z INFO storage checkpoint done in 12 ms, lsn 4711
 *
 * Control characters in the message are written as \xNN: a message cannot fake a second line.
 * The level and the descriptor are process-wide (the one mutable state of base/, both atomic): a log
 * that must be carried through every call would not be used.
 */
#ifndef ALM_BASE_LOG_H
#define ALM_BASE_LOG_H

#include "base/base.h"

typedef enum alm_log_level {
    ALM_LOG_DEBUG,
    ALM_LOG_INFO,
    ALM_LOG_WARN,
    ALM_LOG_ERROR,
    ALM_LOG_OFF
} alm_log_level;

/* Default: INFO to stderr. */
void alm_log_set_level(alm_log_level level);
alm_log_level alm_log_get_level(void);
void alm_log_set_fd(int fd);
/* "debug", "info", "warn", "error", "off" in any case. */
bool alm_log_level_parse(alm_str text, alm_log_level *out);

/* component: the folder or subsystem, "storage", "http". Lines over 4 KiB are cut. */
void alm_log_write(alm_log_level level, const char *component, const char *format, ...)
    ALM_PRINTF(3, 4);

#define ALM_LOG_AT(level, ...)                                                                     \
    do {                                                                                           \
        if ((level) >= alm_log_get_level())                                                        \
            alm_log_write((level), __VA_ARGS__);                                                   \
    } while (0)
/* alm_log_info("storage", "checkpoint done in %lld ms", ms) */
#define alm_log_debug(...) ALM_LOG_AT(ALM_LOG_DEBUG, __VA_ARGS__)
#define alm_log_info(...)  ALM_LOG_AT(ALM_LOG_INFO, __VA_ARGS__)
#define alm_log_warn(...)  ALM_LOG_AT(ALM_LOG_WARN, __VA_ARGS__)
#define alm_log_error(...) ALM_LOG_AT(ALM_LOG_ERROR, __VA_ARGS__)

#endif
