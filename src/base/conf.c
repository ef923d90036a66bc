/*
 * conf.c - reading of settings: text of server.conf, environment, ranges.
 */
#include "base/conf.h"

#include "base/nearest.h"
#include "base/number.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

enum { RELOAD = 1, SECRET = 2 };

static const alm_conf_row ROWS[ALM_CONF_COUNT] = {
#define ALM_CONF(kind_, field, key_, def_, min_, max_, choices_, flags_, doc_)                     \
    {.kind = ALM_CONF_##kind_,                                                                     \
     .key = key_,                                                                                  \
     .def = def_,                                                                                  \
     .min = min_,                                                                                  \
     .max = max_,                                                                                  \
     .choices = choices_,                                                                          \
     .reloadable = ((flags_) & RELOAD) != 0,                                                       \
     .sensitive = ((flags_) & SECRET) != 0,                                                        \
     .doc = doc_,                                                                                  \
     .offset = offsetof(alm_conf, field)},
#include "base/conf.def"
#undef ALM_CONF
};

static const alm_conf_alias ALIASES[] = {
#define ALM_CONF_ALIAS(alias, field, factor) {alias, ALM_CONF_ID_##field, factor},
#include "base/conf_alias.def"
#undef ALM_CONF_ALIAS
};

typedef struct ignored_row {
    const char *pattern;
    const char *harmless; /* NULL: any value */
} ignored_row;

static const ignored_row IGNORED[] = {
#define ALM_CONF_REFUSED(key, harmless) {key, harmless},
#define ALM_CONF_IGNORED(pattern)       {pattern, NULL},
#include "base/conf_ignored.def"
#undef ALM_CONF_REFUSED
#undef ALM_CONF_IGNORED
};

const alm_conf_alias *alm_conf_aliases(size_t *n)
{
    *n = ALM_COUNT(ALIASES);
    return ALIASES;
}

const alm_conf_row *alm_conf_row_at(size_t i)
{
    ALM_ASSERT(i < ALM_CONF_COUNT);
    return &ROWS[i];
}

/* ------------------------------------------------------------------ values */

/* Where a value came from, for messages. */
typedef struct origin {
    alm_conf_source source;
    const char *file; /* or the name of the variable */
    size_t line;
} origin;

typedef struct unit_row {
    const char *name;
    int64_t factor;
} unit_row;

static const unit_row SIZE_UNITS[] = {
    {"", 1},           {"b", 1},         {"k", 1LL << 10},  {"kb", 1LL << 10}, {"m", 1LL << 20},
    {"mb", 1LL << 20}, {"g", 1LL << 30}, {"gb", 1LL << 30}, {"t", 1LL << 40},  {"tb", 1LL << 40},
};
static const unit_row MS_UNITS[] = {
    {"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static alm_status conf_bad_value(alm_ctx *cx, const char *key, alm_str value, const origin *from,
                                 bool secret, const char *why)
{
    const alm_str shown = secret ? ALM_STR("****") : value;
    if (from->source == ALM_CONF_ENV)
        return alm_fail(cx, ALM_E_ARG, -1, "%s=%.*s: %s (setting %s)", from->file,
                        (int)ALM_MIN(shown.len, (size_t)200), shown.ptr, why, key);
    return alm_fail(cx, ALM_E_ARG, -1, "%s line %zu: %s=%.*s: %s", from->file, from->line, key,
                    (int)ALM_MIN(shown.len, (size_t)200), shown.ptr, why);
}

/* "16m" by a table of units; a number without unit counts `plain` each. */
static bool parse_quantity(alm_str text, const unit_row *units, size_t n_units, int64_t plain,
                           int64_t *out)
{
    size_t count = 0;
    while (count < text.len && (text.ptr[count] == '-' || text.ptr[count] == '+' ||
                                (text.ptr[count] >= '0' && text.ptr[count] <= '9')))
        count++;
    int64_t number = 0;
    if (alm_int64_parse((alm_str){text.ptr, count}, &number) != ALM_NUM_OK)
        return false;
    while (count < text.len && text.ptr[count] == ' ')
        count++;
    const alm_str unit = {text.ptr + count, text.len - count};
    for (size_t i = 0; i < n_units; i++)
        if (alm_str_ieq(unit, alm_str_of(units[i].name)))
            return !__builtin_mul_overflow(number, unit.len == 0 ? plain : units[i].factor, out);
    return false;
}

static bool parse_bool(alm_str text, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < ALM_COUNT(words); i++) {
        if (alm_str_ieq(text, alm_str_of(words[i]))) {
            *out = i % 2 == 1;
            return true;
        }
    }
    return false;
}

