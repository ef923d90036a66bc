/* standing.c - see standing.h. */
#include "session/access/standing.h"

#include <stdlib.h>

#include "session/access/login.h"

/* --------------------------------------------------------------------- questions */

static alm_status standing_copy_text(alm_ctx *cx, alm_arena *arena, const char *text,
                                     const char **out)
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
    ALM_TRY(standing_copy_text(cx, arena, ask->table, &out->table));
    ALM_TRY(standing_copy_text(cx, arena, ask->view, &out->view));
    ALM_TRY(standing_copy_text(cx, arena, ask->ts, &out->ts));
    if (ask->n > 0)
        ALM_TRY(ALM_NEWN(cx, arena, ask->n, &columns));
    for (uint32_t i = 0; i < ask->n; i++)
        ALM_TRY(standing_copy_text(cx, arena, ask->columns[i], &columns[i]));
    out->columns = columns;
    return ALM_OK;
}

static alm_status standing_add(alm_ctx *cx, alm_arena *arena, const alm_access_ask *ask,
                               const alm_asked **list)
{
    alm_asked *asked = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &asked));
    ALM_TRY(copy_ask(cx, arena, ask, &asked->ask));
    asked->next = *list;
    *list = asked;
    return ALM_OK;
}

alm_status alm_asked_add(alm_cursor *cursor, const alm_access_ask *ask)
{
    return standing_add(&cursor->cx, cursor->cx.arena, ask, &cursor->asked);
}

/* All of them, for who `again` asks for. */
static alm_status ask_all(alm_cursor *again, const alm_asked *list)
{
    alm_status status = ALM_OK;
    for (; status == ALM_OK && list != NULL; list = list->next) {
        if (list->ask.permission != NULL)
            status = alm_access_answer(again, &list->ask);
        else if (!alm_rights_sees(again->rights, list->ask.table))
            status = alm_access_denied(again, -1, "a table that was seen");
    }
    return status;
}

/* For the session as its rights are now. */
static alm_status standing_ask_again(alm_ctx *cx, alm_session *session, const alm_asked *list)
{
    alm_cursor again = {.session = session, .rights = session->rights};
    alm_cursor_context(&again);
    const alm_status status = ask_all(&again, list);
    if (status != ALM_OK)
        cx->err = again.cx.err;
    alm_arena_deinit(&again.arena);
    return status;
}

/* A refresh: for the definer as his rights are now, whoever runs it. */
static alm_status ask_definer(alm_cursor *cursor)
{
    const alm_seen seen = alm_seen_now(cursor->session->db);
    alm_cursor again = {.session = cursor->session};
    alm_cursor_context(&again);
    alm_status status = alm_cursor_as_definer(&again, cursor->definer_of);
    if (status == ALM_OK && again.rights != NULL)
        status = ask_all(&again, cursor->asked);
    if (status != ALM_OK)
        cursor->cx.err = again.cx.err;
    else
        cursor->seen = seen;
    cursor->turn = cursor->session->turn;
    alm_cursor_access_over(&again);
    alm_arena_deinit(&again.arena);
    return status;
}

alm_status alm_cursor_check(alm_cursor *cursor)
{
    alm_session *session = cursor->session;
    if (cursor->rights == NULL || (session->who == NULL && cursor->definer_of == NULL))
        return ALM_OK;
    ALM_TRY(alm_session_is_halted(&cursor->cx, session));
    if (session->turn == cursor->turn && alm_seen_holds(session->db, &cursor->seen))
        return ALM_OK;
    if (cursor->definer_of != NULL)
        return ask_definer(cursor);
    ALM_TRY(alm_session_refresh(&cursor->cx, session));
    if (session->turn != cursor->turn)
        ALM_TRY(standing_ask_again(&cursor->cx, session, cursor->asked));
    cursor->seen = session->seen;
    cursor->turn = session->turn;
    return ALM_OK;
}

/* ------------------------------------------------------------------ held results */

struct alm_questions {
    alm_arena arena;
    const alm_asked *asked;
    alm_principal *who; /* whose login it was */
};

static alm_status standing_fill(alm_ctx *cx, const alm_cursor *cursor, alm_questions *questions)
{
    alm_arena_init(&questions->arena, NULL);
    questions->who = alm_principal_retain(cursor->session->who);
    for (const alm_asked *at = cursor->asked; at != NULL; at = at->next)
        ALM_TRY(standing_add(cx, &questions->arena, &at->ask, &questions->asked));
    return ALM_OK;
}

alm_status alm_cursor_questions(alm_ctx *cx, const alm_cursor *cursor, alm_questions **out)
{
    *out = NULL;
    if (cursor->rights == NULL || cursor->session->who == NULL)
        return ALM_OK;
    alm_questions *questions = calloc(1, sizeof *questions);
    if (questions == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    const alm_status status = standing_fill(cx, cursor, questions);
    if (status == ALM_OK)
        *out = questions;
    else
        alm_questions_free(questions);
    return status;
}

void alm_questions_free(alm_questions *questions)
{
    if (questions == NULL)
        return;
    alm_principal_release(questions->who);
    alm_arena_deinit(&questions->arena);
    free(questions);
}

alm_status alm_questions_again(alm_ctx *cx, alm_session *session, const alm_questions *questions)
{
    alm_seen never = {.records = UINT64_MAX};
    if (questions == NULL || session->who == NULL)
        return ALM_OK;
    ALM_TRY(alm_login_stands(cx, session->db, questions->who, &never));
    ALM_TRY(alm_session_refresh(cx, session));
    return standing_ask_again(cx, session, questions->asked);
}
