/* ndjson.c - see ndjson.h. A line is checked once, then its members are slices of it. */
#include "codec/ndjson/ndjson.h"

#include "base/conf.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/number.h"
#include "base/utf8.h"
#include "codec/csv/csv_state.h"
#include "codec/json_scan.h"

/* Keys by their hash; the next one is mostly the one behind that of the member before. */
struct alm_csv_keys {
    const alm_str *key;
    uint32_t n, cap; /* cap: a power of two, of `slot` */
    uint32_t *slot;  /* column + 1; 0: free */
};

/* ------------------------------------------------------------------------- records */

static alm_status find_line(alm_ctx *cx, alm_csv_reader *r, bool last, alm_csv_record *out)
{
    const char *from = r->buf.ptr + r->at;
    const size_t left = r->buf.len - r->at;
    const char *lf = r->scanned < left ? memchr(from + r->scanned, '\n', left - r->scanned) : NULL;
    (void)cx;
    if (lf == NULL) {
        r->scanned = left;
        if (!last)
            return ALM_OK;
    }
    alm_csv_line(r, lf != NULL ? (size_t)(lf - from) : left, lf != NULL, out);
    out->skip = true;
    for (size_t i = 0; out->skip && i < out->len; i++)
        out->skip = from[i] == ' ' || from[i] == '\t';
    return ALM_OK;
}

/* A key without its quotes; UINT32_MAX: no column. */
static uint32_t column_of(const struct alm_csv_keys *keys, alm_str key, uint32_t guess)
{
    if (guess < keys->n && alm_str_eq(keys->key[guess], key))
        return guess;
    for (uint32_t at = (uint32_t)alm_hash_str(key);; at++) {
        const uint32_t col = keys->slot[at & (keys->cap - 1)];
        if (col == 0)
            return UINT32_MAX;
        if (alm_str_eq(keys->key[col - 1], key))
            return col - 1;
    }
}

static alm_str within_quotes(alm_str raw)
{
    return (alm_str){raw.ptr + 1, raw.len - 2};
}

static alm_csv_field field_of(const alm_csv_reader *r, const alm_json_value *v)
{
    const bool text = v->kind == ALM_JSON_STRING;
    const alm_str bytes = text ? within_quotes(v->raw) : v->raw;
    return (alm_csv_field){.off = (uint32_t)(bytes.ptr - r->buf.ptr),
                           .len = (uint32_t)bytes.len,
                           .quoted = text,
                           .coded = text && memchr(bytes.ptr, '\\', bytes.len) != NULL,
                           .null = v->kind == ALM_JSON_NULL};
}

static void split_object(alm_csv_reader *r, size_t base, size_t n, uint32_t row)
{
    alm_ctx probe = {0};
    alm_json_value object, value;
    alm_str key;
    uint32_t next = 0;
    alm_csv_fill(r, row, 0, base);
    r->ragged[row] = ALM_CSV_WHOLE;
    if (alm_json_check(&probe, (alm_str){r->buf.ptr + base, n}, &object) != ALM_OK ||
        object.kind != ALM_JSON_OBJECT) {
        r->ragged[row] = ALM_CSV_NO_OBJECT;
        return;
    }
    for (size_t at = 0; alm_json_next(object, &at, &key, &value);) {
        const uint32_t col = column_of(r->keys, within_quotes(key), next);
        if (col != UINT32_MAX)
            (void)alm_csv_put(r, row, col, field_of(r, &value));
        else if (value.kind != ALM_JSON_NULL)
            r->ragged[row] = ALM_CSV_NEW_KEY;
        next = col != UINT32_MAX ? col + 1 : next;
    }
}

static uint32_t unit_at(const char *hex)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++)
        unit = unit * 16 + (uint32_t)alm_hex_digit(hex[i]);
    return unit;
}

