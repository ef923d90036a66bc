/*
 * access.c - the answer to base/access.h for a session (access.h): its principal's rights at the epoch of the
 * statement's snapshot.
 */
#include "session/access/access.h"

#include <stdio.h>

#include "base/access.h"
#include "base/hash.h"
#include "session/access/standing.h"

enum { NAME_BYTES = 1100 }; /* of tables and columns: storage allows 1,024 */

/* ---------------------------------------------------------------------- questions */

static void session_access_lower(char dest[NAME_BYTES], const char *name)
{
    size_t i = 0;
    for (; name[i] != 0 && i + 1 < NAME_BYTES; i++)
        dest[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    dest[i] = 0;
}

alm_status alm_lower_name(alm_ctx *cx, alm_str name, const char **out)
{
    char *text = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, name.len + 1, &text));
    for (size_t i = 0; i < name.len; i++)
        text[i] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? (char)(name.ptr[i] - 'A' + 'a')
                                                           : name.ptr[i];
    text[name.len] = 0;
    *out = text;
    return ALM_OK;
}

/* "SELECT on t(a, b)": those of the columns for which `missing` is set. */
static alm_status denied(alm_cursor *cursor, const alm_access_ask *ask, const bool *missing)
{
    char what[700];
    size_t n = (size_t)snprintf(what, sizeof what, "%s", ask->permission);
    int32_t pos = ask->pos;
    bool first = true;
    for (uint32_t i = 0; missing != NULL && ask->col_pos != NULL && i < ask->n; i++)
        if (missing[i] && (first || ask->col_pos[i] < pos)) {
            pos = ask->col_pos[i];
            first = false;
        }
    first = true;
    if (ask->table != NULL)
        n += (size_t)snprintf(what + n, sizeof what - n, " on %.128s", ask->table);
    for (uint32_t i = 0; missing != NULL && i < ask->n; i++) {
        if (!missing[i])
            continue;
        const size_t room = sizeof what - n;
        if (room < strlen(ask->columns[i]) + 10) {
            n += (size_t)snprintf(what + n, room, ", ...");
            break;
        }
        n += (size_t)snprintf(what + n, room, "%s%s", first ? "(" : ", ", ask->columns[i]);
        first = false;
    }
    if (!first)
        (void)snprintf(what + n, sizeof what - n, ")");
    if (ask->instead != NULL)
        (void)snprintf(what + n, sizeof what - n, " or %s", ask->instead);
    return alm_access_denied(cursor, pos, what);
}

typedef struct judge {        /* whose rights count */
    const alm_rights *rights; /* NULL: everything is allowed, or nothing: gone */
    bool gone;                /* the definer of the view, whoever has his name now */
} judge;

/* *made: rights to release. */
static alm_status find_judge(alm_cursor *cursor, const char *view, judge *out, alm_rights **made)
{
    char name[NAME_BYTES];
    *made = NULL;
    *out = (judge){.rights = cursor->rights};
    if (view == NULL)
        return ALM_OK;
    session_access_lower(name, view);
    const alm_definer *definer = alm_acl_definer(cursor->rights->acl, name);
    *out = (judge){.gone = false};
    if (definer == NULL || alm_is_admin_name(cursor, definer->name))
        return ALM_OK;
    out->gone = alm_acl_definer_entity(cursor->rights->acl, definer) == NULL;
    if (out->gone)
        return ALM_OK;
    ALM_TRY(alm_rights_of(&cursor->cx, cursor->rights->acl, definer->name, made));
    out->rights = *made;
    return ALM_OK;
}

static bool column_ok(const judge *j, const alm_access_ask *ask, uint8_t number, const char *table,
                      const char *col)
{
    char column[NAME_BYTES];
    session_access_lower(column, col);
    const alm_rights_ask question = {.number = number,
                                     .table = table,
                                     .column = column,
                                     .ts = ask->ts != NULL &&
                                           alm_str_ieq(alm_str_of(ask->ts), alm_str_of(col))};
    return alm_rights_may(j->rights, &question);
}

