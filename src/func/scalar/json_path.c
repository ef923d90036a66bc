/*
 * json_path.c - see json_path.h. Recursive descent, bounded in depth.
 */
#include "func/scalar/json_path.h"

#include "base/number.h"
#include "base/utf8.h"

/* -------------------------------------------------------------------- path */

static bool json_path_take_index(alm_str text, size_t *at, int64_t *out)
{
    int64_t index = 0;
    size_t i = *at + 1;
    const size_t start = i;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++) {
        if (i - start > 9)
            return false;
        index = index * 10 + (text.ptr[i] - '0');
    }
    if (i == start || i >= text.len || text.ptr[i] != ']')
        return false;
    *at = i + 1;
    *out = index;
    return true;
}

bool alm_json_path_parse(alm_str text, alm_json_path *out)
{
    size_t offset = text.len > 0 && text.ptr[0] == '$' ? 1 : 0;
    out->n = 0;
    while (offset < text.len) {
        if (out->n == ALM_JSON_STEPS)
            return false;
        alm_json_step *step = &out->step[out->n++];
        *step = (alm_json_step){0};
        if (text.ptr[offset] == '[') {
            if (!json_path_take_index(text, &offset, &step->index))
                return false;
            continue;
        }
        if (text.ptr[offset] != '.')
            return false;
        const size_t start = ++offset;
        while (offset < text.len && text.ptr[offset] != '.' && text.ptr[offset] != '[')
            offset++;
        if (offset == start)
            return false;
        step->name = (alm_str){text.ptr + start, offset - start};
    }
    return true;
}

/* ----------------------------------------------------------------- strings */

