/* preferences.c - see preferences.h. */
#include "net/http/preferences.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "codec/json_scan.h"
#include "codec/json_text.h"

enum { PATH_BYTES = 8192, FILE_EXTRA = 256 };
static const char file_name[] = "preferences.json";

struct alm_preferences {
    const alm_io *io;
    char dir[PATH_BYTES];
    int64_t bytes_max;
    pthread_mutex_t lock; /* version and json */
    int64_t version;
    alm_buf json;
};

typedef struct member {
    alm_str key;   /* as it says */
    alm_str value; /* as written */
} member;

typedef struct members {
    member *at;
    size_t n, cap;
} members;

static alm_status put_member(alm_ctx *cx, members *list, member found, bool is_null)
{
    size_t i = 0;
    while (i < list->n && !alm_str_eq(list->at[i].key, found.key))
        i++;
    if (is_null) {
        if (i < list->n)
            (void)memmove(list->at + i, list->at + i + 1, (--list->n - i) * sizeof(*list->at));
        return ALM_OK;
    }
    if (i == list->n && list->n == list->cap) {
        member *grown = NULL;
        list->cap = ALM_MAX(2 * list->cap, (size_t)16);
        ALM_TRY(ALM_NEWN(cx, cx->arena, list->cap, &grown));
        if (list->n > 0)
            (void)memcpy(grown, list->at, list->n * sizeof(*grown));
        list->at = grown;
    }
    list->at[i] = found;
    list->n = ALM_MAX(list->n, i + 1);
    return ALM_OK;
}

/* The members of an object, over those that are in the list. */
static alm_status read_members(alm_ctx *cx, alm_str text, members *list)
{
    alm_json_value object, value;
    alm_str key;
    ALM_TRY(alm_json_check(cx, text, &object));
    if (object.kind != ALM_JSON_OBJECT)
        return alm_fail(cx, ALM_E_VALUE, 0, "the preferences must be a JSON object");
    for (size_t offset = 0; alm_json_next(object, &offset, &key, &value);) {
        member found = {.value = value.raw};
        if (value.kind >= ALM_JSON_ARRAY)
            return alm_fail(cx, ALM_E_VALUE, (int32_t)(value.raw.ptr - text.ptr),
                            "a preference must be a text, a number or a boolean");
        ALM_TRY(alm_json_unquote(cx, cx->arena, key, &found.key));
        ALM_TRY(put_member(cx, list, found, value.kind == ALM_JSON_NULL));
    }
    return ALM_OK;
}

static alm_status write_members(alm_ctx *cx, const members *list, alm_buf *out)
{
    ALM_TRY(alm_buf_text(cx, out, "{"));
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            ALM_TRY(alm_buf_text(cx, out, ","));
        ALM_TRY(alm_json_put_string(cx, out, list->at[i].key));
        ALM_TRY(alm_buf_text(cx, out, ":"));
        ALM_TRY(alm_buf_append(cx, out, list->at[i].value.ptr, list->at[i].value.len));
    }
    return alm_buf_text(cx, out, "}");
}

/* ----------------------------------------------------------------------- file */

static alm_status read_document(alm_ctx *cx, alm_preferences *p, alm_str text)
{
    static const alm_str version = ALM_STR("\"version\""), preferences = ALM_STR("\"preferences\"");
    alm_json_value object, value;
    alm_str key;
    bool had_version = false, had_object = false;
    ALM_TRY(alm_json_check(cx, text, &object));
    if (object.kind != ALM_JSON_OBJECT)
        return alm_fail(cx, ALM_E_VALUE, 0, "an object expected");
    for (size_t offset = 0; alm_json_next(object, &offset, &key, &value);) {
        if (alm_str_eq(key, version))
            had_version = alm_int64_parse(value.raw, &p->version) == ALM_NUM_OK && p->version >= 0;
        members list = {0};
        if (alm_str_eq(key, preferences)) {
            ALM_TRY(read_members(cx, value.raw, &list));
            ALM_TRY(write_members(cx, &list, &p->json));
            had_object = true;
        }
    }
    if (!had_version || !had_object)
        return alm_fail(cx, ALM_E_VALUE, 0, "'version' and 'preferences' expected");
    return ALM_OK;
}

static alm_status preferences_read_file(alm_ctx *cx, alm_preferences *preferences)
{
    char path[PATH_BYTES + 64];
    alm_io_stat meta;
    alm_buf text;
    (void)snprintf(path, sizeof(path), "%s/%s", preferences->dir, file_name);
    if (preferences->io->stat(preferences->io, path, &meta) == -ENOENT)
        return alm_buf_text(cx, &preferences->json, "{}");
    alm_buf_init(&text, NULL);
    /* a limit that was lowered since keeps nothing from being read */
    alm_status status = alm_io_read_text(cx, preferences->io, path, INT64_C(1) << 30, &text);
    if (status == ALM_OK)
        status = read_document(cx, preferences, (alm_str){text.ptr, text.len});
    if (status == ALM_E_VALUE || status == ALM_E_UTF8) {
        const alm_error err = cx->err;
        alm_error_clear(cx);
        status = alm_fail(cx, ALM_E_CORRUPT, -1, "%s, byte %d: %s; mend or remove the file", path,
                          (int)err.sql_pos, err.msg);
    }
    alm_buf_deinit(&text);
    return status;
}