/* The text was checked: what stands behind a backslash is one of JSON's. */
static size_t unescape(const alm_csv_block *block, alm_str raw, char *to)
{
    static const char letters[] = "bfnrt", controls[] = "\b\f\n\r\t";
    size_t n = 0;
    (void)block;
    for (size_t i = 0; i < raw.len; i++) {
        const char c = raw.ptr[i];
        if (c != '\\') {
            to[n++] = c;
            continue;
        }
        const char code = raw.ptr[++i];
        const char *letter = strchr(letters, code);
        if (code != 'u') {
            to[n++] = letter != NULL ? controls[letter - letters] : code;
            continue;
        }
        uint32_t point = unit_at(raw.ptr + i + 1);
        i += 4;
        if (point >= 0xD800 && point < 0xDC00) {
            point = 0x10000 + ((point & 0x3ff) << 10) + (unit_at(raw.ptr + i + 3) & 0x3ff);
            i += 6;
        }
        n += alm_utf8_put(point, to + n);
    }
    return n;
}

static alm_status index_keys(alm_ctx *cx, alm_arena *arena, const alm_str *keys, uint32_t n,
                             struct alm_csv_keys **out)
{
    struct alm_csv_keys *k = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &k));
    *k = (struct alm_csv_keys){.key = keys, .n = n, .cap = 16};
    while (k->cap < 2 * n)
        k->cap *= 2;
    ALM_TRY(ALM_NEWN(cx, arena, k->cap, &k->slot));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)alm_hash_str(keys[i]);
        while (k->slot[at & (k->cap - 1)] != 0)
            at++;
        k->slot[at & (k->cap - 1)] = i + 1;
    }
    *out = k;
    return ALM_OK;
}

alm_status alm_ndjson_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem, const alm_str *keys,
                                 uint32_t n, size_t record_max, alm_csv_reader **out)
{
    static const alm_csv_rules rules = {
        .find = find_line, .split = split_object, .decode = unescape};
    struct alm_csv_keys *index = NULL;
    ALM_TRY(index_keys(cx, arena, keys, n, &index));
    ALM_TRY(alm_csv_reader_make(cx, arena, mem, &rules, n, record_max, out));
    (*out)->keys = index;
    return ALM_OK;
}

/* ----------------------------------------------------------------------- detection */

typedef struct found_key {
    alm_str raw;
    uint32_t fits;
    bool any, none; /* none: no value yet */
    alm_csv_column numbers;
} found_key;

typedef struct detection {
    alm_ctx *cx;
    alm_arena *arena;
    alm_map map; /* of raw keys, to number + 1 */
    found_key *key;
    uint32_t n, cap;
} detection;

static alm_status key_number(detection *d, alm_str raw, uint32_t *out)
{
    const void *known = alm_map_get(&d->map, raw);
    *out = known != NULL ? (uint32_t)(uintptr_t)known - 1 : d->n;
    if (known != NULL)
        return ALM_OK;
    if (d->n == ALM_CSV_COLS_MAX)
        return alm_fail(d->cx, ALM_E_LIMIT, -1, "a file may have %d columns, not more keys",
                        ALM_CSV_COLS_MAX);
    if (d->n == d->cap) {
        found_key *bigger = NULL;
        d->cap = ALM_MAX(32U, d->cap * 2);
        ALM_TRY(ALM_NEWN(d->cx, d->arena, d->cap, &bigger));
        if (d->n > 0)
            memcpy(bigger, d->key, d->n * sizeof *bigger);
        d->key = bigger;
    }
    found_key *k = &d->key[d->n++];
    *k = (found_key){.fits = ~0u, .none = true};
    ALM_TRY(alm_arena_copy(d->cx, d->arena, raw, &k->raw));
    return alm_map_put(d->cx, &d->map, k->raw, (void *)(uintptr_t)d->n, NULL);
}

static alm_status take_value(detection *d, found_key *k, const alm_json_value *v)
{
    alm_str text = v->raw;
    if (v->kind == ALM_JSON_STRING)
        ALM_TRY(alm_json_unquote(d->cx, d->arena, v->raw, &text));
    if (v->kind == ALM_JSON_NULL || text.len == 0)
        return ALM_OK;
    k->any = true;
    if (k->none || k->numbers.whole)
        alm_csv_widen(&k->numbers, &k->none, text);
    if (v->kind == ALM_JSON_ARRAY || v->kind == ALM_JSON_OBJECT)
        k->fits = 0;
    else if (k->fits != 0)
        k->fits &= alm_csv_value_fits(text, v->kind == ALM_JSON_STRING);
    return ALM_OK;
}

