/*
 * log.c - log lines. A line is put together on the stack and leaves by one write(). Characters that nobody sees, or that change how others are
 * shown, are escaped, whoever wrote them.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

enum { LINE_MAX_BYTES = 4096, HEAD_BYTES = 128 };

static _Atomic int log_level = ALM_LOG_INFO;
static _Atomic int log_fd = STDERR_FILENO;

static const char *const LEVELS[] = {
    [ALM_LOG_DEBUG] = "DEBUG", [ALM_LOG_INFO] = "INFO", [ALM_LOG_WARN] = "WARN",
    [ALM_LOG_ERROR] = "ERROR", [ALM_LOG_OFF] = "OFF",
};

void alm_log_set_level(alm_log_level level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

alm_log_level alm_log_get_level(void)
{
    return (alm_log_level)atomic_load_explicit(&log_level, memory_order_relaxed);
}

void alm_log_set_fd(int fd)
{
    atomic_store_explicit(&log_fd, fd, memory_order_relaxed);
}

bool alm_log_level_parse(alm_str text, alm_log_level *out)
{
    for (size_t i = 0; i < ALM_COUNT(LEVELS); i++) {
        if (alm_str_ieq(text, alm_str_of(LEVELS[i]))) {
            *out = (alm_log_level)i;
            return true;
        }
    }
    return false;
}

/* "2026-02-14T10:00:00.123456Z INFO storage ", bytes written. */
static size_t log_put_head(char *out, alm_log_level level, const char *component)
{
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc) == NULL)
        memset(&utc, 0, sizeof(utc));
    const int len = snprintf(out, HEAD_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ %s %.40s ",
                             utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                             utc.tm_min, utc.tm_sec, now.tv_nsec / 1000, LEVELS[level], component);
    return len < 0 ? 0 : ALM_MIN((size_t)len, (size_t)HEAD_BYTES - 1);
}

void alm_log_write(alm_log_level level, const char *component, const char *format, ...)
{
    static const char hex[] = "0123456789abcdef";
    char message[LINE_MAX_BYTES / 2], line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (n < 0)
        return;
    size_t len = log_put_head(line, level, component);
    const alm_str text = alm_str_of(message);
    for (size_t offset = 0; offset < text.len && len + ALM_UTF8_ESCAPE_BYTES < sizeof(line);) {
        const uint8_t byte = (uint8_t)text.ptr[offset];
        if (byte >= 0x20 && byte < 0x7F) {
            line[len++] = text.ptr[offset++];
        } else if (byte >= 0x80) {
            len += alm_utf8_escape_one(line + len, ALM_UTF8_ESCAPE_BYTES, text, &offset);
        } else {
            line[len++] = '\\';
            line[len++] = 'x';
            line[len++] = hex[byte >> 4];
            line[len++] = hex[byte & 0xF];
            offset++;
        }
    }
    line[len++] = '\n';
    const int fd = atomic_load_explicit(&log_fd, memory_order_relaxed);
    /* There is nobody to tell that the log cannot be written. */
    const ssize_t written = write(fd, line, len);
    (void)written;
}
