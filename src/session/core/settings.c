/*
 * settings.c - what SET changes and SHOW shows, and how transactions bring it back.
 *
 * Values      The default of settings.def, over it the value of the start-up packet, over it that of SET. RESET
 *             goes back to the start. Values are malloc'd; NULL means what is below.
 * Own         A name with a dot in it is the client's: any text, as deep as others; "" where nothing is said. It lasts as
 *             long as the session.
 * Undo        As in PostgreSQL: ROLLBACK and ROLLBACK TO take back what SET said since, the end of the block
 *             takes back SET LOCAL. One entry for each setting that a level (a block, a savepoint) has changed:
 *             the value before the level, and that of SET where SET LOCAL lies over it.
 * Read only   transaction_read_only is a flag of the transaction, no stored value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/nearest.h"
#include "session/core/session_state.h"

enum { VALUE_BYTES_MAX = 16384, UNDO_MAX = 10000 };

typedef enum setting_kind { TEXT, BOOL, MS, FIXED, ISOLATION, LEVEL, ENCODING, BYTEA } setting_kind;

typedef struct setting {
    setting_kind kind;
    const char *name, *value;
    bool reported;
    const char *doc;
} setting;

static const setting settings[] = {
#define ALM_SETTING(kind, name, value, reported, doc) {kind, #name, value, reported, doc},
#include "session/core/settings.def"
#undef ALM_SETTING
};
_Static_assert(ALM_COUNT(settings) <= ALM_SETTINGS_MAX, "room for every setting");

enum {
#define ALM_SETTING(kind, name, value, reported, doc) S_##name,
#include "session/core/settings.def"
#undef ALM_SETTING
};

/* --------------------------------------------------------------------- values */

static int setting_index(const char *name)
{
    for (size_t i = 0; i < ALM_COUNT(settings); i++)
        if (strcasecmp(settings[i].name, name) == 0)
            return (int)i;
    return -1;
}

static const int N_TABLE = (int)ALM_COUNT(settings); /* the client's own have the numbers behind */

/* The client's own, too; -1: there is none. */
static int find_setting(const alm_session *session, const char *name)
{
    const int i = setting_index(name);
    for (uint32_t k = 0; i < 0 && k < session->settings.n_own; k++)
        if (strcasecmp(session->settings.own[k], name) == 0)
            return N_TABLE + (int)k;
    return i;
}

static bool is_own_name(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot != NULL && dot > name && dot[1] != 0;
}

static size_t setting_count(const alm_session *session)
{
    return ALM_COUNT(settings) + session->settings.n_own;
}

static const char *on_off(bool on)
{
    return on ? "on" : "off";
}

bool alm_session_refuses_writes(const alm_session *session)
{
    return session->read_only == ALM_READ_ONLY_INTERFACE ||
           (alm_in_transaction(session) || session->tx_state == ALM_TX_FAILED
                ? session->tx_read_only
                : session->default_read_only);
}

static const char *settings_value_of(const alm_session *session, int i)
{
    if (i == S_default_transaction_read_only)
        return on_off(session->default_read_only || session->read_only == ALM_READ_ONLY_INTERFACE);
    if (i == S_transaction_read_only)
        return on_off(alm_session_refuses_writes(session));
    if (i == S_is_superuser)
        return on_off(session->read_only != ALM_READ_ONLY_USER);
    if (session->settings.now[i] != NULL)
        return session->settings.now[i];
    if (session->settings.start[i] != NULL)
        return session->settings.start[i];
    if (i >= N_TABLE)
        return "";
    return settings[i].value != NULL ? settings[i].value : alm_session_shown_user(session);
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
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    for (size_t i = 0; i < ALM_COUNT(units); i++)
        if (strcasecmp(end, units[i].unit) == 0)
            return n * units[i].ms;
    return -1;
}

/* 1 on, 0 off, -1: neither. */
static int32_t boolean(const char *text)
{
    static const char *const on[] = {"on", "true", "t", "yes", "y", "1"};
    static const char *const off[] = {"off", "of", "false", "f", "no", "n", "0"};
    for (size_t i = 0; i < ALM_COUNT(on); i++)
        if (strcasecmp(text, on[i]) == 0)
            return 1;
    for (size_t i = 0; i < ALM_COUNT(off); i++)
        if (strcasecmp(text, off[i]) == 0)
            return 0;
    return -1;
}

