/*
 * copy_csv.c - records and fields of COPY's CSV format.
 *
 * Where the escape is the quote itself, a quote in a quoted part ends it and the next one opens it
 * again: so the end of a record is the first line end with an even number of quotes before it.
 */
#include "codec/copy/copy_state.h"

typedef struct quoting {
    char quote, escape;
    bool open;
} quoting;

static bool escapes(const quoting *q, const char *from, size_t i, size_t n)
{
    return from[i] == q->escape && i + 1 < n &&
           (from[i + 1] == q->escape || from[i + 1] == q->quote);
}

/* In a quoted part: to behind its closing quote; false: it is not there (or may not be it). */
static bool close_quote(quoting *q, const char *from, size_t n, bool last, size_t *i)
{
    if (q->escape == q->quote) {
        const char *quote = memchr(from + *i, q->quote, n - *i);
        *i = quote != NULL ? (size_t)(quote - from) + 1 : n;
        q->open = quote == NULL;
        return quote != NULL;
    }
    while (*i < n) {
        if (from[*i] == q->escape && *i + 1 == n && !last)
            return false;
        if (escapes(q, from, *i, n)) {
            *i += 2;
            continue;
        }
        q->open = from[(*i)++] != q->quote;
        if (!q->open)
            return true;
    }
    return false;
}

static alm_status find_record(alm_ctx *cx, alm_csv_reader *r, bool last, alm_csv_record *out)
{
    const char *from = r->buf.ptr + r->at;
    const size_t left = r->buf.len - r->at;
    quoting q = {r->copy->quote, r->copy->escape, r->scan_quoted};
    size_t i = r->scanned, line = 0; /* line: the next line end, or `left`; known when >= i > 0 */
    bool found = false, known = false;
    while (i < left && !found) {
        if (q.open) {
            if (!close_quote(&q, from, left, last, &i))
                break;
            continue;
        }
        if (!known || line < i) {
            const char *lf = memchr(from + i, '\n', left - i);
            line = lf != NULL ? (size_t)(lf - from) : left;
            known = true;
        }
        const char *quote = memchr(from + i, q.quote, line - i);
        q.open = quote != NULL;
        i = quote != NULL ? (size_t)(quote - from) + 1 : line;
        found = quote == NULL && line < left;
    }
    r->scanned = i;
    r->scan_quoted = q.open;
    if (found || (last && !q.open))
        alm_copy_line(r, i, found, out);
    else if (last)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "line %llu: unterminated CSV quoted field",
                        (unsigned long long)r->line);
    return ALM_OK;
}

/* A field that starts at from[*i] and has a quote in it; *i goes to the delimiter or the end. Only the
 * inside when the quotes stand around all of it. */
static alm_csv_field quoted_field(const alm_csv_reader *r, const char *from, size_t n, size_t *i)
{
    quoting q = {r->copy->quote, r->copy->escape, false};
    const size_t start = *i;
    uint32_t parts = 0;
    bool coded = from[start] != q.quote;
    while (*i < n && from[*i] != r->delimiter) {
        if (from[(*i)++] != q.quote) {
            coded = true;
            continue;
        }
        const size_t inside = *i;
        q.open = true;
        (void)close_quote(&q, from, n, true, i);
        coded |= q.open || (q.escape != q.quote && memchr(from + inside, q.escape, *i - inside));
        parts++;
    }
    coded |= parts != 1;
    const size_t skip = coded ? 0 : 1;
    return (alm_csv_field){.off = (uint32_t)(start + skip),
                           .len = (uint32_t)(*i - start - 2 * skip),
                           .quoted = true,
                           .coded = coded};
}

static void split_record(alm_csv_reader *r, size_t base, size_t n, uint32_t row)
{
    const char *from = r->buf.ptr + base;
    const alm_copy_format *format = r->copy;
    uint32_t col = 0;
    for (size_t i = 0;; i++) {
        const char *end = i < n ? memchr(from + i, r->delimiter, n - i) : NULL;
        const size_t plain = end != NULL ? (size_t)(end - from) : n;
        alm_csv_field field = {.off = (uint32_t)i, .len = (uint32_t)(plain - i)};
        if (i < n && memchr(from + i, format->quote, plain - i) != NULL)
            field = quoted_field(r, from, n, &i);
        else
            i = plain;
        const bool in_quotes =
            col < r->cols && format->force_null != NULL && format->force_null[col];
        const bool never =
            col < r->cols && format->force_not_null != NULL && format->force_not_null[col];
        if (!never && (!field.quoted || (in_quotes && !field.coded)))
            field.null = alm_str_eq((alm_str){from + field.off, field.len}, format->null);
        field.off += (uint32_t)base;
        (void)alm_csv_put(r, row, col++, field);
        if (i >= n)
            break;
    }
    alm_csv_fill(r, row, col, base);
}

static size_t decode(const alm_csv_block *block, alm_str raw, char *to)
{
    quoting q = {block->copy->quote, block->copy->escape, false};
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        if (q.open && escapes(&q, raw.ptr, i, raw.len))
            to[n++] = raw.ptr[++i];
        else if (raw.ptr[i] == q.quote)
            q.open = !q.open;
        else
            to[n++] = raw.ptr[i];
    }
    return n;
}

const alm_csv_rules alm_copy_csv_rules = {
    .find = find_record, .split = split_record, .decode = decode};