bool alm_addr_split(alm_str text, alm_str *host, uint16_t *port)
{
    size_t colon = text.len;
    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    const alm_str number = {text.ptr + colon, text.len - colon};
    uint64_t value = 0;
    if (colon == 0 || number.len == 0 || number.ptr[0] == '+' || number.ptr[0] == '-' ||
        alm_uint64_parse(number, &value) != ALM_NUM_OK || value > UINT16_MAX)
        return false;
    alm_str name = {text.ptr, colon - 1};
    const bool bracketed = name.len > 0 && name.ptr[0] == '[';
    if (bracketed) {
        if (name.len < 3 || name.ptr[name.len - 1] != ']')
            return false;
        name = (alm_str){name.ptr + 1, name.len - 2};
    }
    for (size_t i = 0; i < name.len; i++)
        if ((uint8_t)name.ptr[i] <= ' ' || (name.ptr[i] == ':' && !bracketed))
            return false;
    *host = name;
    *port = (uint16_t)value;
    return true;
}

/* The choice as it is written in the table; NULL if it is none. */
static bool find_choice(const char *choices, alm_str text, alm_str *out)
{
    for (const char *ptr = choices;; ptr++) {
        const size_t len = strcspn(ptr, "|");
        if (alm_str_ieq(text, (alm_str){ptr, len})) {
            *out = (alm_str){ptr, len};
            return true;
        }
        ptr += len;
        if (*ptr == '\0')
            return false;
    }
}

static alm_status set_number(alm_ctx *cx, alm_conf *conf, const alm_conf_row *row, alm_str value,
                             int64_t factor, const origin *from)
{
    int64_t number = 0;
    char why[80];
    const bool is_int = row->kind == ALM_CONF_INT;
    const bool unset = row->min < 0 && alm_str_eq(value, ALM_STR("-1"));
    if (unset)
        number = -1;
    const bool ok = unset    ? true
                    : is_int ? alm_int64_parse(value, &number) == ALM_NUM_OK
                    : row->kind == ALM_CONF_SIZE
                        ? parse_quantity(value, SIZE_UNITS, ALM_COUNT(SIZE_UNITS), factor, &number)
                        : parse_quantity(value, MS_UNITS, ALM_COUNT(MS_UNITS), factor, &number);
    if (!ok)
        return conf_bad_value(cx, row->key, value, from, row->sensitive,
                              is_int ? "not a whole number"
                              : row->kind == ALM_CONF_SIZE
                                  ? "not a size (a number, then k, m, g or t)"
                                  : "not a time (a number, then ms, s, m, h "
                                    "or d)");
    if (number < row->min || number > row->max) {
        (void)snprintf(why, sizeof(why), "must be between %lld and %lld", (long long)row->min,
                       (long long)row->max);
        return conf_bad_value(cx, row->key, value, from, row->sensitive, why);
    }
    memcpy((char *)conf + row->offset, &number, sizeof(number));
    return ALM_OK;
}

static alm_status set_text(alm_ctx *cx, alm_conf *conf, alm_arena *texts, const alm_conf_row *row,
                           alm_str value)
{
    const char *copy = NULL;
    ALM_TRY(alm_arena_zstr(cx, texts, value, &copy));
    memcpy((char *)conf + row->offset, &copy, sizeof(copy));
    return ALM_OK;
}

