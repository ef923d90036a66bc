/* window.c - see window.h. */
#include "net/http/query/window.h"

#include "base/number.h"

static bool window_number(alm_str text, int64_t *out)
{
    return alm_int64_parse(text, out) == ALM_NUM_OK && text.ptr[0] != '+';
}

bool alm_row_window_parse(alm_str text, bool inclusive, alm_row_window *out)
{
    const char *comma = memchr(text.ptr, ',', text.len);
    int64_t lo = 0, hi = 0;
    if (comma == NULL) {
        if (!window_number(text, &hi))
            return false;
        *out = hi < 0 ? (alm_row_window){.hi = INT64_MAX, .last = hi == INT64_MIN ? INT64_MAX : -hi}
                      : (alm_row_window){.hi = hi};
        return true;
    }
    const alm_str first = {text.ptr, (size_t)(comma - text.ptr)};
    const alm_str second = {comma + 1, text.len - first.len - 1};
    if (!window_number(first, &lo) || lo < 0)
        return false;
    hi = INT64_MAX;
    if (second.len > 0 && (!window_number(second, &hi) || hi < 0))
        return false;
    /* row numbers start at 1; 0 as the lower end means "from the start, so many" */
    if (second.len > 0 && hi < INT64_MAX && !inclusive && lo > 0)
        hi -= 1;
    *out = (alm_row_window){.lo = lo > 0 ? lo - 1 : 0, .hi = hi};
    return true;
}

bool alm_row_window_read(alm_http *http, bool inclusive, alm_str query, alm_row_window *out)
{
    const alm_str limit = alm_http_param(&http->req, "limit");
    *out = (alm_row_window){.hi = INT64_MAX};
    if (limit.ptr == NULL || limit.len == 0 || alm_row_window_parse(limit, inclusive, out))
        return true;
    const char *message = "invalid limit";
    if (alm_arena_printf(&http->cx, &http->arena, &message,
                         "invalid limit '%.*s': n, lo,hi, lo, or -n expected",
                         (int)ALM_MIN(limit.len, (size_t)64), limit.ptr) != ALM_OK)
        message = "invalid limit";
    alm_http_reply_error(http, 400, query, message, 0);
    return false;
}
