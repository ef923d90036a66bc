/*
 * session.c - sessions: settings, cancel, limits, error of the last call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/nearest.h"
#include "session/session_state.h"

/* What a client may ask for at most; nanoseconds of it fit 64 bits many times over. */
static const int64_t TIMEOUT_MAX_MS = INT64_C(1000000000);

typedef struct setting {
    const char *name, *value;
    bool reported;
    const char *doc;
} setting;

static const setting settings[] = {
#define ALM_SETTING(name, value, reported, doc) {name, value, reported, doc},
#include "session/settings.def"
#undef ALM_SETTING
};
_Static_assert(ALM_COUNT(settings) <= ALM_SETTINGS_MAX, "room for every setting");

alm_status alm_session_new(alm_ctx *cx, alm_db *db, const char *user, const char *protocol,
                           alm_session **out)
{
    if (atomic_load(&db->stopping))
        return alm_fail(cx, ALM_E_SHUTDOWN, -1, "the server is stopping");
    alm_session *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    s->db = db;
    s->tx_state = 'I';
    (void)db->io->random(db->io, &s->seed, sizeof(s->seed));
    s->mem.name = "session";
    s->mem.limit_bytes = INT64_C(256) << 20;
    (void)snprintf(s->user, sizeof(s->user), "%s", user);
    (void)snprintf(s->protocol, sizeof(s->protocol), "%s", protocol);
    alm_arena_init(&s->arena, &s->mem);
    (void)pthread_mutex_init(&s->activity.lock, NULL);
    (void)pthread_mutex_lock(&db->lock);
    s->next = db->sessions;
    if (s->next != NULL)
        s->next->prev = s;
    db->sessions = s;
    db->n_sessions++;
    (void)pthread_mutex_unlock(&db->lock);
    *out = s;
    return ALM_OK;
}

void alm_session_free(alm_session *s)
{
    if (s == NULL)
        return;
    if (s->commit != NULL) { /* it is over, nobody hears how */
        const alm_status unheard = alm_session_commit_end(s);
        (void)unheard;
    }
    if (s->txn != NULL)
        alm_txn_rollback(s->txn);
    alm_db *db = s->db;
    (void)pthread_mutex_lock(&db->lock);
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        db->sessions = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    db->n_sessions--;
    (void)pthread_mutex_unlock(&db->lock);
    for (size_t i = 0; i < ALM_COUNT(settings); i++)
        free(s->settings[i]);
    alm_savepoints_clear(s);
    alm_arena_deinit(&s->arena);
    (void)pthread_mutex_destroy(&s->activity.lock);
    free(s);
}

void alm_session_abandon(alm_session *s)
{
    atomic_store(&s->gone, true);
    atomic_store(&s->cancel, true);
}

void alm_session_cancel(alm_session *s, uint64_t statement)
{
    const uint64_t running = atomic_load(&s->statement);
    if (running != 0 && (statement == 0 || statement == running))
        atomic_store(&s->cancel, true);
}

uint64_t alm_session_statement(const alm_session *s)
{
    return atomic_load(&s->statement);
}
char alm_session_tx_state(const alm_session *s)
{
    return s->tx_state;
}
const alm_error *alm_session_error(const alm_session *s)
{
    return &s->err;
}
void alm_session_timeout(alm_session *s, int64_t timeout_ms)
{
    s->timeout_ms = ALM_MIN(timeout_ms, TIMEOUT_MAX_MS);
}
void alm_session_pid(alm_session *s, int32_t pid)
{
    (void)pthread_mutex_lock(&s->activity.lock); /* the session is listed already */
    s->pid = pid;
    (void)pthread_mutex_unlock(&s->activity.lock);
}
void alm_session_read_only(alm_session *s, bool on)
{
    s->read_only = on;
}
const char *alm_session_user(const alm_session *s)
{
    return s->user;
}
alm_db *alm_session_db(const alm_session *s)
{
    return s->db;
}

void alm_session_streams(alm_session *s)
{
    s->streams = true;
}

void alm_session_no_blocks(alm_session *s)
{
    s->no_blocks = true;
}

void alm_session_fail_block(alm_session *s)
{
    if (s->tx_state == 'T')
        s->tx_state = 'E';
    if (s->tx_state == 'I')
        alm_drop_writes(s);
    s->implicit = false;
}

alm_status alm_session_failed(alm_session *s, const alm_ctx *cx)
{
    s->err = cx->err;
    alm_session_fail_block(s);
    return cx->err.code;
}

static int setting_index(const char *name)
{
    for (size_t i = 0; i < ALM_COUNT(settings); i++)
        if (strcasecmp(settings[i].name, name) == 0)
            return (int)i;
    return -1;
}