static bool one_of(const char *value, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(value, list[i]) == 0)
            return true;
    return false;
}

static const char *const isolations[] = {"serializable", "repeatable read", "read committed",
                                         "read uncommitted"};
static const char *const levels[] = {"debug5", "debug4", "debug3", "debug2",  "debug1",
                                     "debug",  "log",    "notice", "warning", "error"};
static const char *const encodings[] = {"UTF8", "UTF-8", "UNICODE", "SQL_ASCII"};

static alm_status settings_check_length(alm_ctx *cx, const char *name, const char *value)
{
    if (strlen(value) > VALUE_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "value of %s is longer than %d bytes", name,
                        VALUE_BYTES_MAX);
    return ALM_OK;
}

/* *value: as it is kept. */
static alm_status check_value(alm_ctx *cx, const alm_session *session, int i, const char **value)
{
    const char *name = settings[i].name;
    bool good = true;
    switch (settings[i].kind) {
    case TEXT:
        break;
    case BOOL:
        good = boolean(*value) >= 0;
        if (!good)
            return alm_fail(cx, ALM_E_ARG, -1, "parameter \"%s\" requires a Boolean value", name);
        *value = on_off(boolean(*value) > 0);
        break;
    case MS:
        good = duration_ms(*value) >= 0;
        break;
    case FIXED:
        if (strcasecmp(*value, settings_value_of(session, i)) != 0)
            return alm_fail(cx, ALM_E_ARG, -1, "parameter \"%s\" cannot be changed", name);
        break;
    case ISOLATION:
        good = one_of(*value, isolations, ALM_COUNT(isolations));
        break;
    case LEVEL:
        good = one_of(*value, levels, ALM_COUNT(levels));
        break;
    case BYTEA:
        good = strcasecmp(*value, "hex") == 0 || strcasecmp(*value, "escape") == 0;
        break;
    case ENCODING:
        if (!one_of(*value, encodings, ALM_COUNT(encodings)))
            return alm_fail(cx, ALM_E_ARG, -1,
                            "invalid value for client_encoding: '%s': it is UTF8", *value);
        *value = "UTF8"; /* whatever name of it was given */
        break;
    }
    if (!good)
        return alm_fail(cx, ALM_E_ARG, -1, "invalid value for %s: '%s'", name, *value);
    return settings_check_length(cx, name, *value);
}

/* Values that statements ask for are kept in the form they need. */
static void settings_apply(alm_session *session, int i)
{
    session->settings.version++;
    if (i >= N_TABLE)
        return;
    if (settings[i].kind != MS && i != S_default_transaction_read_only)
        return;
    const char *now = session->settings.now[i] != NULL     ? session->settings.now[i]
                      : session->settings.start[i] != NULL ? session->settings.start[i]
                                                           : settings[i].value;
    if (i == S_default_transaction_read_only)
        session->default_read_only = boolean(now) > 0;
    else if (i == S_statement_timeout)
        session->timeout_ms = duration_ms(now);
    else if (i == S_idle_in_transaction_session_timeout)
        session->idle_block_ms = duration_ms(now);
    else if (i == S_idle_session_timeout)
        session->idle_ms = duration_ms(now);
}

/* ----------------------------------------------------------------------- undo */

typedef struct alm_setting_undo {
    int32_t setting;
    bool set, local; /* SET was said in this level; the value there is now is that of SET LOCAL */
    char *before;    /* the level */
    char *kept;      /* that of SET, while SET LOCAL lies over it */
} alm_setting_undo;

static alm_setting_undo *find_undo(alm_settings *v, size_t level, int i)
{
    for (size_t k = v->n_undo; k > level; k--)
        if (v->undo[k - 1].setting == i)
            return &v->undo[k - 1];
    return NULL;
}

