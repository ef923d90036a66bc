/*
 * csv_reader.c - bytes to blocks of fields.
 *
 * The buffer holds what was fed and not consumed. A record is split only when its end is there (or the
 * file is over), so a quoted line end or a cut piece needs no saved state but the start of the record;
 * `scanned` remembers how far an incomplete one was looked at, which keeps the work linear.
 */
#include "codec/csv/csv.h"

#include <stdlib.h>

/* Fields of a block; 4096 columns give 512 rows. */
enum { FIELDS_MAX = 2 << 20 };

struct alm_csv_reader {
    alm_mem *mem;
    alm_buf buf;
    size_t at;      /* start of the first unread record */
    size_t scanned; /* bytes behind `at` known to hold no end of it */
    bool scan_quoted;
    bool cut; /* the last record ends inside of a quoted field */
    char delimiter;
    uint32_t cols, rows_max; /* rows of a block: fewer for wide files */
    size_t record_max;
    uint64_t line;
    bool started;
    alm_csv_field *fields;
    uint64_t *lines;
    uint8_t *ragged;
};

alm_status alm_csv_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem, char delimiter,
                              uint32_t cols, size_t record_max, alm_csv_reader **out)
{
    alm_csv_reader *r = NULL;
    if (cols == 0 || cols > ALM_CSV_COLS_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a CSV file may have 1 to %d columns, not %u",
                        ALM_CSV_COLS_MAX, cols);
    if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == 0)
        return alm_fail(cx, ALM_E_ARG, -1, "a quote or a line end cannot be the delimiter");
    ALM_TRY(ALM_NEW(cx, arena, &r));
    r->mem = mem;
    r->delimiter = delimiter;
    r->cols = cols;
    const uint32_t fit = FIELDS_MAX / cols;
    r->rows_max = fit < ALM_BATCH_ROWS ? fit : ALM_BATCH_ROWS;
    r->record_max = record_max;
    r->line = 1;
    ALM_TRY(ALM_NEWN(cx, arena, (size_t)cols * r->rows_max, &r->fields));
    ALM_TRY(ALM_NEWN(cx, arena, ALM_BATCH_ROWS, &r->lines));
    ALM_TRY(ALM_NEWN(cx, arena, ALM_BATCH_ROWS, &r->ragged));
    alm_buf_init(&r->buf, mem);
    *out = r;
    return ALM_OK;
}

void alm_csv_reader_free(alm_csv_reader *r)
{
    if (r != NULL)
        alm_buf_deinit(&r->buf);
}

alm_status alm_csv_feed(alm_ctx *cx, alm_csv_reader *r, const char *bytes, size_t n)
{
    if (r->at > 0) {
        (void)memmove(r->buf.ptr, r->buf.ptr + r->at, r->buf.len - r->at);
        r->buf.len -= r->at;
        r->at = 0;
    }
    ALM_TRY(alm_buf_append(cx, &r->buf, bytes, n));
    if (!r->started && r->buf.len >= 3) {
        if (memcmp(r->buf.ptr, "\xef\xbb\xbf", 3) == 0) {
            r->at = 3;
            r->scanned = 0;
        }
        r->started = true;
    }
    return ALM_OK;
}

/* State of looking for the end of a record: bytes before `i` are done with. */
typedef struct record_scan {
    size_t i;
    size_t line; /* next line end at or behind `i`, or the end of the bytes; < i: not known */
    bool quoted;
} record_scan;

/* Inside quotes: to behind the closing one. False: it is not there, or not known to be it. */
static bool scan_quoted(const char *from, size_t left, bool last, record_scan *s)
{
    const char *quote = memchr(from + s->i, '"', left - s->i);
    if (quote == NULL) {
        s->i = left;
        return false;
    }
    const size_t at = (size_t)(quote - from);
    if (at + 1 == left && !last) { /* it may be the first of two */
        s->i = at;
        return false;
    }
    if (at + 1 < left && from[at + 1] == '"') {
        s->i = at + 2;
        return s->i < left;
    }
    s->i = at + 1;
    s->quoted = false;
    return true;
}

/* Outside of quotes: to the line end (true: found) or behind a quote that opens a field. A quote in
 * the middle of a field is a byte like others. */
static bool scan_plain(const char *from, size_t left, char delimiter, record_scan *s)
{
    if (s->line < s->i || s->line == 0) {
        const char *lf = memchr(from + s->i, '\n', left - s->i);
        s->line = lf != NULL ? (size_t)(lf - from) : left;
    }
    while (s->i < s->line) {
        const char *quote = memchr(from + s->i, '"', s->line - s->i);
        if (quote == NULL)
            break;
        const size_t at = (size_t)(quote - from);
        s->i = at + 1;
        if (at == 0 || from[at - 1] == delimiter) {
            s->quoted = true;
            return false;
        }
    }
    s->i = s->line;
    return s->line < left;
}

/* Length of the record at `at` without its line end, or -1: the end is not there yet. *next: bytes to
 * the following record; *newlines: line ends inside. */
