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

static bool expected(scan *s, const char *what)
{
    s->want = what;
    return false;
}

static char peek(const scan *s)
{
    return s->at < s->text.len ? s->text.ptr[s->at] : 0;
}

static void blanks(scan *s)
{
    while (s->at < s->text.len && memchr(" \t\r\n", s->text.ptr[s->at], 4) != NULL)
        s->at++;
}

static bool take(scan *s, char c)
{
    if (s->at == s->text.len || s->text.ptr[s->at] != c)
        return false;
    s->at++;
    return true;
}

/* -------------------------------------------------------------------- scalars */

static int hex_unit(const char *at)
{
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = alm_hex_digit(at[i]);
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

/* The code point of \uXXXX at `at`, of a pair of surrogates together; 0 bytes: none. */
static uint32_t unicode_escape(alm_str text, size_t at, size_t *bytes)
{
    *bytes = 0;
    const int first = text.len - at >= 6 ? hex_unit(text.ptr + at + 2) : -1;
    if (first < 0 || is_low(first))
        return 0;
    *bytes = 6;
    if (!is_high(first))
        return (uint32_t)first;
    const bool pair = text.len - at >= 12 && text.ptr[at + 6] == '\\' && text.ptr[at + 7] == 'u';
    const int second = pair ? hex_unit(text.ptr + at + 8) : -1;
    *bytes = is_low(second) ? 12 : 0;
    return 0x10000 + (((uint32_t)first & 0x3ff) << 10) + ((uint32_t)second & 0x3ff);
}

static bool string(scan *s)
{
    if (!take(s, '"'))
        return expected(s, "a text in double quotes");
    while (s->at < s->text.len && s->text.ptr[s->at] != '"') {
        size_t step = 1;
        if ((unsigned char)s->text.ptr[s->at] < ' ')
            return expected(s, "an escape, not a control character,");
        if (s->text.ptr[s->at] == '\\') {
            const char c = s->text.len - s->at > 1 ? s->text.ptr[s->at + 1] : 0;
            step = 2;
            if (c == 'u')
                (void)unicode_escape(s->text, s->at, &step);
            else if (c == 0 || strchr("\"\\/bfnrt", c) == NULL)
                step = 0;
            if (step == 0)
                return expected(s, "an escape");
        }
        s->at += step;
    }
    return take(s, '"') || expected(s, "a closing quote");
}

static size_t digits(scan *s)
{
    const size_t from = s->at;
    while (peek(s) >= '0' && peek(s) <= '9')
        s->at++;
    return s->at - from;
}

static bool number(scan *s)
{
    (void)take(s, '-');
    if (!take(s, '0') && digits(s) == 0)
        return expected(s, "a value");
    if (take(s, '.') && digits(s) == 0)
        return expected(s, "a digit");
    if (take(s, 'e') || take(s, 'E')) {
        if (!take(s, '+'))
            (void)take(s, '-');
        if (digits(s) == 0)
            return expected(s, "a digit");
    }
    return true;
}

static bool word(scan *s, alm_str w)
{
    if (s->text.len - s->at < w.len || memcmp(s->text.ptr + s->at, w.ptr, w.len) != 0)
        return expected(s, "a value");
    s->at += w.len;
    return true;
}

static bool scalar(scan *s)
{
    switch (peek(s)) {
    case '"':
        return string(s);
    case 't':
        return word(s, ALM_STR("true"));
    case 'f':
        return word(s, ALM_STR("false"));
    case 'n':
        return word(s, ALM_STR("null"));
    default:
        return number(s);
    }
}

/* ------------------------------------------------------------------ structure */

static bool key_and_colon(scan *s)
{
    blanks(s);
    if (!string(s))
        return false;
    blanks(s);
    return take(s, ':') || expected(s, "':'");
}

/* Behind a value: closes what ends here; *more: another value follows. */
static bool behind_value(scan *s, bool *more)
{
    *more = false;
    while (s->depth > 0) {
        const bool object = s->open[s->depth - 1] == '{';
        blanks(s);
        if (take(s, ',')) {
            *more = true;
            return !object || key_and_colon(s);
        }
        if (!take(s, object ? '}' : ']'))
            return expected(s, object ? "',' or '}'" : "',' or ']'");
        s->depth--;
    }
    return true;
}

/* One whole value from `at` on, which then is behind it. */
static bool value(scan *s)
{
    for (bool more = true; more;) {
        blanks(s);
        const char c = peek(s);
        if (c != '{' && c != '[') {
            if (!scalar(s))
                return false;
        } else {
            if (s->depth == ALM_JSON_DEPTH_MAX)
                return expected(s, "less nesting");
            s->at++;
            blanks(s);
            if (!take(s, c == '{' ? '}' : ']')) {
                s->open[s->depth++] = c;
                if (c == '{' && !key_and_colon(s))
                    return false;
                continue;
            }
        }
        if (!behind_value(s, &more))
            return false;
    }
    return true;
}

static alm_json_value slice(const scan *s, size_t from)
{
    const alm_str raw = {s->text.ptr + from, s->at - from};
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
    scan s = {.text = text};
    const size_t bad = alm_utf8_bad_at(text);
    if (bad < text.len)
        return alm_fail(cx, ALM_E_VALUE, (int32_t)ALM_MIN(bad, (size_t)INT32_MAX),
                        "bad JSON: byte %zu is not UTF-8", bad);
    blanks(&s);
    const size_t from = s.at;
    if (value(&s)) {
        *out = slice(&s, from);
        blanks(&s);
        if (s.at == text.len)
            return ALM_OK;
        s.want = "the end";
    }
    return alm_fail(cx, ALM_E_VALUE, (int32_t)ALM_MIN(s.at, (size_t)INT32_MAX),
                    "bad JSON: %s expected at byte %zu", s.want, s.at);
}

bool alm_json_next(alm_json_value list, size_t *at, alm_str *key, alm_json_value *out)
{
    ALM_ASSERT(list.kind == ALM_JSON_ARRAY || list.kind == ALM_JSON_OBJECT);
    scan s = {.text = list.raw, .at = *at == 0 ? 1 : *at};
    blanks(&s);
    if (*at != 0)
        (void)take(&s, ',');
    blanks(&s);
    if (peek(&s) == '}' || peek(&s) == ']')
        return false;
    const size_t name = s.at;
    if (list.kind == ALM_JSON_OBJECT) {
        if (!string(&s))
            return false;
        *key = (alm_str){list.raw.ptr + name, s.at - name};
        blanks(&s);
        (void)take(&s, ':');
        blanks(&s);
    }
    const size_t from = s.at;
    if (!value(&s))
        return false;
    *out = slice(&s, from);
    *at = s.at;
    return true;
}

alm_status alm_json_unquote(alm_ctx *cx, alm_arena *arena, alm_str raw, alm_str *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    ALM_ASSERT(raw.len >= 2);
    char *text = NULL;
    size_t n = 0;
    ALM_TRY(
        alm_arena_bytes(cx, arena, raw.len, &text)); /* no escape is shorter than what it says */
    for (size_t i = 1; i + 1 < raw.len; i++) {
        if (raw.ptr[i] != '\\') {
            text[n++] = raw.ptr[i];
            continue;
        }
        const char c = raw.ptr[i + 1];
        const char *short_form = strchr(from, c);
        size_t bytes = 2;
        if (c == 'u')
            n += alm_utf8_put(unicode_escape(raw, i, &bytes), text + n);
        else
            text[n++] = short_form != NULL ? to[short_form - from] : c;
        i += bytes - 1;
    }
    *out = (alm_str){text, n};
    return ALM_OK;
}