/* NULL: the error is in cx. */
static alm_setting_undo *new_undo(alm_ctx *cx, alm_settings *v, int i)
{
    const size_t cap = v->undo_cap == 0 ? 8 : 2 * v->undo_cap;
    alm_status status = ALM_OK;
    if (v->n_undo >= UNDO_MAX)
        status = alm_fail(cx, ALM_E_LIMIT, -1,
                          "too many changes of settings in one transaction (limit %d)", UNDO_MAX);
    if (status == ALM_OK && v->n_undo == v->undo_cap) {
        alm_setting_undo *grown = realloc(v->undo, cap * sizeof(*grown));
        if (grown == NULL) {
            status = alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
        } else {
            v->undo = grown;
            v->undo_cap = cap;
        }
    }
    if (status != ALM_OK)
        return NULL;
    v->undo[v->n_undo] = (alm_setting_undo){.setting = i};
    return &v->undo[v->n_undo++];
}

/* Takes over `value`. */
static alm_status settings_change(alm_ctx *cx, alm_session *session, int i, char *value, bool local)
{
    alm_settings *v = &session->settings;
    const bool records = session->tx_state != ALM_TX_IDLE || session->implicit || session->streams;
    alm_setting_undo *undo = records ? find_undo(v, alm_savepoint_settings(session), i) : NULL;
    if (records && undo == NULL) {
        undo = new_undo(cx, v, i);
        if (undo == NULL) {
            free(value);
            return cx->err.code;
        }
        undo->before = v->now[i];
    } else if (local && undo != NULL && !undo->local) {
        undo->kept = v->now[i];
    } else {
        free(v->now[i]);
    }
    if (undo != NULL && !local) {
        free(undo->kept);
        undo->kept = NULL;
        undo->set = true;
    }
    if (undo != NULL)
        undo->local = local;
    v->now[i] = value;
    settings_apply(session, i);
    return ALM_OK;
}

size_t alm_settings_mark(const alm_session *session)
{
    return session->settings.n_undo;
}

void alm_settings_back_to(alm_session *session, size_t mark)
{
    alm_settings *v = &session->settings;
    while (v->n_undo > mark) {
        const alm_setting_undo *undo = &v->undo[--v->n_undo];
        free(undo->kept);
        free(v->now[undo->setting]);
        v->now[undo->setting] = undo->before;
        settings_apply(session, undo->setting);
    }
}

/* Newest first: the newest SET of a setting stays, whatever SET LOCAL lies over it goes. */
void alm_settings_commit(alm_session *session)
{
    alm_settings *v = &session->settings;
    bool settled[ALM_SETTINGS_ALL_MAX] = {false};
    while (v->n_undo > 0) {
        const alm_setting_undo *undo = &v->undo[--v->n_undo];
        char *spare = undo->before;
        if (!settled[undo->setting] && undo->local) {
            free(v->now[undo->setting]);
            v->now[undo->setting] = undo->set ? undo->kept : undo->before;
            spare = undo->set ? undo->before : NULL;
            settings_apply(session, undo->setting);
        } else {
            free(undo->kept);
        }
        free(spare);
        settled[undo->setting] |= undo->set;
    }
}

void alm_settings_deinit(alm_session *session)
{
    alm_settings_commit(session);
    for (size_t i = 0; i < setting_count(session); i++) {
        free(session->settings.now[i]);
        free(session->settings.start[i]);
    }
    for (uint32_t own = 0; own < session->settings.n_own; own++)
        free(session->settings.own[own]);
    free(session->settings.undo);
}

void alm_session_started(alm_session *session)
{
    alm_settings_commit(session);
    for (size_t i = 0; i < setting_count(session); i++) {
        if (session->settings.now[i] == NULL)
            continue;
        free(session->settings.start[i]);
        session->settings.start[i] = session->settings.now[i];
        session->settings.now[i] = NULL;
    }
    alm_activity_settings(session);
}

/* Most requests set nothing: they do not pay for a walk. */
void alm_session_forget_settings(alm_session *session)
{
    alm_settings *v = &session->settings;
    if (v->version == v->forgotten)
        return;
    alm_settings_commit(session);
    for (size_t i = 0; i < setting_count(session); i++) {
        if (v->now[i] == NULL)
            continue;
        free(v->now[i]);
        v->now[i] = NULL;
        settings_apply(session, (int)i);
    }
    /* names of the client's own that the start has not given, which are the last ones */
    while (v->n_own > 0 && v->start[setting_count(session) - 1] == NULL)
        free(v->own[--v->n_own]);
    v->forgotten = v->version;
}

