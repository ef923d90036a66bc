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

static bool may_see(const alm_session *session, const char *identity)
{
    return session == NULL || alm_may_see_others(session) ||
           strcmp(session->identity, identity) == 0;
}

static bool session_list_is_listed(const alm_session *session)
{
    return session->pid != 0 && (session->by == ALM_BY_PG || session->by == ALM_BY_LINE);
}

/* ----------------------------------------------------------------------- the list */

static alm_status time_cell(alm_ctx *cx, int64_t micros, const char **out)
{
    *out = NULL;
    return micros == 0 ? ALM_OK : alm_arena_printf(cx, cx->arena, out, "%lld", (long long)micros);
}

static alm_status text_cell(alm_ctx *cx, const char *text, const char **out)
{
    *out = NULL;
    return text == NULL || text[0] == 0 ? ALM_OK
                                        : alm_arena_zstr(cx, cx->arena, alm_str_of(text), out);
}

/* With the session's lock. */
static alm_status connection_row(alm_ctx *cx, const alm_session *session, const char **cell)
{
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[0], "%s-%d", session->protocol, session->pid));
    ALM_TRY(text_cell(cx, session->user, &cell[1]));
    ALM_TRY(text_cell(cx, session->protocol, &cell[2]));
    ALM_TRY(text_cell(cx, proof_of(session->who), &cell[3]));
    ALM_TRY(text_cell(cx, session->assumed != NULL ? session->assumed->name : NULL, &cell[4]));
    ALM_TRY(text_cell(cx, session->ends.client, &cell[5]));
    ALM_TRY(time_cell(cx, session->since_us, &cell[6]));
    ALM_TRY(time_cell(cx, ALM_MAX(session->activity.begin_us, session->since_us), &cell[7]));
    return time_cell(cx, 0, &cell[8]);
}

static alm_status cookie_row(alm_ctx *cx, const alm_cookie *cookie, const char **cell)
{
    ALM_TRY(
        alm_arena_printf(cx, cx->arena, &cell[0], "http-%llu", (unsigned long long)cookie->number));
    ALM_TRY(text_cell(cx, cookie->who->name, &cell[1]));
    ALM_TRY(text_cell(cx, "http", &cell[2]));
    ALM_TRY(text_cell(cx, proof_of(cookie->who), &cell[3]));
    ALM_TRY(text_cell(cx, NULL, &cell[4]));
    ALM_TRY(text_cell(cx, cookie->address, &cell[5]));
    ALM_TRY(time_cell(cx, cookie->begun_us, &cell[6]));
    ALM_TRY(time_cell(cx, cookie->used_us, &cell[7]));
    return time_cell(cx, cookie->end_us, &cell[8]);
}

typedef struct rows {
    alm_ctx *cx;
    const alm_session *me;
    const char **cell;
    size_t n, cap;
} rows;

static alm_status next_row(rows *self, const char ***cell)
{
    if (self->n == self->cap) {
        const char **bigger = NULL;
        const size_t cap = ALM_MAX((size_t)64, 2 * self->cap);
        ALM_TRY(ALM_NEWN(self->cx, self->cx->arena, CELLS * cap, &bigger));
        if (self->n > 0)
            memcpy(bigger, self->cell, self->n * CELLS * sizeof *bigger);
        self->cell = bigger;
        self->cap = cap;
    }
    *cell = self->cell + CELLS * self->n++;
    return ALM_OK;
}

static alm_status add_cookie(void *arg, const alm_cookie *cookie)
{
    rows *self = arg;
    const char **cell = NULL;
    if (!may_see(self->me, cookie->who->identity))
        return ALM_OK;
    ALM_TRY(next_row(self, &cell));
    return cookie_row(self->cx, cookie, cell);
}

static alm_status add_connection(rows *self, alm_session *session)
{
    const char **cell = NULL;
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&session->activity.lock);
    if (session_list_is_listed(session) && may_see(self->me, session->identity)) {
        status = next_row(self, &cell);
        if (status == ALM_OK)
            status = connection_row(self->cx, session, cell);
    }
    (void)pthread_mutex_unlock(&session->activity.lock);
    return status;
}

alm_status alm_sessions_texts(alm_ctx *cx, const char *const **cells, size_t *n)
{
    alm_db *db = cx->session->db;
    rows self = {.cx = cx, .me = cx->session};
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&db->lock);
    for (alm_session *session = db->sessions; session != NULL && status == ALM_OK;
         session = session->next)
        status = add_connection(&self, session);
    if (status == ALM_OK && db->cookies != NULL)
        status = db->cookies->list(db->cookies->arg, add_cookie, &self);
    (void)pthread_mutex_unlock(&db->lock);
    *cells = self.cell;
    *n = self.n;
    return status;
}

