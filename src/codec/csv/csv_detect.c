/*
 * csv_detect.c - delimiter, header and types of a CSV file from its first lines.
 *
 * A type is a candidate until a value of the sample says otherwise. Types are never narrower than the
 * sample, and text is never narrower than VARCHAR: a later, longer value must not be cut.
 */
#include <math.h>
#include <stdio.h>

#include "base/conf.h"
#include "base/map.h"
#include "base/number.h"
#include "base/utf8.h"
#include "codec/csv/csv_state.h"
#include "time/timestamp.h"
#include "type/text.h"

/* Candidates, narrowest first; the first that all values of a column fit is its type. */
enum {
    FIT_BOOLEAN,
    FIT_INT,
    FIT_LONG,
    FIT_DOUBLE,
    FIT_DATE,
    FIT_TIMESTAMP,
    FIT_NANOS,
    FIT_UUID,
    FIT_IPV4,
    FIT_LONG256,
    FIT_COUNT
};

static const alm_type fit_types[FIT_COUNT] = {{.id = ALM_T_BOOLEAN},      {.id = ALM_T_INT},
                                              {.id = ALM_T_LONG},         {.id = ALM_T_DOUBLE},
                                              {.id = ALM_T_DATE},         {.id = ALM_T_TIMESTAMP},
                                              {.id = ALM_T_TIMESTAMP_NS}, {.id = ALM_T_UUID},
                                              {.id = ALM_T_IPV4},         {.id = ALM_T_LONG256}};

static uint32_t time_fits(alm_str text)
{
    alm_time_text parsed;
    if (text.len < 10 || alm_time_text_read(text, &parsed) != text.len)
        return 0; /* years and months alone are numbers */
    const int32_t digits = parsed.fraction_digits;
    return (digits <= 3 ? 1u << FIT_DATE : 0) | (digits <= 6 ? 1u << FIT_TIMESTAMP : 0) |
           1u << FIT_NANOS;
}

/* Would the text of a whole number be another one as a DOUBLE? digits: behind its sign. */
static bool is_too_wide(const char *digits, size_t n_digits, double value)
{
    char exact[400];
    for (size_t i = 0; i < n_digits; i++)
        if (digits[i] < '0' || digits[i] > '9')
            return false; /* of fractions the nearest is wanted */
    const int len = snprintf(exact, sizeof(exact), "%.0f", fabs(value));
    return (size_t)len != n_digits || memcmp(exact, digits, n_digits) != 0;
}

/* Numbers that have all their digits in the type, and are not the one that stands for null in it. */
static uint32_t number_fits(alm_str text, const char *digits, size_t n)
{
    uint32_t fits = 0;
    int32_t i = 0;
    int64_t l = 0;
    double value = 0;
    if (alm_int32_parse(text, &i) == ALM_NUM_OK && i != ALM_INT_NULL)
        fits |= 1u << FIT_INT;
    if (alm_int64_parse(text, &l) == ALM_NUM_OK && l != ALM_LONG_NULL)
        fits |= 1u << FIT_LONG;
    if (alm_double_parse(text, &value) == ALM_NUM_OK && !is_too_wide(digits, n, value))
        fits |= 1u << FIT_DOUBLE;
    return fits;
}

/* 0x and bytes in hexadecimal, at most 32 of them; not the value that stands for null. */
static bool is_long256(alm_str text)
{
    static const char null[] = "8000000000000000800000000000000080000000000000008000000000000000";
    if (text.len < 4 || text.len > 66 || text.len % 2 != 0 || text.ptr[0] != '0' ||
        (text.ptr[1] | 0x20) != 'x')
        return false;
    for (size_t i = 2; i < text.len; i++)
        if (alm_hex_digit(text.ptr[i]) < 0)
            return false;
    return text.len != 66 || memcmp(text.ptr + 2, null, 64) != 0;
}

