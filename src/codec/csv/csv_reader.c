/*
 * csv_reader.c - bytes to blocks of fields.
 *
 * The buffer holds what was fed and not consumed. A record is split only when its end is there (or the
 * file is over), so a quoted line end or a cut piece needs no saved state but the start of the record;
 * `scanned` remembers how far an incomplete one was looked at, which keeps the work linear.
 */
#include "codec/csv/csv_state.h"

/* Fields of a block; 4096 columns give 512 rows. */
enum { FIELDS_MAX = 2 << 20 };

alm_status alm_csv_reader_make(alm_ctx *cx, alm_arena *arena, alm_mem *mem,
                               const alm_csv_rules *rules, uint32_t cols, size_t record_max,
                               alm_csv_reader **out)
{
    alm_csv_reader *r = NULL;
    if (cols > ALM_CSV_COLS_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a file may have 1 to %d columns, not %u",
                        ALM_CSV_COLS_MAX, cols);
    ALM_TRY(ALM_NEW(cx, arena, &r));
    r->mem = mem;
    r->rules = rules;
    r->cols = cols;
    const uint32_t fit = FIELDS_MAX / ALM_MAX(cols, 1U);
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

void alm_csv_reader_patterns(alm_csv_reader *r, const struct alm_time_pattern *const *patterns)
{
    r->patterns = patterns;
}

void alm_csv_reader_exact(alm_csv_reader *r, const bool *exact)
{
    r->exact = exact;
}

void alm_csv_reader_units(alm_csv_reader *r, const alm_epoch *units)
{
    r->units = units;
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

void alm_csv_line(const alm_csv_reader *r, size_t end, bool found, alm_csv_record *out)
{
    const char *from = r->buf.ptr + r->at;
    *out = (alm_csv_record){.found = true, .len = end, .next = end + found, .newlines = found};
    for (const char *p = from; (p = memchr(p, '\n', end - (size_t)(p - from))) != NULL; p++)
        out->newlines++;
    if (end > 0 && from[end - 1] == '\r')
        out->len--;
}

static alm_status find_record(alm_ctx *cx, alm_csv_reader *r, bool last, alm_csv_record *out)
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
        return ALM_OK;
    }
    if (!found && s.quoted)
        return alm_fail(cx, ALM_E_VALUE, -1, "line %llu: a quote that is not closed",
                        (unsigned long long)r->line);
    alm_csv_line(r, found ? s.i : left, found, out);
    out->skip = out->len == 0;
    return ALM_OK;
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
    const char *end = at < n ? memchr(from + at, delimiter, n - at) : NULL;
    *i = end != NULL ? (size_t)(end - from) : n;
    const bool more = *i > at + 1; /* bytes behind the closing quote */
    *out = (alm_csv_field){.off = (uint32_t)(base + start),
                           .len = (uint32_t)((more ? *i : at) - start),
                           .quoted = true,
                           .coded = doubled || more};
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
            field = (alm_csv_field){
                .off = (uint32_t)(base + start), .len = (uint32_t)(i - start), .null = i == start};
        }
        (void)alm_csv_put(r, row, col, field);
        col += col < r->cols || !field.null; /* behind the last column an empty field is no value */
        more = i < n;
        i++;
    }
    alm_csv_fill(r, row, col, base);
}

/* Two quotes are one; a single one closed the quoted part, and what follows stays as it is. */
static size_t undouble(const alm_csv_block *block, alm_str raw, char *to)
{
    size_t n = 0;
    (void)block;
    for (size_t i = 0; i < raw.len; i++) {
        const bool quote = raw.ptr[i] == '"';
        if (quote && (i + 1 == raw.len || raw.ptr[i + 1] != '"')) {
            (void)memcpy(to + n, raw.ptr + i + 1, raw.len - i - 1);
            return n + raw.len - i - 1;
        }
        to[n++] = raw.ptr[i];
        i += quote;
    }
    return n;
}

alm_status alm_csv_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem, char delimiter,
                              uint32_t cols, size_t record_max, alm_csv_reader **out)
{
    static const alm_csv_rules rules = {
        .find = find_record, .split = split_record, .decode = undouble};
    if (cols == 0)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a file may have 1 to %d columns, not 0",
                        ALM_CSV_COLS_MAX);
    if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == 0)
        return alm_fail(cx, ALM_E_ARG, -1, "a quote or a line end cannot be the delimiter");
    if ((unsigned char)delimiter >= 0x80)
        return alm_fail(cx, ALM_E_ARG, -1, "the delimiter must be an ASCII character");
    ALM_TRY(alm_csv_reader_make(cx, arena, mem, &rules, cols, record_max, out));
    (*out)->delimiter = delimiter;
    return ALM_OK;
}

alm_status alm_csv_next(alm_ctx *cx, alm_csv_reader *r, bool last, alm_csv_block *out)
{
    uint32_t rows = 0;
    while (rows < r->rows_max && r->at < r->buf.len && !r->ended) {
        alm_csv_record record = {0};
        ALM_TRY(r->rules->find(cx, r, last, &record));
        if (!record.found) {
            if (r->buf.len - r->at > r->record_max)
                return alm_fail(
                    cx, ALM_E_LIMIT, -1,
                    "line %llu: a record is longer than %zu bytes (an open quote?): the "
                    "limit is copy.record.bytes.max",
                    (unsigned long long)r->line, r->record_max);
            break;
        }
        r->scanned = 0;
        r->scan_quoted = false;
        if (!record.skip) {
            r->lines[rows] = r->line;
            r->rules->split(r, r->at, record.len, rows);
            rows++;
        }
        r->line += record.newlines;
        r->at += record.next;
        r->started = true; /* no byte order mark but at the start of the file */
        if (r->at > UINT32_MAX / 2)
            break; /* offsets of a block are 32 bits */
    }
    if (r->ended && r->rules->ends_all && r->at < r->buf.len)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "received copy data after EOF marker");
    if (r->ended)
        r->at = r->buf.len;
    *out = (alm_csv_block){.bytes = r->buf.ptr,
                           .rows = rows,
                           .cols = r->cols,
                           .stride = r->rows_max,
                           .fields = r->fields,
                           .lines = r->lines,
                           .ragged = r->ragged,
                           .rules = r->rules,
                           .patterns = r->patterns,
                           .exact = r->exact,
                           .units = r->units,
                           .copy = r->copy};
    return ALM_OK;
}

alm_status alm_csv_text(alm_ctx *cx, alm_arena *arena, const alm_csv_block *block,
                        const alm_csv_field *field, alm_str *out)
{
    const alm_str raw = {block->bytes + field->off, field->len};
    if (field->null) {
        *out = (alm_str){0};
        return ALM_OK;
    }
    *out = raw;
    if (!field->coded)
        return ALM_OK;
    char *to = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, raw.len + 1, &to));
    *out = (alm_str){to, block->rules->decode(block, raw, to)};
    return ALM_OK;
}