/* ---------------------------------------------------------------- transactions */

void alm_transaction_begins(alm_session *session)
{
    session->tx_read_only = session->default_read_only;
    session->tx_looked = false;
}

alm_status alm_transaction_mode(alm_ctx *cx, alm_session *session, bool read_only, int32_t pos)
{
    if (!alm_in_transaction(session))
        return ALM_OK; /* over with the statement */
    if (!read_only && session->tx_read_only && (session->tx_looked || session->savepoints != NULL))
        return alm_fail(cx, ALM_E_IN_BLOCK, pos,
                        "transaction read-write mode must be set before any query");
    session->tx_read_only = read_only;
    session->settings.version++;
    return ALM_OK;
}

/* ------------------------------------------------------------------ SET and SHOW */

/* A name that the client makes up. */
static alm_status change_own(alm_ctx *cx, alm_session *session, const char *name, const char *value,
                             bool local)
{
    alm_settings *v = &session->settings;
    int i = find_setting(session, name);
    if (i < 0 && value == NULL)
        return ALM_OK; /* RESET of what nobody has set */
    if (value != NULL)
        ALM_TRY(settings_check_length(cx, name, value));
    if (i < 0 && v->n_own == ALM_SETTINGS_OWN_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "too many settings of the client's own (limit %d)",
                        (int)ALM_SETTINGS_OWN_MAX);
    char *copy = value != NULL ? strdup(value) : NULL;
    char *kept = i < 0 ? strdup(name) : NULL;
    if ((value != NULL && copy == NULL) || (i < 0 && kept == NULL)) {
        free(copy);
        free(kept);
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    if (i < 0) {
        i = N_TABLE + (int)v->n_own;
        v->own[v->n_own++] = kept;
    }
    return settings_change(cx, session, i, copy, local);
}

alm_status alm_setting_change(alm_ctx *cx, alm_session *session, const char *name,
                              const char *value, bool local)
{
    const int i = setting_index(name);
    if (i < 0 && is_own_name(name))
        return change_own(cx, session, name, value, local);
    if (i < 0)
        return ALM_OK; /* settings of other servers: drivers send many, none matters here */
    if (value != NULL)
        ALM_TRY(check_value(cx, session, i, &value));
    if (settings[i].kind == FIXED || i == S_transaction_isolation)
        return ALM_OK;
    if (i == S_transaction_read_only)
        return value == NULL ? ALM_OK : alm_transaction_mode(cx, session, boolean(value) > 0, -1);
    char *copy = NULL;
    if (value != NULL) {
        copy = strdup(value);
        if (copy == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    return settings_change(cx, session, i, copy, local);
}

alm_status alm_session_set(alm_ctx *cx, alm_session *session, const char *name, const char *value)
{
    return alm_setting_change(cx, session, name, value, false);
}

alm_status alm_settings_reset(alm_ctx *cx, alm_session *session)
{
    for (size_t i = 0; i < setting_count(session); i++)
        if (session->settings.now[i] != NULL)
            ALM_TRY(settings_change(cx, session, (int)i, NULL, false));
    return ALM_OK;
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

const char *alm_session_setting(const alm_session *session, const char *name)
{
    const int i = find_setting(session, name);
    return i < 0 ? NULL : settings_value_of(session, i);
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

void alm_session_setting_at(const alm_session *session, size_t i, alm_session_setting_row *out)
{
    ALM_ASSERT(i < ALM_COUNT(settings));
    *out = (alm_session_setting_row){.name = settings[i].name,
                                     .value = settings_value_of(session, (int)i),
                                     .doc = settings[i].doc,
                                     .reported = settings[i].reported};
}

uint64_t alm_session_settings_version(const alm_session *session)
{
    return session->settings.version;
}

bool alm_session_hears(const alm_session *session, bool warning)
{
    const char *level = settings_value_of(session, S_client_min_messages);
    return strcasecmp(level, "error") != 0 && (warning || strcasecmp(level, "warning") != 0);
}

int64_t alm_session_idle_ms(const alm_session *session)
{
    return session->tx_state == ALM_TX_IDLE ? session->idle_ms : session->idle_block_ms;
}