/* Set of the candidates that a value fits. */
static uint32_t value_fits(alm_str text)
{
    uint32_t fits = 0;
    alm_uuid uuid;
    uint32_t ip = 0;
    const char *digits = text.ptr + (text.ptr[0] == '-' || text.ptr[0] == '+');
    const size_t n = text.len - (size_t)(digits - text.ptr);
    const bool code = n > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
    if (alm_str_ieq(text, ALM_STR("true")) || alm_str_ieq(text, ALM_STR("false")))
        return 1u << FIT_BOOLEAN;
    if (text.len == ALM_UUID_TEXT && alm_uuid_parse(text, &uuid))
        fits |= 1u << FIT_UUID; /* whatever digits it begins with */
    if (code)                   /* 007 is a code, not the number seven */
        return fits | time_fits(text);
    fits |= number_fits(text, digits, n);
    if (memchr(text.ptr, '.', text.len) != NULL && alm_ipv4_parse(text, &ip) && ip != 0)
        fits |= 1u << FIT_IPV4;
    if (is_long256(text))
        fits |= 1u << FIT_LONG256;
    return fits | time_fits(text);
}

uint32_t alm_csv_value_fits(alm_str text, bool is_text)
{
    const uint32_t texts = 1u << FIT_DATE | 1u << FIT_TIMESTAMP | 1u << FIT_NANOS | 1u << FIT_UUID |
                           1u << FIT_IPV4 | 1u << FIT_LONG256;
    return value_fits(text) & (is_text ? texts : ~0u);
}

alm_type alm_csv_type_of_fits(uint32_t fits, bool any)
{
    for (uint32_t k = 0; any && k < FIT_COUNT; k++)
        if ((fits >> k) & 1)
            return fit_types[k];
    return ALM_TY(VARCHAR);
}

/* ------------------------------------------------------------------ delimiter */

/* Delimiters of the record at the start of `text`; *end: its length without the line end. */
static uint32_t count_delimiters(alm_str text, char delimiter, size_t *end)
{
    uint32_t count = 0;
    bool quoted = false, start = true;
    size_t i = 0;
    for (; i < text.len && (quoted || text.ptr[i] != '\n'); i++) {
        const char byte = text.ptr[i];
        if (quoted) {
            if (byte == '"' && i + 1 < text.len && text.ptr[i + 1] == '"')
                i++;
            else
                quoted = byte != '"';
        } else if (byte == delimiter) {
            count++;
            start = true;
            continue;
        } else {
            quoted = start && byte == '"';
        }
        start = false;
    }
    *end = i < text.len ? i : text.len;
    return count;
}

/* A line of `len` bytes, which the reader passes over, too. */
static bool csv_detect_is_blank(const char *line, size_t len)
{
    return len == 0 || (len == 1 && line[0] == '\r');
}

/* The delimiter with the most lines that have as many of it as the first line has. */
static char find_delimiter(alm_str sample)
{
    static const char candidates[] = {',', '\t', '|', ';'};
    char best = ',';
    uint64_t best_score = 0;
    for (size_t k = 0; k < ALM_COUNT(candidates); k++) {
        uint64_t lines = 0, even = 0;
        uint32_t first = 0;
        for (size_t offset = 0, end = 0; offset < sample.len && lines < 100; offset += end + 1) {
            const char *line = sample.ptr + offset;
            const uint32_t n =
                count_delimiters((alm_str){line, sample.len - offset}, candidates[k], &end);
            if (csv_detect_is_blank(line, end))
                continue;
            if (lines == 0)
                first = n;
            even += n == first;
            lines++;
        }
        const uint64_t score =
            first == 0 ? 0 : even * 1000 / (lines > 0 ? lines : 1) * 64 + ALM_MIN(first, 63u);
        if (score > best_score) {
            best_score = score;
            best = candidates[k];
        }
    }
    return best;
}

static uint32_t count_columns(alm_str sample, char delimiter)
{
    size_t offset = 0;
    while (offset < sample.len && (sample.ptr[offset] == '\n' || sample.ptr[offset] == '\r'))
        offset++;
    size_t end = 0;
    return 1 +
           count_delimiters((alm_str){sample.ptr + offset, sample.len - offset}, delimiter, &end);
}