static int64_t record_end(alm_csv_reader *r, bool last, size_t *next, uint64_t *newlines)
{
    const char *from = r->buf.ptr + r->at;
    const size_t left = r->buf.len - r->at;
    record_scan s = {.i = r->scanned, .quoted = r->scan_quoted};
    bool found = false;
    while (!found && s.i < left) {
        if (s.quoted) {
            if (!scan_quoted(from, left, last, &s))
                break;
            continue;
        }
        found = scan_plain(from, left, r->delimiter, &s);
        if (!found && !s.quoted)
            break;
    }
    if (!found && !last) {
        r->scanned = s.i;
        r->scan_quoted = s.quoted;
        return -1;
    }
    const size_t end = found ? s.i : left;
    r->cut = !found && s.quoted;
    *next = found ? end + 1 : left;
    *newlines = found;
    for (const char *p = from; (p = memchr(p, '\n', end - (size_t)(p - from))) != NULL; p++)
        (*newlines)++;
    r->scanned = 0;
    r->scan_quoted = false;
    return (int64_t)(end > 0 && from[end - 1] == '\r' ? end - 1 : end);
}

/* Reads a quoted field at from[*i] (behind the opening quote); leaves *i at the delimiter or end. */
static void quoted_field(const char *from, size_t n, size_t *i, size_t base, char delimiter,
                         alm_csv_field *out)
{
    const size_t start = *i;
    size_t at = start;
    bool doubled = false;
    for (;;) {
        const char *quote = at < n ? memchr(from + at, '"', n - at) : NULL;
        if (quote == NULL) { /* never closed: the rest of the record */
            at = n;
            break;
        }
        at = (size_t)(quote - from);
        if (at + 1 < n && from[at + 1] == '"') {
            doubled = true;
            at += 2;
            continue;
        }
        break;
    }
    *out = (alm_csv_field){(uint32_t)(base + start), (uint32_t)(at - start), true, doubled};
    while (at < n && from[at] != delimiter)
        at++; /* the closing quote, and stray bytes behind it */
    *i = at;
}

static void split_record(alm_csv_reader *r, size_t base, size_t n, uint32_t row)
{
    const char *from = r->buf.ptr + base;
    uint32_t col = 0;
    size_t i = 0;
    bool more = true;
    while (more) {
        alm_csv_field field;
        if (i < n && from[i] == '"') {
            i++;
            quoted_field(from, n, &i, base, r->delimiter, &field);
        } else {
            const size_t start = i;
            const char *end = i < n ? memchr(from + i, r->delimiter, n - i) : NULL;
            i = end != NULL ? (size_t)(end - from) : n;
            field = (alm_csv_field){(uint32_t)(base + start), (uint32_t)(i - start), false, false};
        }
        if (col < r->cols)
            r->fields[(size_t)col * r->rows_max + row] = field;
        col++;
        more = i < n;
        i++;
    }
    r->ragged[row] = col < r->cols ? 1 : col > r->cols ? 2 : 0;
    for (; col < r->cols; col++)
        r->fields[(size_t)col * r->rows_max + row] = (alm_csv_field){.off = (uint32_t)base};
}

alm_status alm_csv_next(alm_ctx *cx, alm_csv_reader *r, bool last, alm_csv_block *out)
{
    uint32_t rows = 0;
    while (rows < r->rows_max && r->at < r->buf.len) {
        size_t next = 0;
        uint64_t newlines = 0;
        const int64_t n = record_end(r, last, &next, &newlines);
        if (n < 0) {
            if (r->buf.len - r->at > r->record_max)
                return alm_fail(cx, ALM_E_LIMIT, -1,
                                "line %llu: a record is longer than %zu bytes (an open quote?)",
                                (unsigned long long)r->line, r->record_max);
            break;
        }
        if (r->cut)
            return alm_fail(cx, ALM_E_VALUE, -1, "line %llu: a quote that is not closed",
                            (unsigned long long)r->line);
        if (n > 0) {
            r->lines[rows] = r->line;
            split_record(r, r->at, (size_t)n, rows);
            rows++;
        }
        r->line += newlines;
        r->at += next;
        r->started = true; /* no byte order mark but at the start of the file */
        if (r->at > UINT32_MAX / 2)
            break; /* offsets of a block are 32 bits */
    }
    *out = (alm_csv_block){.bytes = r->buf.ptr,
                           .rows = rows,
                           .cols = r->cols,
                           .stride = r->rows_max,
                           .fields = r->fields,
                           .lines = r->lines,
                           .ragged = r->ragged};
    return ALM_OK;
}

alm_status alm_csv_text(alm_ctx *cx, alm_arena *arena, const alm_csv_block *block,
                        const alm_csv_field *field, alm_str *out)
{
    const alm_str raw = {block->bytes + field->off, field->len};
    if (field->len == 0 && !field->quoted) {
        *out = (alm_str){0};
        return ALM_OK;
    }
    if (!field->doubled) {
        *out = raw;
        return ALM_OK;
    }
    char *to = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, raw.len, &to));
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        to[n++] = raw.ptr[i];
        if (raw.ptr[i] == '"' && i + 1 < raw.len && raw.ptr[i + 1] == '"')
            i++;
    }
    *out = (alm_str){to, n};
    return ALM_OK;
}
