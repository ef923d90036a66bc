/*
 * session_list.c - what goes on between statements: connections of the PostgreSQL protocol and of lines, and the cookies that the
 * HTTP server keeps. SHOW SESSIONS lists them, DROP SESSION and pg_terminate_backend() end one.
 *
 * Names       "pg-17", "line-18": the number of the connection; "http-3": that of the cookie's login. Never used again while the
 *             process lives.
 * Rights      One's own; with SQL ENGINE ADMIN all. Who has not that is told the same of a session that is not there and of one of
 *             somebody else.
 * Threads     db->lock guards the list of sessions and who keeps cookies; a session's lock what is copied of it.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "session/access/access.h"
#include "session/statement/statement.h"

enum { CELLS = 9, ID_BYTES = 40 };

void alm_db_cookies_by(alm_db *db, const alm_cookies *cookies)
{
    (void)pthread_mutex_lock(&db->lock);
    db->cookies = cookies;
    (void)pthread_mutex_unlock(&db->lock);
}

static const char *proof_of(const alm_principal *who)
{
    static const char *const names[] = {[ALM_PROOF_NONE] = "",
                                        [ALM_PROOF_PASSWORD] = "password",
                                        [ALM_PROOF_TOKEN] = "token",
                                        [ALM_PROOF_KEY] = "key",
                                        [ALM_PROOF_ASSUMED] = ""};
    return who == NULL                           ? NULL
           : who->kind == ALM_PRINCIPAL_EXTERNAL ? "identity provider"
                                                 : names[who->began.proof];
}

static bool may_see(const alm_session *me, const char *identity)
{
    return me == NULL || alm_may_see_others(me) || strcmp(me->identity, identity) == 0;
}

static bool is_listed(const alm_session *s)
{
    return s->pid != 0 && (s->by == ALM_BY_PG || s->by == ALM_BY_LINE);
}

/* ----------------------------------------------------------------------- the list */

static alm_status time_cell(alm_ctx *cx, int64_t us, const char **out)
{
    *out = NULL;
    return us == 0 ? ALM_OK : alm_arena_printf(cx, cx->arena, out, "%lld", (long long)us);
}

static alm_status text_cell(alm_ctx *cx, const char *text, const char **out)
{
    *out = NULL;
    return text == NULL || text[0] == 0 ? ALM_OK
                                        : alm_arena_zstr(cx, cx->arena, alm_str_of(text), out);
}

/* With the session's lock. */
static alm_status connection_row(alm_ctx *cx, const alm_session *s, const char **cell)
{
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[0], "%s-%d", s->protocol, s->pid));
    ALM_TRY(text_cell(cx, s->user, &cell[1]));
    ALM_TRY(text_cell(cx, s->protocol, &cell[2]));
    ALM_TRY(text_cell(cx, proof_of(s->who), &cell[3]));
    ALM_TRY(text_cell(cx, s->assumed != NULL ? s->assumed->name : NULL, &cell[4]));
    ALM_TRY(text_cell(cx, s->ends.client, &cell[5]));
    ALM_TRY(time_cell(cx, s->since_us, &cell[6]));
    ALM_TRY(time_cell(cx, ALM_MAX(s->activity.begin_us, s->since_us), &cell[7]));
    return time_cell(cx, 0, &cell[8]);
}

static alm_status cookie_row(alm_ctx *cx, const alm_cookie *k, const char **cell)
{
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[0], "http-%llu", (unsigned long long)k->number));
    ALM_TRY(text_cell(cx, k->who->name, &cell[1]));
    ALM_TRY(text_cell(cx, "http", &cell[2]));
    ALM_TRY(text_cell(cx, proof_of(k->who), &cell[3]));
    ALM_TRY(text_cell(cx, NULL, &cell[4]));
    ALM_TRY(text_cell(cx, k->address, &cell[5]));
    ALM_TRY(time_cell(cx, k->begun_us, &cell[6]));
    ALM_TRY(time_cell(cx, k->used_us, &cell[7]));
    return time_cell(cx, k->end_us, &cell[8]);
}

typedef struct rows {
    alm_ctx *cx;
    const alm_session *me;
    const char **cell;
    size_t n, cap;
} rows;

static alm_status next_row(rows *r, const char ***cell)
{
    if (r->n == r->cap) {
        const char **bigger = NULL;
        const size_t cap = ALM_MAX((size_t)64, 2 * r->cap);
        ALM_TRY(ALM_NEWN(r->cx, r->cx->arena, CELLS * cap, &bigger));
        if (r->n > 0)
            memcpy(bigger, r->cell, r->n * CELLS * sizeof *bigger);
        r->cell = bigger;
        r->cap = cap;
    }
    *cell = r->cell + CELLS * r->n++;
    return ALM_OK;
}

static alm_status add_cookie(void *arg, const alm_cookie *k)
{
    rows *r = arg;
    const char **cell = NULL;
    if (!may_see(r->me, k->who->identity))
        return ALM_OK;
    ALM_TRY(next_row(r, &cell));
    return cookie_row(r->cx, k, cell);
}

static alm_status add_connection(rows *r, alm_session *s)
{
    const char **cell = NULL;
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&s->activity.lock);
    if (is_listed(s) && may_see(r->me, s->identity)) {
        st = next_row(r, &cell);
        if (st == ALM_OK)
            st = connection_row(r->cx, s, cell);
    }
    (void)pthread_mutex_unlock(&s->activity.lock);
    return st;
}