/* Texts go to `texts`; conf may be a scratch copy. */
static alm_status set_value(alm_ctx *cx, alm_conf *conf, alm_arena *texts, alm_conf_id id,
                            alm_str value, int64_t factor, const origin *from)
{
    const alm_conf_row *row = &ROWS[id];
    bool flag = false;
    alm_str host, choice;
    uint16_t port;
    switch (row->kind) {
    case ALM_CONF_BOOL:
        if (!parse_bool(value, &flag))
            return conf_bad_value(cx, row->key, value, from, row->sensitive, "not true or false");
        memcpy((char *)conf + row->offset, &flag, sizeof(flag));
        break;
    case ALM_CONF_INT:
    case ALM_CONF_SIZE:
    case ALM_CONF_MS:
        ALM_TRY(set_number(cx, conf, row, value, factor, from));
        break;
    case ALM_CONF_TEXT:
        if (memchr(value.len > 0 ? value.ptr : "", '\0', value.len) != NULL)
            return conf_bad_value(cx, row->key, value, from, row->sensitive, "has a zero byte");
        ALM_TRY(set_text(cx, conf, texts, row, value));
        break;
    case ALM_CONF_ADDR:
        if (!alm_addr_split(value, &host, &port))
            return conf_bad_value(cx, row->key, value, from, row->sensitive,
                                  "not an address like 127.0.0.1:9000");
        ALM_TRY(set_text(cx, conf, texts, row, value));
        break;
    case ALM_CONF_CHOICE:
        if (!find_choice(row->choices, value, &choice)) {
            char why[200] = "not one of ";
            strncat(why, row->choices, sizeof(why) - strlen(why) - 1);
            return conf_bad_value(cx, row->key, value, from, row->sensitive, why);
        }
        ALM_TRY(set_text(cx, conf, texts, row, choice));
        break;
    }
    conf->source[id] = (uint8_t)from->source;
    return ALM_OK;
}

alm_status alm_conf_init(alm_ctx *cx, alm_conf *conf)
{
    memset(conf, 0, sizeof(*conf));
    alm_arena_init(&conf->texts, NULL);
    const origin from = {ALM_CONF_DEFAULT, "conf.def", 0};
    for (size_t i = 0; i < ALM_CONF_COUNT; i++)
        ALM_TRY(
            set_value(cx, conf, &conf->texts, (alm_conf_id)i, alm_str_of(ROWS[i].def), 1, &from));
    return ALM_OK;
}

void alm_conf_deinit(alm_conf *conf)
{
    alm_arena_deinit(&conf->texts);
}

/* -------------------------------------------------------------------- keys */

static bool conf_find_key(alm_str key, alm_conf_id *id, int64_t *factor)
{
    *factor = 1;
    for (size_t i = 0; i < ALM_CONF_COUNT; i++) {
        if (alm_str_eq(key, alm_str_of(ROWS[i].key))) {
            *id = (alm_conf_id)i;
            return true;
        }
    }
    for (size_t i = 0; i < ALM_COUNT(ALIASES); i++) {
        if (alm_str_eq(key, alm_str_of(ALIASES[i].name))) {
            *id = ALIASES[i].id;
            *factor = ALIASES[i].factor;
            return true;
        }
    }
    return false;
}

