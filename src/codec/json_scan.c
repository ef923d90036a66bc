/* json_scan.c - see json_scan.h. What is open is kept on a stack of its own: depth costs no C stack. */
#include "codec/json_scan.h"

#include "base/number.h"
#include "base/utf8.h"

typedef struct scan {
    alm_str text;
    size_t at;
    const char *want; /* what should have stood at `at` */
    uint32_t depth;
    char open[ALM_JSON_DEPTH_MAX];
} scan;

static bool expected(scan *self, const char *what)
{
    self->want = what;
    return false;
}

static char json_scan_peek(const scan *self)
{
    return self->at < self->text.len ? self->text.ptr[self->at] : 0;
}

static void blanks(scan *self)
{
    while (self->at < self->text.len && memchr(" \t\r\n", self->text.ptr[self->at], 4) != NULL)
        self->at++;
}

static bool json_scan_take(scan *self, char byte)
{
    if (self->at == self->text.len || self->text.ptr[self->at] != byte)
        return false;
    self->at++;
    return true;
}

/* -------------------------------------------------------------------- scalars */

static int json_scan_hex_unit(const char *ptr)
{
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = alm_hex_digit(ptr[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high(int unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}
static bool is_low(int unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

/* The code point of \uXXXX at `offset`, of a pair of surrogates together; 0 bytes: none. */
static uint32_t json_scan_unicode_escape(alm_str text, size_t offset, size_t *bytes)
{
    *bytes = 0;
    const int first = text.len - offset >= 6 ? json_scan_hex_unit(text.ptr + offset + 2) : -1;
    if (first < 0 || is_low(first))
        return 0;
    *bytes = 6;
    if (!is_high(first))
        return (uint32_t)first;
    const bool pair =
        text.len - offset >= 12 && text.ptr[offset + 6] == '\\' && text.ptr[offset + 7] == 'u';
    const int second = pair ? json_scan_hex_unit(text.ptr + offset + 8) : -1;
    *bytes = is_low(second) ? 12 : 0;
    return 0x10000 + (((uint32_t)first & 0x3ff) << 10) + ((uint32_t)second & 0x3ff);
}

static bool json_scan_string(scan *self)
{
    if (!json_scan_take(self, '"'))
        return expected(self, "a text in double quotes");
    while (self->at < self->text.len && self->text.ptr[self->at] != '"') {
        size_t step = 1;
        if ((unsigned char)self->text.ptr[self->at] < ' ')
            return expected(self, "an escape, not a control character,");
        if (self->text.ptr[self->at] == '\\') {
            const char byte = self->text.len - self->at > 1 ? self->text.ptr[self->at + 1] : 0;
            step = 2;
            if (byte == 'u')
                (void)json_scan_unicode_escape(self->text, self->at, &step);
            else if (byte == 0 || strchr("\"\\/bfnrt", byte) == NULL)
                step = 0;
            if (step == 0)
                return expected(self, "an escape");
        }
        self->at += step;
    }
    return json_scan_take(self, '"') || expected(self, "a closing quote");
}

static size_t json_scan_digits(scan *self)
{
    const size_t from = self->at;
    while (json_scan_peek(self) >= '0' && json_scan_peek(self) <= '9')
        self->at++;
    return self->at - from;
}

static bool json_scan_number(scan *self)
{
    (void)json_scan_take(self, '-');
    if (!json_scan_take(self, '0') && json_scan_digits(self) == 0)
        return expected(self, "a value");
    if (json_scan_take(self, '.') && json_scan_digits(self) == 0)
        return expected(self, "a digit");
    if (json_scan_take(self, 'e') || json_scan_take(self, 'E')) {
        if (!json_scan_take(self, '+'))
            (void)json_scan_take(self, '-');
        if (json_scan_digits(self) == 0)
            return expected(self, "a digit");
    }
    return true;
}

static bool word(scan *self, alm_str text)
{
    if (self->text.len - self->at < text.len ||
        memcmp(self->text.ptr + self->at, text.ptr, text.len) != 0)
        return expected(self, "a value");
    self->at += text.len;
    return true;
}

static bool json_scan_scalar(scan *self)
{
    switch (json_scan_peek(self)) {
    case '"':
        return json_scan_string(self);
    case 't':
        return word(self, ALM_STR("true"));
    case 'f':
        return word(self, ALM_STR("false"));
    case 'n':
        return word(self, ALM_STR("null"));
    default:
        return json_scan_number(self);
    }
}

/* ------------------------------------------------------------------ structure */

static bool key_and_colon(scan *self)
{
    blanks(self);
    if (!json_scan_string(self))
        return false;
    blanks(self);
    return json_scan_take(self, ':') || expected(self, "':'");
}

/* Behind a value: closes what ends here; *more: another value follows. */
static bool behind_value(scan *self, bool *more)
{
    *more = false;
    while (self->depth > 0) {
        const bool object = self->open[self->depth - 1] == '{';
        blanks(self);
        if (json_scan_take(self, ',')) {
            *more = true;
            return !object || key_and_colon(self);
        }
        if (!json_scan_take(self, object ? '}' : ']'))
            return expected(self, object ? "',' or '}'" : "',' or ']'");
        self->depth--;
    }
    return true;
}

/* One whole value from `at` on, which then is behind it. */
static bool json_scan_value(scan *self)
{
    for (bool more = true; more;) {
        blanks(self);
        const char byte = json_scan_peek(self);
        if (byte != '{' && byte != '[') {
            if (!json_scan_scalar(self))
                return false;
        } else {
            if (self->depth == ALM_JSON_DEPTH_MAX)
                return expected(self, "less nesting");
            self->at++;
            blanks(self);
            if (!json_scan_take(self, byte == '{' ? '}' : ']')) {
                self->open[self->depth++] = byte;
                if (byte == '{' && !key_and_colon(self))
                    return false;
                continue;
            }
        }
        if (!behind_value(self, &more))
            return false;
    }
    return true;
}

static alm_json_value json_scan_slice(const scan *self, size_t from)
{
    const alm_str raw = {self->text.ptr + from, self->at - from};
    switch (raw.ptr[0]) {
    case 'n':
        return (alm_json_value){ALM_JSON_NULL, raw};
    case 'f':
        return (alm_json_value){ALM_JSON_FALSE, raw};
    case 't':
        return (alm_json_value){ALM_JSON_TRUE, raw};
    case '"':
        return (alm_json_value){ALM_JSON_STRING, raw};
    case '[':
        return (alm_json_value){ALM_JSON_ARRAY, raw};
    case '{':
        return (alm_json_value){ALM_JSON_OBJECT, raw};
    default:
        return (alm_json_value){ALM_JSON_NUMBER, raw};
    }
}

alm_status alm_json_check(alm_ctx *cx, alm_str text, alm_json_value *out)
{
    scan self = {.text = text};
    const size_t bad = alm_utf8_bad_at(text);
    if (bad < text.len)
        return alm_fail(cx, ALM_E_VALUE, (int32_t)ALM_MIN(bad, (size_t)INT32_MAX),
                        "bad JSON: byte %zu is not UTF-8", bad);
    blanks(&self);
    const size_t from = self.at;
    if (json_scan_value(&self)) {
        *out = json_scan_slice(&self, from);
        blanks(&self);
        if (self.at == text.len)
            return ALM_OK;
        self.want = "the end";
    }
    return alm_fail(cx, ALM_E_VALUE, (int32_t)ALM_MIN(self.at, (size_t)INT32_MAX),
                    "bad JSON: %s expected at byte %zu", self.want, self.at);
}

bool alm_json_next(alm_json_value list, size_t *at, alm_str *key, alm_json_value *out)
{
    ALM_ASSERT(list.kind == ALM_JSON_ARRAY || list.kind == ALM_JSON_OBJECT);
    scan self = {.text = list.raw, .at = *at == 0 ? 1 : *at};
    blanks(&self);
    if (*at != 0)
        (void)json_scan_take(&self, ',');
    blanks(&self);
    if (json_scan_peek(&self) == '}' || json_scan_peek(&self) == ']')
        return false;
    const size_t name = self.at;
    if (list.kind == ALM_JSON_OBJECT) {
        if (!json_scan_string(&self))
            return false;
        *key = (alm_str){list.raw.ptr + name, self.at - name};
        blanks(&self);
        (void)json_scan_take(&self, ':');
        blanks(&self);
    }
    const size_t from = self.at;
    if (!json_scan_value(&self))
        return false;
    *out = json_scan_slice(&self, from);
    *at = self.at;
    return true;
}

alm_status alm_json_unquote(alm_ctx *cx, alm_arena *arena, alm_str raw, alm_str *out)
{
    static const char from[] = "bfnrt", dest[] = "\b\f\n\r\t";
    ALM_ASSERT(raw.len >= 2);
    char *text = NULL;
    size_t count = 0;
    ALM_TRY(
        alm_arena_bytes(cx, arena, raw.len, &text)); /* no escape is shorter than what it says */
    for (size_t i = 1; i + 1 < raw.len; i++) {
        if (raw.ptr[i] != '\\') {
            text[count++] = raw.ptr[i];
            continue;
        }
        const char byte = raw.ptr[i + 1];
        const char *short_form = strchr(from, byte);
        size_t bytes = 2;
        if (byte == 'u')
            count += alm_utf8_put(json_scan_unicode_escape(raw, i, &bytes), text + count);
        else
            text[count++] = short_form != NULL ? dest[short_form - from] : byte;
        i += bytes - 1;
    }
    *out = (alm_str){text, count};
    return ALM_OK;
}
