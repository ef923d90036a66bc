/*
 * conf_show.c - settings on their way out: SHOW PARAMETERS, the default file, reload.
 */
#include "base/conf.h"

static bool conf_show_is_text(const alm_conf_row *row)
{
    return row->kind == ALM_CONF_TEXT || row->kind == ALM_CONF_ADDR || row->kind == ALM_CONF_CHOICE;
}

static const char *conf_show_text_of(const alm_conf *conf, const alm_conf_row *row)
{
    const char *text;
    memcpy(&text, (const char *)conf + row->offset, sizeof(text));
    return text;
}

static int64_t conf_show_number_of(const alm_conf *conf, const alm_conf_row *row)
{
    int64_t number;
    memcpy(&number, (const char *)conf + row->offset, sizeof(number));
    return number;
}

static bool flag_of(const alm_conf *conf, const alm_conf_row *row)
{
    return *((const char *)conf + row->offset) != 0;
}

alm_status alm_conf_value_text(alm_ctx *cx, const alm_conf *conf, size_t i, int64_t factor,
                               alm_buf *out)
{
    ALM_ASSERT(factor > 0);
    const alm_conf_row *row = alm_conf_row_at(i);
    if (row->kind == ALM_CONF_BOOL)
        return alm_buf_text(cx, out, flag_of(conf, row) ? "true" : "false");
    if (!conf_show_is_text(row))
        return alm_buf_printf(cx, out, "%lld",
                              (long long)(conf_show_number_of(conf, row) / factor));
    const char *text = conf_show_text_of(conf, row);
    return alm_buf_text(cx, out, row->sensitive && text[0] != '\0' ? "****" : text);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t len = strlen(text), more = strlen(end);
    return len > more && strcmp(text + len - more, end) == 0;
}

bool alm_conf_is_private(size_t i)
{
    static const char *const ends[] = {".path", ".file", ".root", ".dir", ".directory"};
    const char *const key = alm_conf_row_at(i)->key;
    if (strncmp(key, "acl.oidc.", 9) == 0)
        return true;
    for (size_t k = 0; k < ALM_COUNT(ends); k++)
        if (ends_with(key, ends[k]))
            return true;
    return false;
}

alm_status alm_conf_env_name(alm_ctx *cx, const char *key, alm_buf *out)
{
    ALM_TRY(alm_buf_text(cx, out, "QDB_"));
    for (; *key != '\0'; key++) {
        const char byte = (char)(*key == '.' || *key == '-'   ? '_'
                                 : *key >= 'a' && *key <= 'z' ? *key - 32
                                                              : *key);
        ALM_TRY(alm_buf_append(cx, out, &byte, 1));
    }
    return ALM_OK;
}

const char *alm_conf_source_name(const alm_conf *conf, size_t i)
{
    static const char *const names[] = {
        [ALM_CONF_DEFAULT] = "default", [ALM_CONF_FILE] = "conf", [ALM_CONF_ENV] = "env"};
    ALM_ASSERT(i < ALM_CONF_COUNT);
    return names[conf->source[i]];
}

alm_status alm_conf_write_default(alm_ctx *cx, alm_buf *out)
{
    ALM_TRY(alm_buf_text(cx, out,
                         "# Settings of the server, each with its default. To change one, remove "
                         "the # in front of it.\n"
                         "# Sizes take k, m, g or t; times take ms, s, m, h or d (a plain number "
                         "is milliseconds).\n"
                         "# An environment variable wins over this file: http.bind.to is "
                         "ALMANAC_HTTP_BIND_TO.\n"));
    for (size_t i = 0; i < ALM_CONF_COUNT; i++) {
        const alm_conf_row *row = alm_conf_row_at(i);
        ALM_TRY(alm_buf_printf(cx, out, "\n# %s", row->doc));
        if (row->choices[0] != '\0')
            ALM_TRY(alm_buf_printf(cx, out, " (%s)", row->choices));
        if (row->reloadable)
            ALM_TRY(alm_buf_text(cx, out, "; reloadable"));
        ALM_TRY(alm_buf_printf(cx, out, "\n#%s=%s\n", row->key, row->def));
    }
    return ALM_OK;
}

static bool conf_show_is_same(const alm_conf *a, const alm_conf *b, const alm_conf_row *row)
{
    if (row->kind == ALM_CONF_BOOL)
        return flag_of(a, row) == flag_of(b, row);
    if (conf_show_is_text(row))
        return strcmp(conf_show_text_of(a, row), conf_show_text_of(b, row)) == 0;
    return conf_show_number_of(a, row) == conf_show_number_of(b, row);
}

/* One aligned store per field: threads may be reading it. */
static alm_status conf_show_take_over(alm_ctx *cx, alm_conf *live, const alm_conf *fresh,
                                      const alm_conf_row *row)
{
    char *field = (char *)live + row->offset;
    if (row->kind == ALM_CONF_BOOL) {
        __atomic_store_n((bool *)field, flag_of(fresh, row), __ATOMIC_RELEASE);
    } else if (conf_show_is_text(row)) {
        const char *copy = NULL;
        ALM_TRY(alm_arena_zstr(cx, &live->texts, alm_str_of(conf_show_text_of(fresh, row)), &copy));
        __atomic_store_n((const char **)(void *)field, copy, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n((int64_t *)(void *)field, conf_show_number_of(fresh, row),
                         __ATOMIC_RELEASE);
    }
    return ALM_OK;
}

void alm_conf_merge(const alm_conf *live, const alm_conf *fresh, alm_conf *out)
{
    *out = *live;
    for (size_t i = 0; i < ALM_CONF_COUNT; i++) {
        const alm_conf_row *row = alm_conf_row_at(i);
        const size_t bytes = row->kind == ALM_CONF_BOOL ? sizeof(bool)
                             : conf_show_is_text(row)   ? sizeof(const char *)
                                                        : sizeof(int64_t);
        if (row->reloadable)
            memcpy((char *)out + row->offset, (const char *)fresh + row->offset, bytes);
    }
}

alm_status alm_conf_reload(alm_ctx *cx, alm_conf *live, const alm_conf *fresh,
                           void (*changed)(void *arg, const alm_conf_row *row, bool applied),
                           void *arg)
{
    for (size_t i = 0; i < ALM_CONF_COUNT; i++) {
        const alm_conf_row *row = alm_conf_row_at(i);
        if (conf_show_is_same(live, fresh, row))
            continue;
        if (row->reloadable) {
            ALM_TRY(conf_show_take_over(cx, live, fresh, row));
            live->source[i] = fresh->source[i];
        }
        if (changed != NULL)
            changed(arg, row, row->reloadable);
    }
    return ALM_OK;
}