/* --------------------------------------------------------------------- header */

void alm_csv_widen(alm_csv_column *col, bool *none, alm_str text)
{
    int64_t value = 0;
    if (*none)
        *col = (alm_csv_column){.whole = true, .least = INT64_MAX, .greatest = INT64_MIN};
    *none = false;
    col->whole = col->whole && alm_int64_parse(text, &value) == ALM_NUM_OK;
    col->least = ALM_MIN(col->least, value);
    col->greatest = ALM_MAX(col->greatest, value);
}

typedef struct sample_column {
    alm_csv_column numbers; /* of the other lines: their range */
    bool none;              /* no value yet */
    alm_str first;          /* of the first line */
    uint32_t first_fits;
    uint32_t fits;      /* of the other lines */
    bool any;           /* a value among the other lines */
    bool repeats_first; /* one of them equals the first line's */
} sample_column;

static bool is_name_like(alm_str text)
{
    if (text.len == 0 || text.len > ALM_CSV_NAME_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char byte = (unsigned char)text.ptr[i];
        if (byte < ' ')
            return false;
    }
    return true;
}

/* Every line, the header included, ends with a delimiter that no value follows. */
static bool is_hollow(const sample_column *col)
{
    return col->first.len == 0 && !col->any;
}

/*
 * Names: all text. It is a header when some column's values are not text (names that repeat are an error then: as
 * rows they would make text of all), or when nothing of it comes again below (files that are all text; 24h is a name
 * then only where something else tells). Names may be missing: of the first column, where pandas and R have the index,
 * and where the values of another column tell; never in the only line of a file.
 */
static bool looks_like_header(const sample_column *cols, uint32_t n_cols, uint32_t rows, bool lone)
{
    bool typed_below = false, again = false, repeated = false, digit = false;
    uint32_t names = 0, missing = 0;
    for (uint32_t i = 0; i < n_cols; i++) {
        if (rows > 1 && is_hollow(&cols[i]))
            continue;
        const bool empty = cols[i].first.len == 0;
        if (cols[i].first_fits != 0 || (!empty && !is_name_like(cols[i].first)))
            return false;
        names += !empty;
        missing += empty;
        for (uint32_t k = 0; k < i && !empty; k++)
            repeated |= alm_str_ieq(cols[i].first, cols[k].first);
        typed_below |= cols[i].any && cols[i].fits != 0 && (!empty || i == 0);
        again |= cols[i].repeats_first;
        digit |= !empty && cols[i].first.ptr[0] >= '0' && cols[i].first.ptr[0] <= '9';
    }
    if (names == 0)
        return false;
    return typed_below || ((rows > 1 || lone) && missing == 0 && !again && !repeated && !digit);
}

static bool is_name_char(unsigned char byte)
{
    return byte > ' ' && strchr("/?:,*~+%()'\\.\"-", byte) == NULL && byte != 0x7f;
}

alm_status alm_csv_clean_name(alm_ctx *cx, alm_arena *arena, alm_str text, uint32_t col,
                              const char **out)
{
    char *name = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, text.len + 2, &name));
    size_t count = 0;
    bool upper = false;
    const bool utf8 = alm_utf8_is_valid(text);
    for (size_t i = 0; i < text.len && count < ALM_CSV_NAME_MAX; i++) {
        const unsigned char byte = (unsigned char)text.ptr[i];
        if (alm_utf8_is_marked((alm_str){text.ptr + i, text.len - i})) {
            i += ALM_UTF8_MARK_BYTES - 1;
            continue;
        }
        if (!is_name_char(byte) || (byte >= 0x80 && !utf8)) {
            upper = count > 0;
            continue;
        }
        if (count == 0 && byte >= '0' && byte <= '9')
            name[count++] = '_';
        name[count++] = upper && byte >= 'a' && byte <= 'z' ? (char)(byte - 32) : (char)byte;
        upper = false;
    }
    while (count > 0 && !alm_utf8_is_valid((alm_str){name, count}))
        count--; /* a character that the limit cut in two */
    name[count] = 0;
    *out = name;
    if (count == 0)
        return alm_arena_printf(cx, arena, out, "f%u", col);
    return ALM_OK;
}

