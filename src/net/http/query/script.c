/*
 * script.c - several statements in one request: one transaction, and the answer is that of the last.
 *
 * A change whose rows may turn out not to fit the format is committed with its answer too, so that a client that is told of an
 * error may send it again.
 */
#include "base/conf.h"
#include "net/http/query/run_state.h"

/* Looks for a statement behind `prepared`. */
static alm_status find_following(alm_query_run *run)
{
    alm_prepared *found = NULL;
    if (!alm_text_goes_on(run->query, run->next))
        return ALM_OK;
    if (alm_prepare(run->session, run->query, &run->next, &found) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    if (alm_prepared_kind(found) == ALM_STMT_EMPTY) {
        alm_prepared_free(found);
        found = NULL;
    }
    run->following = found;
    return ALM_OK;
}

static bool may_have_no_answer(const alm_query_run *run, alm_stmt_kind kind)
{
    const bool changes = alm_stmt_does_any(kind, ALM_S_CHANGES);
    return changes && (run->opt.cols.len > 0 || run->opt.format->ops->typed);
}

alm_status alm_script_prepare(alm_query_run *run)
{
    alm_session_timeout(run->session, run->opt.timeout_ms);
    alm_session_timeout_max(run->session,
                            run->opt.select_only ? run->cx.conf->http_export_timeout : 0);
    if (alm_prepare(run->session, run->query, &run->next, &run->prepared) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    const alm_stmt_kind kind = alm_prepared_kind(run->prepared);
    if (kind == ALM_STMT_EMPTY)
        return alm_fail(&run->cx, ALM_E_SYNTAX, 0, "empty query");
    const bool reads = alm_stmt_does_any(kind, ALM_S_ROWS);
    if (run->opt.select_only && !reads)
        return alm_fail(&run->cx, ALM_E_ARG, 0, "/exp endpoint only accepts SELECT");
    ALM_TRY(find_following(run));
    run->script = run->following != NULL;
    if (run->script && (run->opt.select_only || run->opt.params.ptr != NULL))
        return alm_fail(&run->cx, ALM_E_ARG, 0, "%s takes one statement",
                        run->opt.select_only ? "/exp" : "'params'");
    run->script |= may_have_no_answer(run, kind);
    return ALM_OK;
}

/* A statement before the last: its rows are computed and go nowhere. */
static alm_status run_to_the_end(alm_query_run *run)
{
    static const alm_execute_options all = {0};
    alm_batch *batch = NULL;
    alm_session_script(run->session);
    ALM_TRY(alm_query_open(run, &all));
    do {
        if (alm_cursor_next(run->cursor, &batch) != ALM_OK)
            return alm_query_failed(run, alm_session_error(run->session));
    } while (batch != NULL);
    alm_cursor_close(run->cursor);
    run->cursor = NULL;
    alm_prepared_free(run->prepared);
    run->prepared = run->following;
    run->following = NULL;
    return find_following(run);
}

alm_status alm_script_run_leading(alm_query_run *run)
{
    while (run->following != NULL)
        ALM_TRY(run_to_the_end(run));
    if (run->script)
        alm_session_script(run->session);
    return ALM_OK;
}

alm_status alm_script_commit(alm_query_run *run)
{
    if (!run->script)
        return ALM_OK;
    run->script = false;
    if (alm_session_script_end(run->session) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    if (!run->finished)
        alm_cursor_resume(run->cursor);
    return ALM_OK;
}

void alm_script_drop(alm_query_run *run)
{
    if (run->script)
        alm_session_script_drop(run->session);
    run->script = false;
}