alm_status alm_preferences_open(alm_ctx *cx, const alm_io *io, const char *root, int64_t bytes_max,
                                alm_preferences **out)
{
    alm_arena arena;
    alm_preferences *preferences = calloc(1, sizeof(*preferences));
    if (preferences == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    preferences->io = io;
    preferences->bytes_max = bytes_max;
    (void)snprintf(preferences->dir, sizeof(preferences->dir), "%s/conf", root);
    (void)pthread_mutex_init(&preferences->lock, NULL);
    alm_buf_init(&preferences->json, NULL);
    alm_arena_init(&arena, NULL);
    alm_arena *outer = cx->arena;
    cx->arena = &arena;
    const alm_status status = preferences_read_file(cx, preferences);
    cx->arena = outer;
    alm_arena_deinit(&arena);
    if (status == ALM_OK)
        *out = preferences;
    else
        alm_preferences_free(preferences);
    return status;
}

void alm_preferences_free(alm_preferences *preferences)
{
    if (preferences == NULL)
        return;
    alm_buf_deinit(&preferences->json);
    (void)pthread_mutex_destroy(&preferences->lock);
    free(preferences);
}

/* --------------------------------------------------------------------- access */

static alm_status preferences_put_some(alm_ctx *cx, alm_str object, const char *const *keys,
                                       alm_buf *json)
{
    members some = {0};
    alm_json_value all, value;
    alm_str key;
    ALM_TRY(alm_json_check(cx, object, &all));
    for (size_t offset = 0; alm_json_next(all, &offset, &key, &value);) {
        member found = {.value = value.raw};
        ALM_TRY(alm_json_unquote(cx, cx->arena, key, &found.key));
        for (size_t k = 0; keys[k] != NULL; k++)
            if (alm_str_eq(found.key, alm_str_of(keys[k])))
                ALM_TRY(put_member(cx, &some, found, false));
    }
    return write_members(cx, &some, json);
}

alm_status alm_preferences_get(alm_ctx *cx, alm_preferences *preferences, const char *const *keys,
                               int64_t *version, alm_buf *json)
{
    *version = 0;
    if (preferences == NULL)
        return alm_buf_text(cx, json, "{}");
    (void)pthread_mutex_lock(&preferences->lock);
    *version = preferences->version;
    const alm_str object = {preferences->json.ptr, preferences->json.len};
    const alm_status status = keys != NULL ? preferences_put_some(cx, object, keys, json)
                                           : alm_buf_append(cx, json, object.ptr, object.len);
    (void)pthread_mutex_unlock(&preferences->lock);
    return status;
}

static alm_status store(alm_ctx *cx, const alm_preferences *preferences, alm_str json)
{
    alm_buf document;
    alm_buf_init(&document, NULL);
    alm_status status = alm_buf_printf(
        cx, &document, "{\"version\":%lld,\"preferences\":", (long long)preferences->version + 1);
    if (status == ALM_OK)
        status = alm_buf_append(cx, &document, json.ptr, json.len);
    if (status == ALM_OK)
        status = alm_buf_text(cx, &document, "}\n");
    if (status == ALM_OK)
        status = alm_io_replace(cx, preferences->io, preferences->dir, file_name, document.ptr,
                                document.len);
    alm_buf_deinit(&document);
    return status;
}

/* With the lock held, so that what is on disk and what is shown change in the same order. */
static alm_status preferences_change(alm_ctx *cx, alm_preferences *preferences, alm_str body,
                                     alm_preferences_change how, int64_t seen, alm_buf *json)
{
    members list = {0};
    if (how == ALM_PREFERENCES_MERGE)
        ALM_TRY(read_members(cx, (alm_str){preferences->json.ptr, preferences->json.len}, &list));
    ALM_TRY(read_members(cx, body, &list));
    if (seen != preferences->version)
        return alm_fail(
            cx, ALM_E_CONFLICT, -1,
            "preferences view is out of date [currentVersion=%lld, expectedVersion=%lld]",
            (long long)preferences->version, (long long)seen);
    ALM_TRY(write_members(cx, &list, json));
    if ((int64_t)json->len > preferences->bytes_max)
        return alm_fail(cx, ALM_E_LIMIT, -1,
                        "the preferences are longer than http.settings.bytes.max=%lld",
                        (long long)preferences->bytes_max);
    return store(cx, preferences, (alm_str){json->ptr, json->len});
}

alm_status alm_preferences_put(alm_ctx *cx, alm_preferences *preferences, alm_str body,
                               alm_preferences_change how, int64_t seen)
{
    alm_buf json;
    alm_buf_init(&json, NULL);
    (void)pthread_mutex_lock(&preferences->lock);
    const alm_status status = preferences_change(cx, preferences, body, how, seen, &json);
    if (status == ALM_OK) {
        const alm_buf old = preferences->json;
        preferences->json = json;
        json = old;
        preferences->version++;
    }
    (void)pthread_mutex_unlock(&preferences->lock);
    alm_buf_deinit(&json);
    return status;
}
