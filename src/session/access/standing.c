/* standing.c - see standing.h. */
#include "session/access/standing.h"

#include <stdlib.h>

#include "session/access/login.h"

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