static alm_status take_lines(detection *d, alm_str sample, bool whole, alm_csv_shape *out)
{
    const int64_t most =
        d->cx->conf != NULL ? d->cx->conf->http_text_analysis_max_lines : ALM_CSV_SAMPLE_ROWS;
    for (size_t at = 0, end = 0; at < sample.len && (int64_t)out->sample_rows < most;
         at = end + 1) {
        const char *lf = memchr(sample.ptr + at, '\n', sample.len - at);
        alm_ctx probe = {0};
        alm_json_value object, value;
        alm_str key;
        end = lf != NULL ? (size_t)(lf - sample.ptr) : sample.len;
        if (lf == NULL && !whole)
            break;
        if (alm_json_check(&probe, (alm_str){sample.ptr + at, end - at}, &object) != ALM_OK ||
            object.kind != ALM_JSON_OBJECT)
            continue; /* a blank line, or one that the report names */
        out->sample_rows++;
        for (size_t member = 0; alm_json_next(object, &member, &key, &value);) {
            uint32_t number = 0;
            ALM_TRY(key_number(d, within_quotes(key), &number));
            ALM_TRY(take_value(d, &d->key[number], &value));
        }
    }
    return ALM_OK;
}

static alm_status key_text(detection *d, alm_str raw, alm_str *out)
{
    char *quoted = NULL;
    ALM_TRY(alm_arena_bytes(d->cx, d->arena, raw.len + 2, &quoted));
    quoted[0] = quoted[raw.len + 1] = '"';
    memcpy(quoted + 1, raw.ptr, raw.len);
    return alm_json_unquote(d->cx, d->arena, (alm_str){quoted, raw.len + 2}, out);
}

static alm_status name_columns(detection *d, alm_csv_shape *out, alm_str *keys)
{
    alm_map seen;
    alm_map_init(&seen, true);
    alm_status st = ALM_OK;
    for (uint32_t i = 0; st == ALM_OK && i < d->n; i++) {
        alm_csv_column *col = &out->cols[i];
        *col = d->key[i].numbers;
        alm_str text = {0};
        void *old = NULL;
        keys[i] = d->key[i].raw;
        st = key_text(d, keys[i], &text);
        if (st == ALM_OK)
            st = alm_csv_clean_name(d->cx, d->arena, text, i, &col->name);
        if (st == ALM_OK)
            st = alm_csv_keep_written(d->cx, d->arena, text, &col->written);
        if (st == ALM_OK)
            st = alm_map_put(d->cx, &seen, alm_str_of(col->name), col, &old);
        if (st == ALM_OK && old != NULL)
            st = alm_fail(d->cx, ALM_E_DUPLICATE, -1, "duplicate column name found [no=%u,name=%s]",
                          i, col->name);
        col->type = alm_csv_type_of_fits(d->key[i].fits, d->key[i].any);
        col->found = true;
    }
    alm_map_deinit(&seen);
    return st;
}

alm_status alm_ndjson_detect(alm_ctx *cx, alm_arena *arena, alm_str sample, bool whole,
                             alm_csv_shape *out, const alm_str **keys)
{
    detection d = {.cx = cx, .arena = arena};
    alm_str *raw = NULL;
    if (alm_utf8_is_marked(sample)) {
        sample.ptr += ALM_UTF8_MARK_BYTES;
        sample.len -= ALM_UTF8_MARK_BYTES;
    }
    *out = (alm_csv_shape){.header = true, .named = true};
    alm_map_init(&d.map, false);
    alm_status st = take_lines(&d, sample, whole, out);
    alm_map_deinit(&d.map);
    ALM_TRY(st);
    if (d.n == 0)
        return alm_fail(cx, ALM_E_VALUE, -1, "no line of the file's beginning is a JSON object");
    out->n_cols = d.n;
    ALM_TRY(ALM_NEWN(cx, arena, d.n, &out->cols));
    ALM_TRY(ALM_NEWN(cx, arena, d.n, &raw));
    ALM_TRY(name_columns(&d, out, raw));
    *keys = raw;
    return ALM_OK;
}