/* --------------------------------------------------------------------- detect */

static alm_status sample_block(alm_ctx *cx, alm_arena *arena, const alm_csv_block *block,
                               sample_column *cols, uint32_t n_cols)
{
    for (uint32_t i = 0; i < n_cols; i++) {
        const alm_csv_field *fields = block->fields + (size_t)i * block->stride;
        cols[i].fits = ~0u;
        cols[i].none = true;
        for (uint32_t row = 0; row < block->rows; row++) {
            alm_str text;
            ALM_TRY(alm_csv_text(cx, arena, block, &fields[row], &text));
            if (row == 0) {
                cols[i].first = text;
                cols[i].first_fits = text.len > 0 ? value_fits(text) : 0;
                continue;
            }
            if (text.len == 0)
                continue;
            cols[i].any = true;
            if (cols[i].none || cols[i].numbers.whole)
                alm_csv_widen(&cols[i].numbers, &cols[i].none, text);
            cols[i].fits &= cols[i].fits != 0 ? value_fits(text) : 0;
            cols[i].repeats_first |= alm_str_eq(text, cols[i].first);
        }
    }
    return ALM_OK;
}

/* A table made by SQL may have names that no header gives to a new one. */
alm_status alm_csv_keep_written(alm_ctx *cx, alm_arena *arena, alm_str text, const char **out)
{
    if (text.len == 0 || text.len > ALM_CSV_NAME_MAX || memchr(text.ptr, 0, text.len) != NULL)
        return ALM_OK;
    return alm_arena_zstr(cx, arena, text, out);
}

static alm_status name_of_header(alm_ctx *cx, alm_arena *arena, alm_map *seen, uint32_t i,
                                 alm_str first, alm_csv_column *col)
{
    ALM_TRY(alm_csv_clean_name(cx, arena, first, i, &col->name));
    ALM_TRY(alm_csv_keep_written(cx, arena, first, &col->written));
    if (alm_map_get(seen, alm_str_of(col->name)) != NULL)
        return alm_fail(cx, ALM_E_DUPLICATE, -1, "duplicate column name found [no=%u,name=%s]", i,
                        col->name);
    return alm_map_put(cx, seen, alm_str_of(col->name), col, NULL);
}

/* Default name: f and the column number, with an underscore appended while another column has that name. */
static alm_status made_name(alm_ctx *cx, alm_arena *arena, alm_map *seen, uint32_t i,
                            alm_csv_column *col)
{
    ALM_TRY(alm_arena_printf(cx, arena, &col->name, "f%u", i));
    while (alm_map_get(seen, alm_str_of(col->name)) != NULL)
        ALM_TRY(alm_arena_printf(cx, arena, &col->name, "%s_", col->name));
    return alm_map_put(cx, seen, alm_str_of(col->name), col, NULL);
}

static alm_status csv_detect_name_columns(alm_ctx *cx, alm_arena *arena, const sample_column *cols,
                                          alm_csv_shape *out)
{
    alm_map seen;
    alm_map_init(&seen, true);
    alm_status status = ALM_OK;
    for (uint32_t i = 0; status == ALM_OK && i < out->n_cols; i++)
        if (out->header && cols[i].first.len > 0)
            status = name_of_header(cx, arena, &seen, i, cols[i].first, &out->cols[i]);
    for (uint32_t i = 0; status == ALM_OK && i < out->n_cols; i++)
        if (!out->header || cols[i].first.len == 0)
            status = made_name(cx, arena, &seen, i, &out->cols[i]);
    alm_map_deinit(&seen);
    return status;
}

