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

static alm_status find_line(alm_ctx *cx, alm_csv_reader *reader, bool last, alm_csv_record *out)
{
    const char *from = reader->buf.ptr + reader->at;
    const size_t left = reader->buf.len - reader->at;
    const char *line_end = reader->scanned < left
                               ? memchr(from + reader->scanned, '\n', left - reader->scanned)
                               : NULL;
    (void)cx;
    if (line_end == NULL) {
        reader->scanned = left;
        if (!last)
            return ALM_OK;
    }
    alm_csv_line(reader, line_end != NULL ? (size_t)(line_end - from) : left, line_end != NULL,
                 out);
    out->skip = true;
    for (size_t i = 0; out->skip && i < out->len; i++)
        out->skip = from[i] == ' ' || from[i] == '\t';
    return ALM_OK;
}

/* A key without its quotes; UINT32_MAX: no column. */
static uint32_t ndjson_column_of(const struct alm_csv_keys *keys, alm_str key, uint32_t guess)
{
    if (guess < keys->n && alm_str_eq(keys->key[guess], key))
        return guess;
    for (uint32_t place = (uint32_t)alm_hash_str(key);; place++) {
        const uint32_t col = keys->slot[place & (keys->cap - 1)];
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

static alm_csv_field ndjson_field_of(const alm_csv_reader *reader, const alm_json_value *value)
{
    const bool text = value->kind == ALM_JSON_STRING;
    const alm_str bytes = text ? within_quotes(value->raw) : value->raw;
    return (alm_csv_field){.off = (uint32_t)(bytes.ptr - reader->buf.ptr),
                           .len = (uint32_t)bytes.len,
                           .quoted = text,
                           .coded = text && memchr(bytes.ptr, '\\', bytes.len) != NULL,
                           .null = value->kind == ALM_JSON_NULL};
}

static void split_object(alm_csv_reader *reader, size_t base, size_t n, uint32_t row)
{
    alm_ctx probe = {0};
    alm_json_value object, value;
    alm_str key;
    uint32_t next = 0;
    alm_csv_fill(reader, row, 0, base);
    reader->ragged[row] = ALM_CSV_WHOLE;
    if (alm_json_check(&probe, (alm_str){reader->buf.ptr + base, n}, &object) != ALM_OK ||
        object.kind != ALM_JSON_OBJECT) {
        reader->ragged[row] = ALM_CSV_NO_OBJECT;
        return;
    }
    for (size_t offset = 0; alm_json_next(object, &offset, &key, &value);) {
        const uint32_t col = ndjson_column_of(reader->keys, within_quotes(key), next);
        if (col != UINT32_MAX)
            (void)alm_csv_put(reader, row, col, ndjson_field_of(reader, &value));
        else if (value.kind != ALM_JSON_NULL)
            reader->ragged[row] = ALM_CSV_NEW_KEY;
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
static size_t ndjson_unescape(const alm_csv_block *block, alm_str raw, char *dest)
{
    static const char letters[] = "bfnrt", controls[] = "\b\f\n\r\t";
    size_t count = 0;
    (void)block;
    for (size_t i = 0; i < raw.len; i++) {
        const char byte = raw.ptr[i];
        if (byte != '\\') {
            dest[count++] = byte;
            continue;
        }
        const char code = raw.ptr[++i];
        const char *letter = strchr(letters, code);
        if (code != 'u') {
            dest[count++] = letter != NULL ? controls[letter - letters] : code;
            continue;
        }
        uint32_t point = unit_at(raw.ptr + i + 1);
        i += 4;
        if (point >= 0xD800 && point < 0xDC00) {
            point = 0x10000 + ((point & 0x3ff) << 10) + (unit_at(raw.ptr + i + 3) & 0x3ff);
            i += 6;
        }
        count += alm_utf8_put(point, dest + count);
    }
    return count;
}

static alm_status index_keys(alm_ctx *cx, alm_arena *arena, const alm_str *keys, uint32_t n_keys,
                             struct alm_csv_keys **out)
{
    struct alm_csv_keys *csv_keys = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &csv_keys));
    *csv_keys = (struct alm_csv_keys){.key = keys, .n = n_keys, .cap = 16};
    while (csv_keys->cap < 2 * n_keys)
        csv_keys->cap *= 2;
    ALM_TRY(ALM_NEWN(cx, arena, csv_keys->cap, &csv_keys->slot));
    for (uint32_t i = 0; i < n_keys; i++) {
        uint32_t place = (uint32_t)alm_hash_str(keys[i]);
        while (csv_keys->slot[place & (csv_keys->cap - 1)] != 0)
            place++;
        csv_keys->slot[place & (csv_keys->cap - 1)] = i + 1;
    }
    *out = csv_keys;
    return ALM_OK;
}

alm_status alm_ndjson_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem, const alm_str *keys,
                                 uint32_t n, size_t record_max, alm_csv_reader **out)
{
    static const alm_csv_rules rules = {
        .find = find_line, .split = split_object, .decode = ndjson_unescape};
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

static alm_status key_number(detection *self, alm_str raw, uint32_t *out)
{
    const void *known = alm_map_get(&self->map, raw);
    *out = known != NULL ? (uint32_t)(uintptr_t)known - 1 : self->n;
    if (known != NULL)
        return ALM_OK;
    if (self->n == ALM_CSV_COLS_MAX)
        return alm_fail(self->cx, ALM_E_LIMIT, -1, "a file may have %d columns, not more keys",
                        ALM_CSV_COLS_MAX);
    if (self->n == self->cap) {
        found_key *bigger = NULL;
        self->cap = ALM_MAX(32U, self->cap * 2);
        ALM_TRY(ALM_NEWN(self->cx, self->arena, self->cap, &bigger));
        if (self->n > 0)
            memcpy(bigger, self->key, self->n * sizeof *bigger);
        self->key = bigger;
    }
    found_key *key = &self->key[self->n++];
    *key = (found_key){.fits = ~0u, .none = true};
    ALM_TRY(alm_arena_copy(self->cx, self->arena, raw, &key->raw));
    return alm_map_put(self->cx, &self->map, key->raw, (void *)(uintptr_t)self->n, NULL);
}

static alm_status ndjson_take_value(detection *self, found_key *key, const alm_json_value *value)
{
    alm_str text = value->raw;
    if (value->kind == ALM_JSON_STRING)
        ALM_TRY(alm_json_unquote(self->cx, self->arena, value->raw, &text));
    if (value->kind == ALM_JSON_NULL || text.len == 0)
        return ALM_OK;
    key->any = true;
    if (key->none || key->numbers.whole)
        alm_csv_widen(&key->numbers, &key->none, text);
    if (value->kind == ALM_JSON_ARRAY || value->kind == ALM_JSON_OBJECT)
        key->fits = 0;
    else if (key->fits != 0)
        key->fits &= alm_csv_value_fits(text, value->kind == ALM_JSON_STRING);
    return ALM_OK;
}

static alm_status take_lines(detection *self, alm_str sample, bool whole, alm_csv_shape *out)
{
    const int64_t most =
        self->cx->conf != NULL ? self->cx->conf->http_text_analysis_max_lines : ALM_CSV_SAMPLE_ROWS;
    for (size_t offset = 0, end = 0; offset < sample.len && (int64_t)out->sample_rows < most;
         offset = end + 1) {
        const char *line_end = memchr(sample.ptr + offset, '\n', sample.len - offset);
        alm_ctx probe = {0};
        alm_json_value object, value;
        alm_str key;
        end = line_end != NULL ? (size_t)(line_end - sample.ptr) : sample.len;
        if (line_end == NULL && !whole)
            break;
        if (alm_json_check(&probe, (alm_str){sample.ptr + offset, end - offset}, &object) !=
                ALM_OK ||
            object.kind != ALM_JSON_OBJECT)
            continue; /* a blank line, or one that the report names */
        out->sample_rows++;
        for (size_t member = 0; alm_json_next(object, &member, &key, &value);) {
            uint32_t number = 0;
            ALM_TRY(key_number(self, within_quotes(key), &number));
            ALM_TRY(ndjson_take_value(self, &self->key[number], &value));
        }
    }
    return ALM_OK;
}

static alm_status key_text(detection *self, alm_str raw, alm_str *out)
{
    char *quoted = NULL;
    ALM_TRY(alm_arena_bytes(self->cx, self->arena, raw.len + 2, &quoted));
    quoted[0] = quoted[raw.len + 1] = '"';
    memcpy(quoted + 1, raw.ptr, raw.len);
    return alm_json_unquote(self->cx, self->arena, (alm_str){quoted, raw.len + 2}, out);
}

static alm_status ndjson_name_columns(detection *self, alm_csv_shape *out, alm_str *keys)
{
    alm_map seen;
    alm_map_init(&seen, true);
    alm_status status = ALM_OK;
    for (uint32_t i = 0; status == ALM_OK && i < self->n; i++) {
        alm_csv_column *col = &out->cols[i];
        *col = self->key[i].numbers;
        alm_str text = {0};
        void *old = NULL;
        keys[i] = self->key[i].raw;
        status = key_text(self, keys[i], &text);
        if (status == ALM_OK)
            status = alm_csv_clean_name(self->cx, self->arena, text, i, &col->name);
        if (status == ALM_OK)
            status = alm_csv_keep_written(self->cx, self->arena, text, &col->written);
        if (status == ALM_OK)
            status = alm_map_put(self->cx, &seen, alm_str_of(col->name), col, &old);
        if (status == ALM_OK && old != NULL)
            status = alm_fail(self->cx, ALM_E_DUPLICATE, -1,
                              "duplicate column name found [no=%u,name=%s]", i, col->name);
        col->type = alm_csv_type_of_fits(self->key[i].fits, self->key[i].any);
        col->found = true;
    }
    alm_map_deinit(&seen);
    return status;
}

alm_status alm_ndjson_detect(alm_ctx *cx, alm_arena *arena, alm_str sample, bool whole,
                             alm_csv_shape *out, const alm_str **keys)
{
    detection self = {.cx = cx, .arena = arena};
    alm_str *raw = NULL;
    if (alm_utf8_is_marked(sample)) {
        sample.ptr += ALM_UTF8_MARK_BYTES;
        sample.len -= ALM_UTF8_MARK_BYTES;
    }
    *out = (alm_csv_shape){.header = true, .named = true};
    alm_map_init(&self.map, false);
    alm_status status = take_lines(&self, sample, whole, out);
    alm_map_deinit(&self.map);
    ALM_TRY(status);
    if (self.n == 0)
        return alm_fail(cx, ALM_E_VALUE, -1, "no line of the file's beginning is a JSON object");
    out->n_cols = self.n;
    ALM_TRY(ALM_NEWN(cx, arena, self.n, &out->cols));
    ALM_TRY(ALM_NEWN(cx, arena, self.n, &raw));
    ALM_TRY(ndjson_name_columns(&self, out, raw));
    *keys = raw;
    return ALM_OK;
}