/* Four digits at ptr[0..3]; -1: they are not. */
static int32_t json_path_hex_unit(const char *ptr, const char *end)
{
    int32_t unit = 0;
    if (end - ptr < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = alm_hex_digit(ptr[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* What stands at *ptr, an escape as one code point or byte run: bytes put to out (4 at most). */
static size_t json_path_next_piece(const char **ptr, const char *end, char out[4])
{
    static const char from[] = "\"\\/bfnrt", dest[] = "\"\\/\b\f\n\r\t";
    if (**ptr != '\\' || end - *ptr < 2) {
        out[0] = *(*ptr)++;
        return 1;
    }
    const char byte = (*ptr)[1];
    if (byte != 'u') {
        const char *which = byte == '\0' ? NULL : strchr(from, byte);
        out[0] = which != NULL ? dest[which - from] : byte;
        *ptr += 2;
        return 1;
    }
    int32_t unit = json_path_hex_unit(*ptr + 2, end);
    if (unit < 0) {
        out[0] = *(*ptr)++;
        return 1;
    }
    *ptr += 6;
    uint32_t code = (uint32_t)unit;
    if (code >= 0xD800 && code < 0xDC00 && end - *ptr >= 6 && (*ptr)[0] == '\\' &&
        (*ptr)[1] == 'u') {
        const int32_t low = json_path_hex_unit(*ptr + 2, end);
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
            *ptr += 6;
        }
    }
    if (code >= 0xD800 && code < 0xE000) /* half a pair */
        code = 0xFFFD;
    return alm_utf8_put(code, out);
}

size_t alm_json_unescape(alm_str raw, char *out)
{
    const char *ptr = raw.ptr, *end = raw.ptr + raw.len;
    size_t count = 0;
    while (ptr < end) {
        char piece[4];
        const size_t len = json_path_next_piece(&ptr, end, piece);
        memcpy(out + count, piece, len);
        count += len;
    }
    return count;
}

static bool json_path_names(alm_str raw, alm_str name)
{
    if (memchr(raw.ptr, '\\', raw.len) == NULL)
        return alm_str_eq(raw, name);
    const char *ptr = raw.ptr, *end = raw.ptr + raw.len;
    size_t count = 0;
    while (ptr < end) {
        char piece[4];
        const size_t len = json_path_next_piece(&ptr, end, piece);
        if (name.len - count < len || memcmp(name.ptr + count, piece, len) != 0)
            return false;
        count += len;
    }
    return count == name.len;
}

/* ------------------------------------------------------------------ values */

typedef struct reader {
    const char *p, *end;
    const alm_json_path *path;
    alm_json_value found;
} reader;

static void json_path_skip_blanks(reader *self)
{
    while (self->p < self->end &&
           (*self->p == ' ' || *self->p == '\t' || *self->p == '\n' || *self->p == '\r'))
        self->p++;
}

/* Behind blanks: is it that byte? Then past it. */
static bool json_path_take(reader *self, char byte)
{
    json_path_skip_blanks(self);
    if (self->p == self->end || *self->p != byte)
        return false;
    self->p++;
    return true;
}

/* At the opening quote. */
static bool read_string(reader *self, alm_str *raw)
{
    const char *start = ++self->p;
    for (; self->p < self->end; self->p++) {
        if (*self->p == '"') {
            *raw = (alm_str){start, (size_t)(self->p - start)};
            self->p++;
            return true;
        }
        if ((uint8_t)*self->p < 0x20)
            return false;
        if (*self->p == '\\') {
            self->p++;
            if (self->p == self->end || *self->p == '\0' ||
                strchr("\"\\/bfnrtu", *self->p) == NULL ||
                (*self->p == 'u' && json_path_hex_unit(self->p + 1, self->end) < 0))
                return false;
        }
    }
    return false;
}

static size_t skip_digits(reader *self)
{
    const char *start = self->p;
    while (self->p < self->end && *self->p >= '0' && *self->p <= '9')
        self->p++;
    return (size_t)(self->p - start);
}

static bool json_path_read_number(reader *self)
{
    if (*self->p == '-')
        self->p++;
    if (skip_digits(self) == 0)
        return false;
    if (self->p < self->end && *self->p == '.') {
        self->p++;
        if (skip_digits(self) == 0)
            return false;
    }
    if (self->p < self->end && (*self->p | 0x20) == 'e') {
        self->p++;
        if (self->p < self->end && (*self->p == '+' || *self->p == '-'))
            self->p++;
        if (skip_digits(self) == 0)
            return false;
    }
    return true;
}

static bool read_word(reader *self, const char *word)
{
    const size_t len = strlen(word);
    if ((size_t)(self->end - self->p) < len || memcmp(self->p, word, len) != 0)
        return false;
    self->p += len;
    return true;
}

static bool json_path_read_value(reader *self, uint32_t depth, int32_t at);

/* at: how many steps of the path lead here; -1: the value is not on it. */
static const alm_json_step *step_at(const reader *self, int32_t place)
{
    return place >= 0 && (uint32_t)place < self->path->n && self->found.kind == ALM_JSON_NOTHING
               ? &self->path->step[place]
               : NULL;
}

static bool read_object(reader *self, uint32_t depth, int32_t place)
{
    if (json_path_take(self, '}'))
        return true;
    do {
        alm_str key;
        json_path_skip_blanks(self);
        if (self->p == self->end || *self->p != '"' || !read_string(self, &key) ||
            !json_path_take(self, ':'))
            return false;
        const alm_json_step *step = step_at(self, place);
        const bool here =
            step != NULL && step->name.ptr != NULL && json_path_names(key, step->name);
        if (!json_path_read_value(self, depth + 1, here ? place + 1 : -1))
            return false;
    } while (json_path_take(self, ','));
    return json_path_take(self, '}');
}

static bool read_list(reader *self, uint32_t depth, int32_t place)
{
    if (json_path_take(self, ']'))
        return true;
    int64_t i = 0;
    do {
        const alm_json_step *step = step_at(self, place);
        const bool here = step != NULL && step->name.ptr == NULL && step->index == i++;
        if (!json_path_read_value(self, depth + 1, here ? place + 1 : -1))
            return false;
    } while (json_path_take(self, ','));
    return json_path_take(self, ']');
}

static bool json_path_read_value(reader *self, uint32_t depth, int32_t place)
{
    alm_json_value got = {0};
    json_path_skip_blanks(self);
    if (self->p == self->end || depth > ALM_JSON_DEPTH)
        return false;
    const char *start = self->p;
    bool good = false;
    switch (*self->p) {
    case '{':
        self->p++;
        good = read_object(self, depth, place);
        got.kind = ALM_JSON_TREE;
        break;
    case '[':
        self->p++;
        good = read_list(self, depth, place);
        got.kind = ALM_JSON_TREE;
        break;
    case '"':
        good = read_string(self, &got.raw);
        got.kind = ALM_JSON_STRING;
        break;
    case 't':
        good = read_word(self, "true");
        got.kind = ALM_JSON_TRUE;
        break;
    case 'f':
        good = read_word(self, "false");
        got.kind = ALM_JSON_FALSE;
        break;
    case 'n':
        good = read_word(self, "null");
        got.kind = ALM_JSON_NULL;
        break;
    default:
        good = json_path_read_number(self);
        got.kind = ALM_JSON_NUMBER;
        break;
    }
    if (got.kind != ALM_JSON_STRING)
        got.raw = (alm_str){start, (size_t)(self->p - start)};
    if (good && place >= 0 && (uint32_t)place == self->path->n &&
        self->found.kind == ALM_JSON_NOTHING)
        self->found = got;
    return good;
}

alm_json_value alm_json_find(alm_str text, const alm_json_path *path)
{
    reader self = {.p = text.ptr, .end = text.ptr + text.len, .path = path};
    bool good = json_path_read_value(&self, 0, 0);
    json_path_skip_blanks(&self);
    good = good && self.p == self.end;
    return good ? self.found : (alm_json_value){0};
}
