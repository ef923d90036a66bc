/*
 * nearest.c - edit distance between names, and errors that say which name is near.
 */
#include "base/nearest.h"

#include <stdarg.h>
#include <stdio.h>

enum { LENGTH_MAX = 63, EDITS_MAX = 3, NAME_SHARE = 3 };

static char nearest_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte;
}

/* Levenshtein's, with swapped neighbours as one edit: three rows of the matrix at a time. */
static size_t nearest_distance(alm_str a, alm_str b)
{
    size_t rows[3][LENGTH_MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3];
        const size_t *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            const char x = nearest_lower(a.ptr[i - 1]), y = nearest_lower(b.ptr[j - 1]);
            const size_t one = ALM_MIN(up[j], row[j - 1]) + 1;
            row[j] = ALM_MIN(one, up[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == nearest_lower(b.ptr[j - 2]) &&
                y == nearest_lower(a.ptr[i - 2]))
                row[j] = ALM_MIN(row[j], up2[j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

alm_nearest alm_nearest_of(alm_str name)
{
    const size_t edits = ALM_MIN(ALM_MAX(name.len / NAME_SHARE, (size_t)1), (size_t)EDITS_MAX);
    /* Every name of one letter is one edit from every other. */
    return (alm_nearest){.name = name, .best = name.len < 2 ? 1 : edits + 1};
}

void alm_nearest_offer(alm_nearest *near, alm_str known)
{
    const alm_str name = near->name;
    const size_t apart = name.len > known.len ? name.len - known.len : known.len - name.len;
    if (apart >= near->best || name.len > LENGTH_MAX || known.len > LENGTH_MAX || known.len == 0)
        return;
    const size_t d = nearest_distance(name, known);
    if (d >= near->best)
        return;
    near->best = d;
    near->found = known;
}

alm_status alm_fail_near(alm_ctx *cx, alm_status code, int32_t sql_pos, const alm_nearest *near,
                         const char *format, ...)
{
    char msg[sizeof(cx->err.msg)];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(msg, sizeof(msg), format, args);
    va_end(args);
    const bool found = near->found.len > 0;
    return alm_fail(cx, code, sql_pos, "%s%s%.*s%s", n < 0 ? "" : msg,
                    found ? ", did you mean '" : "", (int)near->found.len,
                    found ? near->found.ptr : "", found ? "'?" : "");
}