static alm_status session_access_answer(alm_cursor *cursor, const judge *j,
                                        const alm_access_ask *ask)
{
    char table[NAME_BYTES];
    const alm_permission *row = alm_permission_find(alm_str_of(ask->permission));
    ALM_ASSERT(row != NULL); /* asked by a name that is none */
    if (ask->table != NULL)
        session_access_lower(table, ask->table);
    const alm_rights_ask whole = {.number = row->number,
                                  .table = ask->table != NULL ? table : NULL};
    if (alm_rights_may(j->rights, &whole))
        return ALM_OK;
    if (ask->table != NULL && ask->any_column && alm_rights_any(j->rights, row->number, table))
        return ALM_OK;
    const alm_permission *instead =
        ask->instead != NULL ? alm_permission_find(alm_str_of(ask->instead)) : NULL;
    const alm_rights_ask other = {.number = instead != NULL ? instead->number : 0};
    if (instead != NULL && alm_rights_may(j->rights, &other))
        return ALM_OK;
    if (ask->quiet)
        return alm_fail(&cursor->cx, ALM_E_DENIED, ask->pos, "Access denied");
    if (ask->n == 0)
        return denied(cursor, ask, NULL);
    bool *missing = NULL, any = false;
    ALM_TRY(ALM_NEWN(&cursor->cx, cursor->cx.arena, ask->n, &missing));
    for (uint32_t i = 0; i < ask->n; i++) {
        missing[i] = !column_ok(j, ask, row->number, table, ask->columns[i]);
        any |= missing[i];
    }
    return any ? denied(cursor, ask, missing) : ALM_OK;
}

static alm_status definer_is_gone(alm_cursor *cursor, const alm_access_ask *ask)
{
    char what[400];
    (void)snprintf(what, sizeof what, "the definer of view %.300s is gone", ask->view);
    return alm_access_denied(cursor, ask->pos, what);
}

alm_status alm_access_answer(alm_cursor *cursor, const alm_access_ask *ask)
{
    judge j;
    alm_rights *made = NULL;
    ALM_TRY(find_judge(cursor, ask->view, &j, &made));
    const alm_status status = j.gone             ? definer_is_gone(cursor, ask)
                              : j.rights == NULL ? ALM_OK
                                                 : session_access_answer(cursor, &j, ask);
    alm_rights_release(made);
    return status;
}

/* What the built-in admin may nobody can take from him. */
static alm_status may(alm_ctx *cx, void *arg, const alm_access_ask *ask)
{
    alm_cursor *cursor = arg;
    (void)cx;
    ALM_TRY(alm_access_answer(cursor, ask));
    return cursor->rights->kind == ALM_PRINCIPAL_ADMIN && ask->view == NULL
               ? ALM_OK
               : alm_asked_add(cursor, ask);
}

/* Both as find_judge has them: rights to everything need no barrier, and neither do one's own. What is not known hides. */
static bool hides(alm_ctx *cx, void *arg, const char *view, const char *reader)
{
    alm_cursor *cursor = arg;
    judge of, by;
    alm_rights *made[2] = {NULL, NULL};
    bool hidden = true;
    if (find_judge(cursor, reader, &by, &made[0]) == ALM_OK &&
        find_judge(cursor, view, &of, &made[1]) == ALM_OK) {
        const bool all = by.rights == NULL ? !by.gone : by.rights->all;
        const bool same =
            by.rights != NULL && of.rights != NULL && by.rights->kind == ALM_PRINCIPAL_LOCAL &&
            of.rights->kind == ALM_PRINCIPAL_LOCAL && strcmp(by.rights->name, of.rights->name) == 0;
        hidden = !all && !same;
    } else {
        alm_error_clear(cx);
    }
    alm_rights_release(made[0]);
    alm_rights_release(made[1]);
    return hidden;
}

/* What was shown must be seen still when it is read later; what cannot be remembered is not shown. */
static bool sees(alm_ctx *cx, void *arg, const char *table)
{
    char name[NAME_BYTES];
    alm_cursor *cursor = arg;
    const alm_access_ask ask = {.table = name};
    (void)cx;
    session_access_lower(name, table);
    if (!alm_rights_sees(cursor->rights, name))
        return false;
    if (cursor->rights->kind == ALM_PRINCIPAL_ADMIN || alm_asked_add(cursor, &ask) == ALM_OK)
        return true;
    alm_error_clear(&cursor->cx);
    return false;
}