/* Lines that end with CR alone would be one line, with all rows of the file in it. */
static bool has_bare_cr_lines(alm_str sample)
{
    bool quoted = false;
    if (memchr(sample.ptr, '\n', sample.len) != NULL)
        return false;
    for (size_t i = 0; i + 1 < sample.len; i++) {
        if (!quoted && sample.ptr[i] == '\r')
            return true;
        quoted ^= sample.ptr[i] == '"';
    }
    return false;
}

alm_status alm_csv_detect(alm_ctx *cx, alm_arena *arena, alm_str sample, bool whole, char delimiter,
                          alm_csv_header header, alm_csv_shape *out)
{
    if (alm_utf8_is_marked(sample)) {
        sample.ptr += ALM_UTF8_MARK_BYTES;
        sample.len -= ALM_UTF8_MARK_BYTES;
    }
    if (sample.ptr == NULL)
        sample = (alm_str){"", 0};
    if (sample.len >= 2 &&
        (memcmp(sample.ptr, "\xff\xfe", 2) == 0 || memcmp(sample.ptr, "\xfe\xff", 2) == 0))
        return alm_fail(cx, ALM_E_UTF8, -1, "the file is UTF-16, UTF-8 is expected");
    if (has_bare_cr_lines(sample))
        return alm_fail(cx, ALM_E_VALUE, -1, "lines end with CR alone, LF or CRLF is expected");
    *out = (alm_csv_shape){.delimiter = delimiter != 0 ? delimiter : find_delimiter(sample)};
    alm_csv_reader *reader = NULL;
    alm_csv_block block = {0};
    out->n_cols = count_columns(sample, out->delimiter);
    ALM_TRY(
        alm_csv_reader_new(cx, arena, NULL, out->delimiter, out->n_cols, sample.len + 1, &reader));
    alm_status status = alm_csv_feed(cx, reader, sample.ptr, sample.len);
    if (status == ALM_OK)
        status = alm_csv_next(cx, reader, whole, &block);
    if (status == ALM_OK && block.rows == 0 && sample.len > 0 && !whole)
        status = alm_fail(cx, ALM_E_LIMIT, -1, "line 1 is longer than %zu bytes", sample.len);
    const int64_t most =
        cx->conf != NULL ? cx->conf->http_text_analysis_max_lines : ALM_CSV_SAMPLE_ROWS;
    if (status == ALM_OK && (int64_t)block.rows > most)
        block.rows = (uint32_t)most;
    sample_column *cols = NULL;
    if (status == ALM_OK)
        status = ALM_NEWN(cx, arena, out->n_cols, &cols);
    if (status == ALM_OK && block.rows > 0)
        status = sample_block(cx, arena, &block, cols, out->n_cols);
    if (status == ALM_OK && block.rows == 0)
        out->n_cols = 0;
    if (status == ALM_OK && out->n_cols > 0) {
        out->sample_rows = block.rows;
        out->header = header == ALM_CSV_HEADER_YES ||
                      (header != ALM_CSV_HEADER_NO &&
                       looks_like_header(cols, out->n_cols, block.rows,
                                         header == ALM_CSV_HEADER_DETECT_LONE));
        out->hollow = out->header && block.rows > 1 && is_hollow(&cols[out->n_cols - 1]);
        status = ALM_NEWN(cx, arena, out->n_cols, &out->cols);
        for (uint32_t i = 0; status == ALM_OK && i < out->n_cols; i++) {
            uint32_t fits = cols[i].fits;
            bool any = cols[i].any;
            if (!out->header && cols[i].first.len > 0) {
                fits &= cols[i].first_fits;
                any = true;
                if (cols[i].none || cols[i].numbers.whole)
                    alm_csv_widen(&cols[i].numbers, &cols[i].none, cols[i].first);
            }
            out->cols[i] = cols[i].numbers;
            out->cols[i].type = alm_csv_type_of_fits(fits, any);
            out->cols[i].found = true;
        }
        if (status == ALM_OK)
            status = csv_detect_name_columns(cx, arena, cols, out);
    }
    alm_csv_reader_free(reader);
    return status;
}
