/* standing.c - see standing.h. */
#include "session/core/standing.h"

#include <stdlib.h>

#include "session/access/login.h"

/* ----------------------------------------------------------------------- version */

void alm_access_changed(alm_db *db)
{
    atomic_fetch_add_explicit(&db->access.version, 1, memory_order_release);
}

alm_seen alm_seen_now(const alm_db *db)
{
    return (alm_seen){.version = atomic_load_explicit(&db->access.version, memory_order_acquire),
                      .records = alm_storage_records_lsn(db->storage)};
}

bool alm_seen_holds(const alm_db *db, const alm_seen *seen)
{
    return seen->records == alm_storage_records_lsn(db->storage) &&
           seen->version == atomic_load_explicit(&db->access.version, memory_order_acquire) &&
           (seen->until_us == 0 || db->io->wall_ns(db->io) / 1000 < seen->until_us);
}

/* ------------------------------------------------------------------------ logins */

/* NULL: it goes on. Users of the provider are asked about there, by their connections; here counts what they heard. */
static const char *login_over(alm_db *db, const alm_acl *acl, const alm_principal *who,
                              int64_t *until_us)
{
    const char *why = NULL;
    if (who->kind == ALM_PRINCIPAL_ADMIN)
        return alm_admin_over(db, who);
    if (who->kind == ALM_PRINCIPAL_LOCAL)
        why = alm_principal_over(who, acl);
    if (who->kind == ALM_PRINCIPAL_EXTERNAL && atomic_load(&who->over))
        why = "the identity provider takes the token no more, or the user has logged out there";
    if (why == NULL && who->began.proof == ALM_PROOF_TOKEN)
        why = alm_token_over(db, acl, who, until_us);
    return why;
}

static alm_status fail_over(alm_ctx *cx, const alm_principal *who, const char *why)
{
    return alm_fail(cx, ALM_E_LOGIN_OVER, -1, "the login of \"%s\" has ended: %s", who->name, why);
}

alm_status alm_login_stands(alm_ctx *cx, alm_db *db, const alm_principal *who, alm_seen *seen)
{
    alm_acl *acl = NULL;
    if (alm_seen_holds(db, seen))
        return ALM_OK;
    alm_seen now = alm_seen_now(db);
    ALM_TRY(alm_db_acl(cx, db, &acl));
    const char *why = login_over(db, acl, who, &now.until_us);
    alm_acl_release(acl);
    if (why != NULL)
        return fail_over(cx, who, why);
    *seen = now;
    return ALM_OK;
}

static alm_status check_assumed(alm_ctx *cx, const alm_session *s, const alm_acl *acl)
{
    alm_rights *own = NULL;
    const char *why = alm_principal_over(s->assumed, acl);
    if (why == NULL) {
        ALM_TRY(alm_rights_new(cx, (alm_acl *)(uintptr_t)acl, s->who, &own));
        if (!alm_rights_assumes(own, s->assumed->name, false))
            why = "it may not be assumed any more";
        alm_rights_release(own);
    }
    return why == NULL ? ALM_OK
                       : alm_fail(cx, ALM_E_LOGIN_OVER, -1,
                                  "the service account \"%s\" has ended for \"%s\": %s",
                                  s->assumed->name, s->who->name, why);
}

alm_status alm_session_stands(alm_ctx *cx, const alm_session *s, const alm_acl *acl, alm_seen *seen)
{
    const char *why = login_over(s->db, acl, s->who, &seen->until_us);
    if (why != NULL)
        return fail_over(cx, s->who, why);
    return s->assumed != NULL ? check_assumed(cx, s, acl) : ALM_OK;
}

alm_status alm_session_goes_on(alm_ctx *cx, const alm_session *s)
{
    return !atomic_load(&s->ended)
               ? ALM_OK
               : alm_fail(cx, ALM_E_LOGIN_OVER, -1,
                          "terminating connection due to administrator command");
}

alm_status alm_session_is_halted(alm_ctx *cx, const alm_session *s)
{
    const alm_status why = (alm_status)atomic_load_explicit(&s->halted, memory_order_acquire);
    if (why == ALM_OK)
        return ALM_OK;
    return alm_fail(cx, why, -1,
                    why == ALM_E_PROVIDER ? "identity provider not reachable"
                                          : "the session of this request has ended");
}

/* --------------------------------------------------------------------- questions */

static alm_status copy_text(alm_ctx *cx, alm_arena *arena, const char *text, const char **out)
{
    *out = NULL;
    return text == NULL ? ALM_OK : alm_arena_zstr(cx, arena, alm_str_of(text), out);
}