alm_status alm_cursor_access(alm_cursor *cursor)
{
    alm_session *session = cursor->session;
    if (session->who == NULL || session->db->conf == NULL || !session->db->conf->acl_enabled)
        return ALM_OK;
    ALM_TRY(alm_session_refresh(&cursor->cx, session));
    alm_cursor_access_over(cursor);
    cursor->rights = alm_rights_retain(session->rights);
    cursor->seen = session->seen;
    cursor->turn = session->turn;
    cursor->access = (alm_access){.arg = cursor, .may = may, .sees = sees, .hides = hides};
    cursor->cx.access = &cursor->access;
    cursor->cx.user = cursor->rights->name;
    /* a copy: another answer of the provider takes the place of `who` while the cursor is open */
    if (session->by_identity && cursor->rights->kind == ALM_PRINCIPAL_EXTERNAL)
        ALM_TRY(alm_arena_zstr(&cursor->cx, &cursor->arena, alm_str_of(session->who->identity),
                               &cursor->cx.user));
    cursor->mem.limit_bytes = alm_session_memory_max(session);
    return ALM_OK;
}

/* Views that it reads may have other definers: so the administrator's rights are rights, too. */
static alm_status rights_of_definer(alm_cursor *cursor, alm_acl *acl, const char *view)
{
    char name[NAME_BYTES];
    session_access_lower(name, view);
    const alm_definer *definer = alm_acl_definer(acl, name);
    if (definer == NULL || alm_is_admin_name(cursor, definer->name)) {
        const alm_principal admin = {.kind = ALM_PRINCIPAL_ADMIN,
                                     .name = cursor->session->db->conf->acl_admin_user};
        return alm_rights_new(&cursor->cx, acl, &admin, &cursor->rights);
    }
    /* of one who is gone nobody's rights count, though another has his name */
    const bool gone = alm_acl_definer_entity(acl, definer) == NULL;
    return alm_rights_of(&cursor->cx, acl, gone ? "" : definer->name, &cursor->rights);
}

uint64_t alm_view_maker(const alm_db *db, const alm_acl *acl, const char *view)
{
    char name[NAME_BYTES];
    session_access_lower(name, view);
    const alm_definer *definer = acl != NULL ? alm_acl_definer(acl, name) : NULL;
    if (definer == NULL || definer->maker == ALM_MAKER_ADMIN ||
        (definer->maker == 0 && strcmp(definer->name, db->conf->acl_admin_user) == 0))
        return 0;
    if (definer->maker != 0)
        return definer->maker;
    /* The record of an older version does not name the user who created the view, so that its definer counts. */
    return alm_hash_u128(definer->generation, alm_hash_str(alm_str_of(definer->name))) | 1;
}

alm_status alm_cursor_as_definer(alm_cursor *cursor, const char *view)
{
    alm_ctx *cx = &cursor->cx;
    const alm_db *db = cursor->session->db;
    alm_acl *acl = NULL;
    alm_cursor_access_over(cursor);
    if (db->conf == NULL || !db->conf->acl_enabled)
        return ALM_OK;
    cursor->asked = NULL; /* what the user had to be asked for was */
    cursor->seen = alm_seen_now(db);
    cursor->turn = cursor->session->turn;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(view), &cursor->definer_of));
    ALM_TRY(alm_db_acl(cx, cursor->session->db, &acl));
    alm_status status = rights_of_definer(cursor, acl, cursor->definer_of);
    if (status == ALM_OK)
        status = alm_account_join_maker(cursor, alm_view_maker(db, acl, cursor->definer_of));
    alm_acl_release(acl);
    ALM_TRY(status);
    cursor->access = (alm_access){.arg = cursor, .may = may, .sees = sees, .hides = hides};
    cx->access = &cursor->access;
    cx->user = cursor->rights->name;
    return ALM_OK;
}

const alm_rights *alm_cursor_rights(const alm_cursor *cursor)
{
    return cursor->rights;
}

bool alm_session_sees(alm_session *session, const char *table)
{
    char name[NAME_BYTES];
    if (session->who == NULL || session->db->conf == NULL || !session->db->conf->acl_enabled)
        return true;
    alm_ctx cx = {0};
    session_access_lower(name, table);
    return alm_session_refresh(&cx, session) == ALM_OK && alm_rights_sees(session->rights, name);
}

bool alm_is_admin_name(const alm_cursor *cursor, const char *name)
{
    return strcmp(name, cursor->session->db->conf->acl_admin_user) == 0;
}
