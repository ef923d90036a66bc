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
    alm_csv_reader *reader = NULL;
    if (cols > ALM_CSV_COLS_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a file may have 1 to %d columns, not %u",
                        ALM_CSV_COLS_MAX, cols);
    ALM_TRY(ALM_NEW(cx, arena, &reader));
    reader->mem = mem;
    reader->rules = rules;
    reader->cols = cols;
    const uint32_t fit = FIELDS_MAX / ALM_MAX(cols, 1U);
    reader->rows_max = fit < ALM_BATCH_ROWS ? fit : ALM_BATCH_ROWS;
    reader->record_max = record_max;
    reader->line = 1;
    ALM_TRY(ALM_NEWN(cx, arena, (size_t)cols * reader->rows_max, &reader->fields));
    ALM_TRY(ALM_NEWN(cx, arena, ALM_BATCH_ROWS, &reader->lines));
    ALM_TRY(ALM_NEWN(cx, arena, ALM_BATCH_ROWS, &reader->ragged));
    alm_buf_init(&reader->buf, mem);
    *out = reader;
    return ALM_OK;
}

void alm_csv_reader_patterns(alm_csv_reader *reader, const struct alm_time_pattern *const *patterns)
{
    reader->patterns = patterns;
}

void alm_csv_reader_exact(alm_csv_reader *reader, const bool *exact)
{
    reader->exact = exact;
}

void alm_csv_reader_units(alm_csv_reader *reader, const alm_epoch *units)
{
    reader->units = units;
}

void alm_csv_reader_free(alm_csv_reader *reader)
{
    if (reader != NULL)
        alm_buf_deinit(&reader->buf);
}