/* `*` in the pattern stands for any text. */
static bool conf_fits(const char *pattern, alm_str key)
{
    const char *star = NULL;
    size_t offset = 0, retry = 0;
    while (offset < key.len) {
        if (*pattern == '*') {
            star = pattern++;
            retry = offset;
        } else if (*pattern == key.ptr[offset]) {
            pattern++;
            offset++;
        } else if (star != NULL) {
            pattern = star + 1;
            offset = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

static const ignored_row *find_ignored(alm_str key)
{
    for (size_t i = 0; i < ALM_COUNT(IGNORED); i++)
        if (conf_fits(IGNORED[i].pattern, key))
            return &IGNORED[i];
    return NULL;
}

static alm_nearest nearest_key(alm_str key)
{
    alm_nearest near = alm_nearest_of(key);
    for (size_t i = 0; i < ALM_CONF_COUNT; i++)
        alm_nearest_offer(&near, alm_str_of(ROWS[i].key));
    return near;
}

static alm_status conf_warn(alm_ctx *cx, const alm_conf_input *input, const char *what, alm_str key,
                            size_t line)
{
    if (input->warn == NULL)
        return ALM_OK;
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status status = alm_buf_printf(cx, &text, "%s line %zu: setting %.*s %s", input->file, line,
                                       (int)ALM_MIN(key.len, (size_t)200), key.ptr, what);
    if (status == ALM_OK)
        input->warn(input->warn_arg, text.ptr);
    alm_buf_deinit(&text);
    return status;
}

/* What a key that is no setting of ours deserves. *unknown counts those that fit nothing. */
static alm_status other_key(alm_ctx *cx, const alm_conf_input *input, bool strict, alm_str key,
                            alm_str value, size_t line)
{
    const ignored_row *row = find_ignored(key);
    if (row != NULL && row->harmless == NULL)
        return conf_warn(cx, input, "is not used by this server", key, line);
    if (row != NULL) {
        if (alm_str_ieq(value, alm_str_of(row->harmless)))
            return ALM_OK;
        return alm_fail(cx, ALM_E_ARG, -1,
                        "%s line %zu: %.*s=%.*s: not available in this version, and the server "
                        "will not start without what it asks for",
                        input->file, line, (int)ALM_MIN(key.len, (size_t)200), key.ptr,
                        (int)ALM_MIN(value.len, (size_t)200), value.ptr);
    }
    if (!strict)
        return conf_warn(cx, input, "is not known", key, line);
    const alm_nearest near = nearest_key(key);
    return alm_fail_near(cx, ALM_E_ARG, -1, &near, "%s line %zu: unknown setting '%.*s'",
                         input->file, line, (int)ALM_MIN(key.len, (size_t)200), key.ptr);
}

/* ----------------------------------------------------------------- secrets */

/* KEY.file: a secret that stands in a file. */
static bool find_secret(alm_str key, alm_conf_id *id)
{
    static const alm_str suffix = {".file", 5};
    int64_t factor;
    if (key.len <= suffix.len ||
        !alm_str_ieq((alm_str){key.ptr + key.len - suffix.len, suffix.len}, suffix))
        return false;
    key.len -= suffix.len;
    return conf_find_key(key, id, &factor) && ROWS[*id].sensitive;
}

/* Its text without the end of the line. */
static alm_status set_secret(alm_ctx *cx, alm_conf *conf, alm_arena *texts,
                             const alm_conf_input *input, alm_conf_id id, alm_str path,
                             const origin *from)
{
    alm_buf name, text;
    alm_buf_init(&name, NULL);
    alm_buf_init(&text, NULL);
    alm_status status = alm_buf_append(cx, &name, path.ptr, path.len);
    if (status == ALM_OK)
        status = alm_buf_append(cx, &name, "", 1);
    if (status == ALM_OK && (input->secret == NULL || memchr(path.ptr, 0, path.len) != NULL))
        status = alm_fail(cx, ALM_E_ARG, -1, "%s.file: there are no files here", ROWS[id].key);
    if (status == ALM_OK) {
        status = input->secret(cx, input->secret_arg, name.ptr, &text);
        if (status != ALM_OK) {
            const alm_error was = cx->err;
            alm_error_clear(cx); /* the first error wins */
            status = alm_fail(cx, status, -1, "%s.file: %s", ROWS[id].key, was.msg);
        }
    }
    while (status == ALM_OK && text.len > 0 &&
           (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r'))
        text.len--;
    if (status == ALM_OK && text.len == 0) /* for some keys that would mean: none is asked for */
        status = alm_fail(cx, ALM_E_ARG, -1, "%s.file: '%s' is empty", ROWS[id].key, name.ptr);
    if (status == ALM_OK)
        status = set_value(cx, conf, texts, id, (alm_str){text.ptr, text.len}, 1, from);
    if (text.cap > 0)
        explicit_bzero(text.ptr, text.cap);
    alm_buf_deinit(&name);
    alm_buf_deinit(&text);
    return status;
}

/* -------------------------------------------------------------- properties */

typedef struct reader {
    alm_str text;
    size_t at;
    size_t line; /* of the entry, from 1 */
    size_t next_line;
    alm_buf key, value;
} reader;

static bool conf_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\f';
}

static void skip_blank(reader *self)
{
    while (self->at < self->text.len && conf_is_blank(self->text.ptr[self->at]))
        self->at++;
}

static bool at_line_end(const reader *self)
{
    return self->at >= self->text.len || self->text.ptr[self->at] == '\n' ||
           self->text.ptr[self->at] == '\r';
}

static void skip_line_end(reader *self)
{
    if (self->at >= self->text.len)
        return;
    const bool cr = self->text.ptr[self->at] == '\r';
    self->at++;
    if (cr && self->at < self->text.len && self->text.ptr[self->at] == '\n')
        self->at++;
    self->next_line++;
}

/* Behind a backslash: appends what it stands for (nothing for a joined line). */
static alm_status conf_read_escape(alm_ctx *cx, reader *self, alm_buf *to)
{
    static const char from[] = "tnrf", meant[] = "\t\n\r\f";
    if (at_line_end(self)) {
        skip_line_end(self);
        skip_blank(self);
        return ALM_OK;
    }
    char byte = self->text.ptr[self->at++];
    if (byte == 'u') {
        uint32_t unit = 0;
        for (int i = 0; i < 4; i++, self->at++) {
            const char h = self->at < self->text.len ? self->text.ptr[self->at] : '\0';
            const int digit = alm_hex_digit(h);
            if (digit < 0)
                return alm_fail(cx, ALM_E_ARG, -1, "line %zu: \\u needs four hexadecimal digits",
                                self->line);
            unit = unit * 16 + (uint32_t)digit;
        }
        char utf8[4];
        return alm_buf_append(cx, to, utf8, alm_utf8_put(unit, utf8));
    }
    const char *known = strchr(from, byte);
    if (known != NULL && byte != '\0')
        byte = meant[known - from];
    return alm_buf_append(cx, to, &byte, 1);
}

/* Next entry into key and value; false at the end of the text. */
static alm_status read_entry(alm_ctx *cx, reader *self, bool *found)
{
    self->key.len = self->value.len = 0;
    *found = false;
    for (;;) { /* blank lines and comments */
        skip_blank(self);
        if (self->at >= self->text.len)
            return ALM_OK;
        const char byte = self->text.ptr[self->at];
        if (byte == '#' || byte == '!')
            while (!at_line_end(self))
                self->at++;
        else if (!at_line_end(self))
            break;
        skip_line_end(self);
    }
    self->line = self->next_line;
    *found = true;
    while (!at_line_end(self)) {
        const char byte = self->text.ptr[self->at];
        if (byte == '=' || byte == ':' || conf_is_blank(byte))
            break;
        self->at++;
        if (byte == '\\')
            ALM_TRY(conf_read_escape(cx, self, &self->key));
        else
            ALM_TRY(alm_buf_append(cx, &self->key, &byte, 1));
    }
    skip_blank(self);
    if (!at_line_end(self) &&
        (self->text.ptr[self->at] == '=' || self->text.ptr[self->at] == ':')) {
        self->at++;
        skip_blank(self);
    }
    while (!at_line_end(self)) {
        const char byte = self->text.ptr[self->at++];
        if (byte == '\\')
            ALM_TRY(conf_read_escape(cx, self, &self->value));
        else
            ALM_TRY(alm_buf_append(cx, &self->value, &byte, 1));
    }
    while (self->value.len > 0 && conf_is_blank(self->value.ptr[self->value.len - 1]))
        self->value.len--;
    skip_line_end(self);
    return ALM_OK;
}

static alm_status each_entry(alm_ctx *cx, alm_conf *conf, alm_arena *texts,
                             const alm_conf_input *input, bool known_keys, reader *self)
{
    static const alm_str bom = {"\xEF\xBB\xBF", 3};
    self->text = input->text;
    self->at = self->text.len >= 3 && memcmp(self->text.ptr, bom.ptr, bom.len) == 0 ? 3 : 0;
    self->next_line = 1;
    for (;;) {
        bool found;
        ALM_TRY(read_entry(cx, self, &found));
        if (!found)
            return ALM_OK;
        const alm_str key = {self->key.ptr != NULL ? self->key.ptr : "", self->key.len};
        const alm_str value = {self->value.ptr != NULL ? self->value.ptr : "", self->value.len};
        const origin from = {ALM_CONF_FILE, input->file, self->line};
        alm_conf_id id;
        int64_t factor;
        const bool known = conf_find_key(key, &id, &factor);
        if (known && known_keys)
            ALM_TRY(set_value(cx, conf, texts, id, value, factor, &from));
        else if (!known && find_secret(key, &id))
            ALM_TRY(known_keys ? set_secret(cx, conf, texts, input, id, value, &from) : ALM_OK);
        else if (!known && !known_keys)
            ALM_TRY(other_key(cx, input, conf->config_validation_strict, key, value, self->line));
    }
}

/* ------------------------------------------------------------- environment */

enum { ENV_NAME_MAX = 128 };
static const char *const ENV_PREFIXES[] = {"ALMANAC_", "QDB_"};

/* a.b-c -> PREFIX_A_B_C */
static void env_name(const char *prefix, const char *key, char out[ENV_NAME_MAX])
{
    size_t count = 0;
    for (; *prefix != '\0'; prefix++)
        out[count++] = *prefix;
    for (; *key != '\0' && count < ENV_NAME_MAX - 1; key++)
        out[count++] = (char)(*key == '.' || *key == '-'   ? '_'
                              : *key >= 'a' && *key <= 'z' ? *key - 32
                                                           : *key);
    out[count] = '\0';
}

const char *alm_conf_getenv(void *unused, const char *name)
{
    (void)unused;
    return getenv(name);
}

static alm_status read_env(alm_ctx *cx, alm_conf *conf, alm_arena *texts,
                           const alm_conf_input *input, const char *key, alm_conf_id id,
                           int64_t factor)
{
    for (size_t i = 0; i < ALM_COUNT(ENV_PREFIXES); i++) {
        char name[ENV_NAME_MAX];
        env_name(ENV_PREFIXES[i], key, name);
        const char *value = input->env(input->env_arg, name);
        if (value == NULL)
            continue;
        const origin from = {ALM_CONF_ENV, name, 0};
        return set_value(cx, conf, texts, id, alm_str_of(value), factor, &from);
    }
    return ALM_OK;
}

/* KEY_FILE; KEY itself is before it. */
static alm_status read_env_secret(alm_ctx *cx, alm_conf *conf, alm_arena *texts,
                                  const alm_conf_input *input, alm_conf_id id)
{
    char key[ENV_NAME_MAX];
    (void)snprintf(key, sizeof key, "%s.file", ROWS[id].key);
    for (size_t i = 0; i < ALM_COUNT(ENV_PREFIXES); i++) {
        char name[ENV_NAME_MAX];
        env_name(ENV_PREFIXES[i], key, name);
        const char *path = input->env(input->env_arg, name);
        const origin from = {ALM_CONF_ENV, name, 0};
        if (path != NULL)
            return set_secret(cx, conf, texts, input, id, alm_str_of(path), &from);
    }
    return ALM_OK;
}

static alm_status each_env(alm_ctx *cx, alm_conf *conf, alm_arena *texts,
                           const alm_conf_input *input)
{
    for (size_t i = 0; i < ALM_CONF_COUNT; i++)
        if (ROWS[i].sensitive)
            ALM_TRY(read_env_secret(cx, conf, texts, input, (alm_conf_id)i));
    for (size_t i = 0; i < ALM_COUNT(ALIASES); i++)
        ALM_TRY(
            read_env(cx, conf, texts, input, ALIASES[i].name, ALIASES[i].id, ALIASES[i].factor));
    for (size_t i = 0; i < ALM_CONF_COUNT; i++)
        ALM_TRY(read_env(cx, conf, texts, input, ROWS[i].key, (alm_conf_id)i, 1));
    return ALM_OK;
}

alm_status alm_conf_read(alm_ctx *cx, alm_conf *conf, const alm_conf_input *input)
{
    alm_conf next = *conf; /* its arena is not used: texts go to conf->texts */
    reader self = {0};
    alm_buf_init(&self.key, NULL);
    alm_buf_init(&self.value, NULL);
    /* Known keys first: config.validation.strict holds for the whole file, wherever it stands. */
    alm_status status = each_entry(cx, &next, &conf->texts, input, true, &self);
    if (status == ALM_OK && input->env != NULL)
        status = each_env(cx, &next, &conf->texts, input);
    if (status == ALM_OK)
        status = each_entry(cx, &next, &conf->texts, input, false, &self);
    alm_buf_deinit(&self.key);
    alm_buf_deinit(&self.value);
    ALM_TRY(status);
    /* users who log in elsewhere mean nothing without it, and who sets its password means it to count */
    if (next.source[ALM_CONF_ID_acl_enabled] == ALM_CONF_DEFAULT &&
        (next.acl_oidc_enabled || next.source[ALM_CONF_ID_acl_admin_password] != ALM_CONF_DEFAULT))
        next.acl_enabled = true;
    next.texts = conf->texts;
    *conf = next;
    return ALM_OK;
}