/* -------------------------------------------------------------------------- ends */

typedef struct ended { /* whose session it was */
    bool done, own;
    char user[ALM_ENTITY_NAME_MAX + 1];
} ended;

/* With what keeps the texts from changing held: may the user end that session? Then it is noted whose it is. */
static bool may_end(const alm_session *session, const char *user, const char *identity, ended *out)
{
    out->own = strcmp(session->identity, identity) == 0;
    if (!may_see(session, identity) || (session->read_only != ALM_READ_WRITE && !out->own))
        return false;
    (void)snprintf(out->user, sizeof out->user, "%s", user);
    return true;
}

static void end_connection(alm_session *session, const char *protocol, int64_t pid, ended *out)
{
    alm_db *db = session->db;
    if (session->reads_only != NULL || pid <= 0)
        return;
    (void)pthread_mutex_lock(&db->lock);
    for (alm_session *s = db->sessions; s != NULL && !out->done; s = s->next) {
        (void)pthread_mutex_lock(&s->activity.lock);
        out->done = session_list_is_listed(s) && s->pid == pid &&
                    strcmp(s->protocol, protocol) == 0 &&
                    may_end(session, s->user, s->identity, out);
        (void)pthread_mutex_unlock(&s->activity.lock);
        if (out->done) {
            atomic_store(&s->ended, true);
            atomic_store(&s->gone, true); /* its protocol sees it soon; nothing runs until then */
            atomic_store(&s->cancel, s != session);
        }
    }
    (void)pthread_mutex_unlock(&db->lock);
}

typedef struct ending {
    const alm_session *me;
    uint64_t number;
    ended *out;
} ending;

static alm_status find_cookie(void *arg, const alm_cookie *cookie)
{
    const ending *self = arg;
    if (cookie->number == self->number)
        self->out->done = may_end(self->me, cookie->who->name, cookie->who->identity, self->out);
    return ALM_OK;
}

static void end_cookie(alm_session *session, uint64_t number, ended *out)
{
    alm_db *db = session->db;
    ending self = {.me = session, .number = number, .out = out};
    (void)pthread_mutex_lock(&db->lock);
    if (db->cookies != NULL && db->cookies->list(db->cookies->arg, find_cookie, &self) == ALM_OK &&
        out->done)
        db->cookies->end(db->cookies->arg, number);
    (void)pthread_mutex_unlock(&db->lock);
}

static void list_end_session(alm_session *session, alm_str id, ended *out)
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
        end_cookie(session, (uint64_t)number, out);
    else
        end_connection(session, protocol, number, out);
}

/* Each way to end a session has its row here: who did it, from where, by what, and whose it was. */
static void session_list_note(const alm_session *session, const char *by, const ended *self)
{
    char detail[ID_BYTES + 50 + sizeof self->user];
    if (session->who == NULL || session->db->conf == NULL || !session->db->conf->acl_enabled)
        return;
    (void)snprintf(detail, sizeof detail, "%s%s%s", by, self->done ? " of " : "", self->user);
    alm_audit audit = {
        .event = "acl", .detail = detail, .ok = self->done, .own = self->done && self->own};
    alm_audit_session(session, &audit);
    alm_audit_add(session->db, &audit);
}

bool alm_session_terminate(alm_session *session, int64_t pid)
{
    char by[ID_BYTES + 40];
    ended self = {.done = false};
    end_connection(session, "pg", pid, &self);
    (void)snprintf(by, sizeof by, "pg_terminate_backend(%lld)", (long long)pid);
    if (self.done) /* a number of nobody, of which there may be one in each row, is false alone */
        session_list_note(session, by, &self);
    return self.done;
}

alm_status alm_run_drop_session(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                                uint32_t n)
{
    const alm_str id = stmt->value;
    char by[ID_BYTES + 40];
    ended self = {.done = false};
    (void)params;
    (void)n;
    list_end_session(cursor->session, id, &self);
    (void)snprintf(by, sizeof by, "DROP SESSION %.*s", (int)ALM_MIN(id.len, (size_t)ID_BYTES),
                   id.ptr);
    session_list_note(cursor->session, by, &self);
    if (self.done)
        return ALM_OK;
    if (!alm_may_see_others(cursor->session))
        return alm_access_denied(cursor, stmt->what_pos, alm_stmt_permission(stmt));
    return alm_fail(&cursor->cx, ALM_E_SETTING, stmt->what_pos, "session does not exist [id=%.*s]",
                    (int)ALM_MIN(id.len, (size_t)ID_BYTES), id.ptr);
}