alm_status alm_sessions_texts(alm_ctx *cx, const char *const **cells, size_t *n)
{
    alm_db *db = cx->session->db;
    rows r = {.cx = cx, .me = cx->session};
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&db->lock);
    for (alm_session *s = db->sessions; s != NULL && st == ALM_OK; s = s->next)
        st = add_connection(&r, s);
    if (st == ALM_OK && db->cookies != NULL)
        st = db->cookies->list(db->cookies->arg, add_cookie, &r);
    (void)pthread_mutex_unlock(&db->lock);
    *cells = r.cell;
    *n = r.n;
    return st;
}

/* -------------------------------------------------------------------------- ends */

typedef struct ended { /* whose session it was */
    bool done, own;
    char user[ALM_ENTITY_NAME_MAX + 1];
} ended;

/* With what keeps the texts from changing held: may the user end that session? Then it is noted whose it is. */
static bool may_end(const alm_session *me, const char *user, const char *identity, ended *out)
{
    out->own = strcmp(me->identity, identity) == 0;
    if (!may_see(me, identity) || (me->read_only != ALM_READ_WRITE && !out->own))
        return false;
    (void)snprintf(out->user, sizeof out->user, "%s", user);
    return true;
}

static void end_connection(alm_session *me, const char *protocol, int64_t pid, ended *out)
{
    alm_db *db = me->db;
    if (me->reads_only != NULL || pid <= 0)
        return;
    (void)pthread_mutex_lock(&db->lock);
    for (alm_session *s = db->sessions; s != NULL && !out->done; s = s->next) {
        (void)pthread_mutex_lock(&s->activity.lock);
        out->done = is_listed(s) && s->pid == pid && strcmp(s->protocol, protocol) == 0 &&
                    may_end(me, s->user, s->identity, out);
        (void)pthread_mutex_unlock(&s->activity.lock);
        if (out->done) {
            atomic_store(&s->ended, true);
            atomic_store(&s->gone, true); /* its protocol sees it soon; nothing runs until then */
            atomic_store(&s->cancel, s != me);
        }
    }
    (void)pthread_mutex_unlock(&db->lock);
}

typedef struct ending {
    const alm_session *me;
    uint64_t number;
    ended *out;
} ending;

static alm_status find_cookie(void *arg, const alm_cookie *k)
{
    const ending *e = arg;
    if (k->number == e->number)
        e->out->done = may_end(e->me, k->who->name, k->who->identity, e->out);
    return ALM_OK;
}

static void end_cookie(alm_session *me, uint64_t number, ended *out)
{
    alm_db *db = me->db;
    ending e = {.me = me, .number = number, .out = out};
    (void)pthread_mutex_lock(&db->lock);
    if (db->cookies != NULL && db->cookies->list(db->cookies->arg, find_cookie, &e) == ALM_OK &&
        out->done)
        db->cookies->end(db->cookies->arg, number);
    (void)pthread_mutex_unlock(&db->lock);
}

static void end_session(alm_session *me, alm_str id, ended *out)
{
    char protocol[16];
    int64_t number = 0;
    const char *dash = memchr(id.ptr, '-', id.len);
    const size_t n = dash != NULL ? (size_t)(dash - id.ptr) : 0;
    if (n == 0 || n >= sizeof protocol ||
        alm_int64_parse((alm_str){dash + 1, id.len - n - 1}, &number) != ALM_NUM_OK || number <= 0)
        return;
    memcpy(protocol, id.ptr, n);
    protocol[n] = 0;
    if (strcmp(protocol, "http") == 0)
        end_cookie(me, (uint64_t)number, out);
    else
        end_connection(me, protocol, number, out);
}

/* Each way to end a session has its row here: who did it, from where, by what, and whose it was. */
static void note(const alm_session *me, const char *by, const ended *e)
{
    char detail[ID_BYTES + 50 + sizeof e->user];
    if (me->who == NULL || me->db->conf == NULL || !me->db->conf->acl_enabled)
        return;
    (void)snprintf(detail, sizeof detail, "%s%s%s", by, e->done ? " of " : "", e->user);
    alm_audit audit = {.event = "acl", .detail = detail, .ok = e->done, .own = e->done && e->own};
    alm_audit_session(me, &audit);
    alm_audit_add(me->db, &audit);
}

bool alm_session_terminate(alm_session *me, int64_t pid)
{
    char by[ID_BYTES + 40];
    ended e = {.done = false};
    end_connection(me, "pg", pid, &e);
    (void)snprintf(by, sizeof by, "pg_terminate_backend(%lld)", (long long)pid);
    if (e.done) /* a number of nobody, of which there may be one in each row, is false alone */
        note(me, by, &e);
    return e.done;
}

alm_status alm_run_drop_session(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    const alm_str id = stmt->value;
    char by[ID_BYTES + 40];
    ended e = {.done = false};
    (void)params;
    (void)n;
    end_session(c->session, id, &e);
    (void)snprintf(by, sizeof by, "DROP SESSION %.*s", (int)ALM_MIN(id.len, (size_t)ID_BYTES),
                   id.ptr);
    note(c->session, by, &e);
    if (e.done)
        return ALM_OK;
    if (!alm_may_see_others(c->session))
        return alm_access_denied(c, stmt->what_pos, alm_stmt_permission(stmt));
    return alm_fail(&c->cx, ALM_E_SETTING, stmt->what_pos, "session does not exist [id=%.*s]",
                    (int)ALM_MIN(id.len, (size_t)ID_BYTES), id.ptr);
}