alm_status alm_setting_name(alm_ctx *cx, alm_str words, const char **out)
{
    static const struct {
        const char *from, *to;
    } other_names[] = {{"time zone", "TimeZone"},
                       {"transaction isolation level", "transaction_isolation"},
                       {"session authorization", "session_authorization"}};
    ALM_TRY(alm_arena_zstr(cx, cx->arena, words, out));
    for (size_t i = 0; i < ALM_COUNT(other_names); i++)
        if (strcasecmp(*out, other_names[i].from) == 0)
            *out = other_names[i].to;
    const int found = setting_index(*out);
    if (found >= 0)
        *out = settings[found].name;
    return ALM_OK;
}

const char *alm_session_setting(const alm_session *s, const char *name)
{
    const int i = setting_index(name);
    if (i < 0)
        return NULL;
    if (s->settings[i] != NULL)
        return s->settings[i];
    return settings[i].value != NULL ? settings[i].value : s->user;
}

alm_status alm_no_setting(alm_ctx *cx, alm_str name, int32_t pos)
{
    alm_nearest near = alm_nearest_of(name);
    for (size_t i = 0; i < ALM_COUNT(settings); i++)
        alm_nearest_offer(&near, alm_str_of(settings[i].name));
    return alm_fail_near(cx, ALM_E_SETTING, pos, &near,
                         "unrecognized configuration parameter \"%.*s\"", (int)name.len, name.ptr);
}

size_t alm_session_setting_count(void)
{
    return ALM_COUNT(settings);
}

void alm_session_setting_at(const alm_session *s, size_t i, alm_session_setting_row *out)
{
    ALM_ASSERT(i < ALM_COUNT(settings));
    *out = (alm_session_setting_row){.name = settings[i].name,
                                     .value = alm_session_setting(s, settings[i].name),
                                     .doc = settings[i].doc,
                                     .reported = settings[i].reported};
}

/* "250", "250ms", "5s", "2min", "1h" in milliseconds; -1: not a duration. */
static int64_t duration_ms(const char *text)
{
    char *end = NULL;
    const long long n = strtoll(text, &end, 10);
    if (end == text || n < 0 || n > 1000000000)
        return -1;
    while (*end == ' ')
        end++;
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}};
    for (size_t i = 0; i < ALM_COUNT(units); i++)
        if (strcasecmp(end, units[i].unit) == 0)
            return n * units[i].ms;
    return -1;
}

/* Settings that tell what the server does cannot be set to something it does not do. */
static alm_status check_value(alm_ctx *cx, const alm_session *s, const char *name,
                              const char *value)
{
    static const char *const fixed[] = {
        "in_hot_standby",  "integer_datetimes",          "is_superuser",   "lc_collate",
        "lc_ctype",        "max_identifier_length",      "server_version", "server_version_num",
        "server_encoding", "standard_conforming_strings"};
    static const char *const encodings[] = {"UTF8", "UTF-8", "UNICODE", "SQL_ASCII"};
    if (strcasecmp(name, "client_encoding") == 0) {
        for (size_t i = 0; i < ALM_COUNT(encodings); i++)
            if (strcasecmp(value, encodings[i]) == 0)
                return ALM_OK;
        return alm_fail(cx, ALM_E_ARG, -1, "invalid value for client_encoding: '%s': it is UTF8",
                        value);
    }
    for (size_t i = 0; i < ALM_COUNT(fixed); i++)
        if (strcasecmp(name, fixed[i]) == 0 && strcasecmp(value, alm_session_setting(s, name)) != 0)
            return alm_fail(cx, ALM_E_ARG, -1, "parameter \"%s\" cannot be changed", name);
    return ALM_OK;
}

alm_status alm_session_set(alm_ctx *cx, alm_session *s, const char *name, const char *value)
{
    const int i = setting_index(name);
    if (i < 0)
        return ALM_OK; /* settings of other servers: drivers send many, none matters here */
    if (value != NULL) {
        ALM_TRY(check_value(cx, s, name, value));
        if (strcasecmp(name, "client_encoding") == 0)
            value = NULL; /* whatever name of it was given */
    }
    if (strcasecmp(name, "statement_timeout") == 0 && value != NULL) {
        const int64_t ms = duration_ms(value);
        if (ms < 0)
            return alm_fail(cx, ALM_E_ARG, -1, "invalid value for statement_timeout: '%s'", value);
        s->timeout_ms = ms;
    }
    if (value == NULL && strcasecmp(name, "statement_timeout") == 0)
        s->timeout_ms = 0;
    char *copy = NULL;
    if (value != NULL) {
        copy = strdup(value);
        if (copy == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    free(s->settings[i]);
    s->settings[i] = copy;
    return ALM_OK;
}