alm_status alm_csv_feed(alm_ctx *cx, alm_csv_reader *reader, const char *bytes, size_t n)
{
    if (reader->at > 0) {
        (void)memmove(reader->buf.ptr, reader->buf.ptr + reader->at, reader->buf.len - reader->at);
        reader->buf.len -= reader->at;
        reader->at = 0;
    }
    ALM_TRY(alm_buf_append(cx, &reader->buf, bytes, n));
    if (!reader->started && reader->buf.len >= 3) {
        if (memcmp(reader->buf.ptr, "\xef\xbb\xbf", 3) == 0) {
            reader->at = 3;
            reader->scanned = 0;
        }
        reader->started = true;
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
static bool csv_reader_scan_quoted(const char *from, size_t left, bool last, record_scan *scan)
{
    const char *quote = memchr(from + scan->i, '"', left - scan->i);
    if (quote == NULL) {
        scan->i = left;
        return false;
    }
    const size_t offset = (size_t)(quote - from);
    if (offset + 1 == left && !last) { /* it may be the first of two */
        scan->i = offset;
        return false;
    }
    if (offset + 1 < left && from[offset + 1] == '"') {
        scan->i = offset + 2;
        return scan->i < left;
    }
    scan->i = offset + 1;
    scan->quoted = false;
    return true;
}

/* Outside of quotes: to the line end (true: found) or behind a quote that opens a field. A quote in
 * the middle of a field is a byte like others. */
static bool scan_plain(const char *from, size_t left, char delimiter, record_scan *scan)
{
    if (scan->line < scan->i || scan->line == 0) {
        const char *line_end = memchr(from + scan->i, '\n', left - scan->i);
        scan->line = line_end != NULL ? (size_t)(line_end - from) : left;
    }
    while (scan->i < scan->line) {
        const char *quote = memchr(from + scan->i, '"', scan->line - scan->i);
        if (quote == NULL)
            break;
        const size_t offset = (size_t)(quote - from);
        scan->i = offset + 1;
        if (offset == 0 || from[offset - 1] == delimiter) {
            scan->quoted = true;
            return false;
        }
    }
    scan->i = scan->line;
    return scan->line < left;
}

void alm_csv_line(const alm_csv_reader *reader, size_t end, bool found, alm_csv_record *out)
{
    const char *from = reader->buf.ptr + reader->at;
    *out = (alm_csv_record){.found = true, .len = end, .next = end + found, .newlines = found};
    for (const char *ptr = from; (ptr = memchr(ptr, '\n', end - (size_t)(ptr - from))) != NULL;
         ptr++)
        out->newlines++;
    if (end > 0 && from[end - 1] == '\r')
        out->len--;
}

static alm_status csv_reader_find_record(alm_ctx *cx, alm_csv_reader *reader, bool last,
                                         alm_csv_record *out)
{
    const char *from = reader->buf.ptr + reader->at;
    const size_t left = reader->buf.len - reader->at;
    record_scan scan = {.i = reader->scanned, .quoted = reader->scan_quoted};
    bool found = false;
    while (!found && scan.i < left) {
        if (scan.quoted) {
            if (!csv_reader_scan_quoted(from, left, last, &scan))
                break;
            continue;
        }
        found = scan_plain(from, left, reader->delimiter, &scan);
        if (!found && !scan.quoted)
            break;
    }
    if (!found && !last) {
        reader->scanned = scan.i;
        reader->scan_quoted = scan.quoted;
        return ALM_OK;
    }
    if (!found && scan.quoted)
        return alm_fail(cx, ALM_E_VALUE, -1, "line %llu: a quote that is not closed",
                        (unsigned long long)reader->line);
    alm_csv_line(reader, found ? scan.i : left, found, out);
    out->skip = out->len == 0;
    return ALM_OK;
}

/* Reads a quoted field at from[*i] (behind the opening quote); leaves *i at the delimiter or end. */
static void csv_reader_quoted_field(const char *from, size_t n, size_t *i, size_t base,
                                    char delimiter, alm_csv_field *out)
{
    const size_t start = *i;
    size_t offset = start;
    bool doubled = false;
    for (;;) {
        const char *quote = offset < n ? memchr(from + offset, '"', n - offset) : NULL;
        if (quote == NULL) { /* never closed: the rest of the record */
            offset = n;
            break;
        }
        offset = (size_t)(quote - from);
        if (offset + 1 < n && from[offset + 1] == '"') {
            doubled = true;
            offset += 2;
            continue;
        }
        break;
    }
    const char *end = offset < n ? memchr(from + offset, delimiter, n - offset) : NULL;
    *i = end != NULL ? (size_t)(end - from) : n;
    const bool more = *i > offset + 1; /* bytes behind the closing quote */
    *out = (alm_csv_field){.off = (uint32_t)(base + start),
                           .len = (uint32_t)((more ? *i : offset) - start),
                           .quoted = true,
                           .coded = doubled || more};
}

static void csv_reader_split_record(alm_csv_reader *reader, size_t base, size_t n, uint32_t row)
{
    const char *from = reader->buf.ptr + base;
    uint32_t col = 0;
    size_t i = 0;
    bool more = true;
    while (more) {
        alm_csv_field field;
        if (i < n && from[i] == '"') {
            i++;
            csv_reader_quoted_field(from, n, &i, base, reader->delimiter, &field);
        } else {
            const size_t start = i;
            const char *end = i < n ? memchr(from + i, reader->delimiter, n - i) : NULL;
            i = end != NULL ? (size_t)(end - from) : n;
            field = (alm_csv_field){
                .off = (uint32_t)(base + start), .len = (uint32_t)(i - start), .null = i == start};
        }
        (void)alm_csv_put(reader, row, col, field);
        col += col < reader->cols ||
               !field.null; /* behind the last column an empty field is no value */
        more = i < n;
        i++;
    }
    alm_csv_fill(reader, row, col, base);
}

/* Two quotes are one; a single one closed the quoted part, and what follows stays as it is. */
static size_t undouble(const alm_csv_block *block, alm_str raw, char *dest)
{
    size_t count = 0;
    (void)block;
    for (size_t i = 0; i < raw.len; i++) {
        const bool quote = raw.ptr[i] == '"';
        if (quote && (i + 1 == raw.len || raw.ptr[i + 1] != '"')) {
            (void)memcpy(dest + count, raw.ptr + i + 1, raw.len - i - 1);
            return count + raw.len - i - 1;
        }
        dest[count++] = raw.ptr[i];
        i += quote;
    }
    return count;
}

alm_status alm_csv_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem, char delimiter,
                              uint32_t cols, size_t record_max, alm_csv_reader **out)
{
    static const alm_csv_rules rules = {
        .find = csv_reader_find_record, .split = csv_reader_split_record, .decode = undouble};
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

alm_status alm_csv_next(alm_ctx *cx, alm_csv_reader *reader, bool last, alm_csv_block *out)
{
    uint32_t rows = 0;
    while (rows < reader->rows_max && reader->at < reader->buf.len && !reader->ended) {
        alm_csv_record record = {0};
        ALM_TRY(reader->rules->find(cx, reader, last, &record));
        if (!record.found) {
            if (reader->buf.len - reader->at > reader->record_max)
                return alm_fail(
                    cx, ALM_E_LIMIT, -1,
                    "line %llu: a record is longer than %zu bytes (an open quote?): the "
                    "limit is copy.record.bytes.max",
                    (unsigned long long)reader->line, reader->record_max);
            break;
        }
        reader->scanned = 0;
        reader->scan_quoted = false;
        if (!record.skip) {
            reader->lines[rows] = reader->line;
            reader->rules->split(reader, reader->at, record.len, rows);
            rows++;
        }
        reader->line += record.newlines;
        reader->at += record.next;
        reader->started = true; /* no byte order mark but at the start of the file */
        if (reader->at > UINT32_MAX / 2)
            break; /* offsets of a block are 32 bits */
    }
    if (reader->ended && reader->rules->ends_all && reader->at < reader->buf.len)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "received copy data after EOF marker");
    if (reader->ended)
        reader->at = reader->buf.len;
    *out = (alm_csv_block){.bytes = reader->buf.ptr,
                           .rows = rows,
                           .cols = reader->cols,
                           .stride = reader->rows_max,
                           .fields = reader->fields,
                           .lines = reader->lines,
                           .ragged = reader->ragged,
                           .rules = reader->rules,
                           .patterns = reader->patterns,
                           .exact = reader->exact,
                           .units = reader->units,
                           .copy = reader->copy};
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
    char *dest = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, raw.len + 1, &dest));
    *out = (alm_str){dest, block->rules->decode(block, raw, dest)};
    return ALM_OK;
}
