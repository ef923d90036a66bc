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

static bool escapes(const quoting *self, const char *from, size_t i, size_t n)
{
    return from[i] == self->escape && i + 1 < n &&
           (from[i + 1] == self->escape || from[i + 1] == self->quote);
}

/* In a quoted part: to behind its closing quote; false: it is not there (or may not be it). */
static bool close_quote(quoting *self, const char *from, size_t n, bool last, size_t *i)
{
    if (self->escape == self->quote) {
        const char *quote = memchr(from + *i, self->quote, n - *i);
        *i = quote != NULL ? (size_t)(quote - from) + 1 : n;
        self->open = quote == NULL;
        return quote != NULL;
    }
    while (*i < n) {
        if (from[*i] == self->escape && *i + 1 == n && !last)
            return false;
        if (escapes(self, from, *i, n)) {
            *i += 2;
            continue;
        }
        self->open = from[(*i)++] != self->quote;
        if (!self->open)
            return true;
    }
    return false;
}

static alm_status copy_csv_find_record(alm_ctx *cx, alm_csv_reader *reader, bool last,
                                       alm_csv_record *out)
{
    const char *from = reader->buf.ptr + reader->at;
    const size_t left = reader->buf.len - reader->at;
    quoting self = {reader->copy->quote, reader->copy->escape, reader->scan_quoted};
    size_t i = reader->scanned,
           line = 0; /* line: the next line end, or `left`; known when >= i > 0 */
    bool found = false, known = false;
    while (i < left && !found) {
        if (self.open) {
            if (!close_quote(&self, from, left, last, &i))
                break;
            continue;
        }
        if (!known || line < i) {
            const char *line_end = memchr(from + i, '\n', left - i);
            line = line_end != NULL ? (size_t)(line_end - from) : left;
            known = true;
        }
        const char *quote = memchr(from + i, self.quote, line - i);
        self.open = quote != NULL;
        i = quote != NULL ? (size_t)(quote - from) + 1 : line;
        found = quote == NULL && line < left;
    }
    reader->scanned = i;
    reader->scan_quoted = self.open;
    if (found || (last && !self.open))
        alm_copy_line(reader, i, found, out);
    else if (last)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "line %llu: unterminated CSV quoted field",
                        (unsigned long long)reader->line);
    return ALM_OK;
}

/* A field that starts at from[*i] and has a quote in it; *i goes to the delimiter or the end. Only the
 * inside when the quotes stand around all of it. */
static alm_csv_field copy_csv_quoted_field(const alm_csv_reader *reader, const char *from, size_t n,
                                           size_t *i)
{
    quoting self = {reader->copy->quote, reader->copy->escape, false};
    const size_t start = *i;
    uint32_t parts = 0;
    bool coded = from[start] != self.quote;
    while (*i < n && from[*i] != reader->delimiter) {
        if (from[(*i)++] != self.quote) {
            coded = true;
            continue;
        }
        const size_t inside = *i;
        self.open = true;
        (void)close_quote(&self, from, n, true, i);
        coded |= self.open ||
                 (self.escape != self.quote && memchr(from + inside, self.escape, *i - inside));
        parts++;
    }
    coded |= parts != 1;
    const size_t skip = coded ? 0 : 1;
    return (alm_csv_field){.off = (uint32_t)(start + skip),
                           .len = (uint32_t)(*i - start - 2 * skip),
                           .quoted = true,
                           .coded = coded};
}

static void copy_csv_split_record(alm_csv_reader *reader, size_t base, size_t n, uint32_t row)
{
    const char *from = reader->buf.ptr + base;
    const alm_copy_format *format = reader->copy;
    uint32_t col = 0;
    for (size_t i = 0;; i++) {
        const char *end = i < n ? memchr(from + i, reader->delimiter, n - i) : NULL;
        const size_t plain = end != NULL ? (size_t)(end - from) : n;
        alm_csv_field field = {.off = (uint32_t)i, .len = (uint32_t)(plain - i)};
        if (i < n && memchr(from + i, format->quote, plain - i) != NULL)
            field = copy_csv_quoted_field(reader, from, n, &i);
        else
            i = plain;
        const bool in_quotes =
            col < reader->cols && format->force_null != NULL && format->force_null[col];
        const bool never =
            col < reader->cols && format->force_not_null != NULL && format->force_not_null[col];
        if (!never && (!field.quoted || (in_quotes && !field.coded)))
            field.null = alm_str_eq((alm_str){from + field.off, field.len}, format->null);
        field.off += (uint32_t)base;
        (void)alm_csv_put(reader, row, col++, field);
        if (i >= n)
            break;
    }
    alm_csv_fill(reader, row, col, base);
}

static size_t copy_csv_decode(const alm_csv_block *block, alm_str raw, char *dest)
{
    quoting self = {block->copy->quote, block->copy->escape, false};
    size_t count = 0;
    for (size_t i = 0; i < raw.len; i++) {
        if (self.open && escapes(&self, raw.ptr, i, raw.len))
            dest[count++] = raw.ptr[++i];
        else if (raw.ptr[i] == self.quote)
            self.open = !self.open;
        else
            dest[count++] = raw.ptr[i];
    }
    return count;
}

const alm_csv_rules alm_copy_csv_rules = {
    .find = copy_csv_find_record, .split = copy_csv_split_record, .decode = copy_csv_decode};