static alm_status copy_ask(alm_ctx *cx, alm_arena *arena, const alm_access_ask *ask,
                           alm_access_ask *out)
{
    const char **columns = NULL;
    *out = *ask; /* names of permissions are those of the table of them */
    out->col_pos = NULL;
    out->pos = -1;
    ALM_TRY(copy_text(cx, arena, ask->table, &out->table));
    ALM_TRY(copy_text(cx, arena, ask->view, &out->view));
    ALM_TRY(copy_text(cx, arena, ask->ts, &out->ts));
    if (ask->n > 0)
        ALM_TRY(ALM_NEWN(cx, arena, ask->n, &columns));
    for (uint32_t i = 0; i < ask->n; i++)
        ALM_TRY(copy_text(cx, arena, ask->columns[i], &columns[i]));
    out->columns = columns;
    return ALM_OK;
}

static alm_status add(alm_ctx *cx, alm_arena *arena, const alm_access_ask *ask,
                      const alm_asked **list)
{
    alm_asked *asked = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &asked));
    ALM_TRY(copy_ask(cx, arena, ask, &asked->ask));
    asked->next = *list;
    *list = asked;
    return ALM_OK;
}

alm_status alm_asked_add(alm_cursor *c, const alm_access_ask *ask)
{
    return add(&c->cx, c->cx.arena, ask, &c->asked);
}

/* All of them, for who `again` asks for. */
static alm_status ask_all(alm_cursor *again, const alm_asked *list)
{
    alm_status st = ALM_OK;
    for (; st == ALM_OK && list != NULL; list = list->next) {
        if (list->ask.permission != NULL)
            st = alm_access_answer(again, &list->ask);
        else if (!alm_rights_sees(again->rights, list->ask.table))
            st = alm_access_denied(again, -1, "a table that was seen");
    }
    return st;
}

/* For the session as its rights are now. */
static alm_status ask_again(alm_ctx *cx, alm_session *s, const alm_asked *list)
{
    alm_cursor again = {.session = s, .rights = s->rights};
    alm_cursor_context(&again);
    const alm_status st = ask_all(&again, list);
    if (st != ALM_OK)
        cx->err = again.cx.err;
    alm_arena_deinit(&again.arena);
    return st;
}

/* A refresh: for the definer as his rights are now, whoever runs it. */
static alm_status ask_definer(alm_cursor *c)
{
    const alm_seen seen = alm_seen_now(c->session->db);
    alm_cursor again = {.session = c->session};
    alm_cursor_context(&again);
    alm_status st = alm_cursor_as_definer(&again, c->definer_of);
    if (st == ALM_OK && again.rights != NULL)
        st = ask_all(&again, c->asked);
    if (st != ALM_OK)
        c->cx.err = again.cx.err;
    else
        c->seen = seen;
    c->turn = c->session->turn;
    alm_cursor_access_over(&again);
    alm_arena_deinit(&again.arena);
    return st;
}

alm_status alm_cursor_check(alm_cursor *c)
{
    alm_session *s = c->session;
    if (c->rights == NULL || (s->who == NULL && c->definer_of == NULL))
        return ALM_OK;
    ALM_TRY(alm_session_is_halted(&c->cx, s));
    if (s->turn == c->turn && alm_seen_holds(s->db, &c->seen))
        return ALM_OK;
    if (c->definer_of != NULL)
        return ask_definer(c);
    ALM_TRY(alm_session_refresh(&c->cx, s));
    if (s->turn != c->turn)
        ALM_TRY(ask_again(&c->cx, s, c->asked));
    c->seen = s->seen;
    c->turn = s->turn;
    return ALM_OK;
}

/* ------------------------------------------------------------------ held results */

struct alm_questions {
    alm_arena arena;
    const alm_asked *asked;
    alm_principal *who; /* whose login it was */
};

static alm_status fill(alm_ctx *cx, const alm_cursor *c, alm_questions *q)
{
    alm_arena_init(&q->arena, NULL);
    q->who = alm_principal_retain(c->session->who);
    for (const alm_asked *at = c->asked; at != NULL; at = at->next)
        ALM_TRY(add(cx, &q->arena, &at->ask, &q->asked));
    return ALM_OK;
}

alm_status alm_cursor_questions(alm_ctx *cx, const alm_cursor *c, alm_questions **out)
{
    *out = NULL;
    if (c->rights == NULL || c->session->who == NULL)
        return ALM_OK;
    alm_questions *q = calloc(1, sizeof *q);
    if (q == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    const alm_status st = fill(cx, c, q);
    if (st == ALM_OK)
        *out = q;
    else
        alm_questions_free(q);
    return st;
}

void alm_questions_free(alm_questions *q)
{
    if (q == NULL)
        return;
    alm_principal_release(q->who);
    alm_arena_deinit(&q->arena);
    free(q);
}

alm_status alm_questions_again(alm_ctx *cx, alm_session *s, const alm_questions *q)
{
    alm_seen never = {.records = UINT64_MAX};
    if (q == NULL || s->who == NULL)
        return ALM_OK;
    ALM_TRY(alm_login_stands(cx, s->db, q->who, &never));
    ALM_TRY(alm_session_refresh(cx, s));
    return ask_again(cx, s, q->asked);
}
