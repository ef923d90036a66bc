/*
 * select.c - from a SELECT to its running operators: the plan that is kept for its text, or a new one.
 */
#include "session/access/access.h"
#include "session/statement/statement.h"

alm_status alm_cursor_open_plan(alm_cursor *cursor)
{
    const alm_exec_env env = alm_db_exec_env(cursor->session->db, cursor->snapshot);
    ALM_ASSERT(cursor->exec == NULL && cursor->plan != NULL);
    return alm_exec_open(&cursor->cx, cursor->plan, &env, &cursor->exec);
}

static alm_status open_plan(alm_cursor *cursor)
{
    cursor->cols = cursor->plan->cols;
    cursor->n_cols = cursor->plan->n_cols;
    cursor->ts_col = cursor->plan->ts_col;
    cursor->has_rows = true;
    alm_audit_plan(cursor, cursor->plan);
    return alm_cursor_open_plan(cursor);
}

alm_status alm_run_select(alm_cursor *cursor, alm_select *select, alm_param *params, uint32_t n)
{
    alm_plan_env env;
    const int64_t start = alm_monotonic_ns();
    alm_plan_env_init(&env, cursor, params, n);
    ALM_TRY(alm_plan_select(&cursor->cx, &env, select, &cursor->plan));
    cursor->compile_ns += alm_monotonic_ns() - start;
    return open_plan(cursor);
}

/* Whose plan it is: with access control of that user's rights in that epoch. */
static alm_str statement_select_user_of(const alm_cursor *cursor)
{
    return alm_str_of(cursor->rights != NULL ? cursor->session->plan_key : cursor->session->user);
}

/* Tables that change between any two executions make plans useless: where there is no template either, those
 * rest for a while. */
enum { PAUSE = 16 };

int64_t alm_cursor_plan_limit(const alm_cursor *cursor)
{
    const bool planned =
        cursor->prepared->stmt->kind == ALM_STMT_SELECT && !cursor->options.count_all;
    return planned ? cursor->options.last_rows : 0;
}

static alm_plan_key statement_select_key_of(const alm_cursor *cursor)
{
    return (alm_plan_key){statement_select_user_of(cursor), cursor->prepared->text,
                          alm_cursor_plan_limit(cursor)};
}

static bool statement_select_holds(const alm_cursor *cursor, alm_kept_plan *plan)
{
    const bool yes = alm_str_eq(plan->key.user, statement_select_user_of(cursor)) &&
                     alm_kept_plan_holds(plan, cursor->snapshot, cursor->cx.now_ns);
    if (yes && !atomic_load_explicit(&plan->used, memory_order_relaxed))
        atomic_store_explicit(&plan->used, true, memory_order_relaxed);
    return yes;
}

typedef enum worth { WORTH_NOTHING, WORTH_A_PLAN, WORTH_A_TEMPLATE } worth;

/* Is a new plan worth keeping, when the one before, if any, does not hold? */
static worth worth_keeping(alm_prepared *prepared, bool planned)
{
    const bool useless = prepared->kept != NULL &&
                         !atomic_load_explicit(&prepared->kept->used, memory_order_relaxed);
    const bool template = prepared->stmt->n_params > 0 || (useless && !prepared->no_template);
    if (useless && !template)
        prepared->pause = PAUSE;
    if (prepared->pause == 0)
        return !(prepared->again || planned || prepared->kept != NULL) ? WORTH_NOTHING
               : template                                              ? WORTH_A_TEMPLATE
                                                                       : WORTH_A_PLAN;
    prepared->pause--;
    return WORTH_NOTHING;
}

/* The statement was run with another limit, or with none: what is kept of it is the plan of another query. */
static void change_limit(const alm_cursor *cursor, alm_prepared *prepared)
{
    const int64_t last_rows = alm_cursor_plan_limit(cursor);
    if (prepared->last_rows == last_rows)
        return;
    prepared->last_rows = last_rows;
    prepared->planned = false;
    alm_kept_plan_release(prepared->kept);
    prepared->kept = prepared->keeps
                         ? alm_plan_cache_find(&cursor->session->db->plans,
                                               statement_select_key_of(cursor), &prepared->again)
                         : NULL;
    if (prepared->kept == NULL || !prepared->kept->hopeless)
        return;
    prepared->keeps = false;
    alm_kept_plan_release(prepared->kept);
    prepared->kept = NULL;
}

/* The plan that is kept for the statement and holds in the cursor's snapshot, NULL: none does; borrowed from
 * the statement. *keep: what of a new one is worth keeping. */
static alm_kept_plan *kept_plan(const alm_cursor *cursor, alm_prepared *prepared, worth *keep)
{
    alm_plan_cache *plans = &cursor->session->db->plans;
    const bool planned = prepared->planned, had = prepared->kept != NULL;
    bool again = false;
    *keep = WORTH_NOTHING;
    if (!prepared->keeps ||
        cursor->session->txn != NULL) /* what the transaction wrote is for nobody else */
        return NULL;
    if (had && statement_select_holds(cursor, prepared->kept))
        return prepared->kept;
    *keep = worth_keeping(prepared, planned);
    prepared->planned = true;
    alm_kept_plan_release(prepared->kept);
    prepared->kept = NULL;
    /* Before one is made others are asked once more: many may have prepared the text before the first ran it. */
    if (!planned && !had && *keep == WORTH_NOTHING) /* alm_prepare has just looked */
        return NULL;
    alm_kept_plan *found = alm_plan_cache_find(plans, statement_select_key_of(cursor), &again);
    if (found != NULL && statement_select_holds(cursor, found)) {
        prepared->kept = found;
        return found;
    }
    if (found != NULL && found->hopeless)
        prepared->keeps = false;
    else if (found != NULL)
        alm_plan_cache_drop(plans, found);
    alm_kept_plan_release(found);
    return NULL;
}

static alm_status make_kept(alm_cursor *cursor, alm_prepared *prepared, const alm_plan_env *env)
{
    alm_db *db = cursor->session->db;
    ALM_TRY(alm_kept_plan_new(&cursor->cx, &db->mem, db->query_mem_bytes, &cursor->kept));
    cursor->asked = NULL; /* what planning asks is kept with the plan */
    ALM_TRY(alm_kept_plan_make(&cursor->cx, cursor->kept, env, statement_select_key_of(cursor),
                               &prepared->keeps));
    cursor->kept->asked = cursor->asked;
    cursor->plan = cursor->kept->plan;
    if (!prepared->keeps)
        return ALM_OK;
    alm_plan_cache_put(&db->plans, cursor->kept);
    prepared->kept = alm_kept_plan_retain(cursor->kept);
    return ALM_OK;
}

/* *made false: the statement has no template, or an error, which planning it will meet. */
static alm_status make_template(alm_cursor *cursor, alm_prepared *prepared, const alm_plan_env *env,
                                bool *made)
{
    alm_db *db = cursor->session->db;
    alm_kept_plan *kept = NULL;
    alm_plan_env open = *env;
    open.as_template = true;
    *made = false;
    ALM_TRY(alm_kept_plan_new(&cursor->cx, &db->mem, db->query_mem_bytes, &kept));
    cursor->asked = NULL;
    const alm_status status =
        alm_kept_plan_make(&cursor->cx, kept, &open, statement_select_key_of(cursor), made);
    kept->asked = cursor->asked;
    cursor->asked = NULL; /* its memory is the template's */
    if (status == ALM_OK && *made) {
        alm_plan_cache_put(&db->plans, kept);
        prepared->kept = kept;
        return ALM_OK;
    }
    alm_kept_plan_release(kept);
    if (status == ALM_E_MEMORY || status == ALM_E_CANCEL || status == ALM_E_TIMEOUT ||
        status == ALM_E_YIELD)
        return status;
    alm_error_clear(&cursor->cx);
    return ALM_OK;
}

/* It was planned, and had no template. */
static alm_status remember_hopeless(alm_cursor *cursor, alm_prepared *prepared)
{
    alm_db *db = cursor->session->db;
    alm_kept_plan *kept = NULL;
    prepared->no_template = true;
    if (prepared->stmt->n_params == 0) { /* its plan may still be kept */
        prepared->pause = PAUSE;
        return ALM_OK;
    }
    prepared->keeps = false;
    ALM_TRY(alm_kept_plan_new(&cursor->cx, &db->mem, db->query_mem_bytes, &kept));
    const alm_status status =
        alm_kept_plan_hopeless(&cursor->cx, kept, statement_select_key_of(cursor));
    if (status == ALM_OK)
        alm_plan_cache_put(&db->plans, kept);
    alm_kept_plan_release(kept);
    return status;
}

/* Anew, from the parsed tree. */
static alm_status plan_anew(alm_cursor *cursor, alm_prepared *prepared, const alm_plan_env *env)
{
    ALM_TRY(alm_prepared_parse(&cursor->cx, prepared));
    return alm_plan_select(&cursor->cx, env, prepared->stmt->select, &cursor->plan);
}

/* Runs by a plan of the statement that holds. */
static alm_status statement_select_take_kept(alm_cursor *cursor, alm_kept_plan *kept,
                                             const alm_plan_env *env)
{
    cursor->kept = alm_kept_plan_retain(kept);
    cursor->asked = kept->asked;
    if (kept->is_template)
        return alm_plan_instance(&cursor->cx, env, kept->plan, &cursor->plan);
    cursor->plan = kept->plan;
    return ALM_OK;
}

static alm_status plan_prepared(alm_cursor *cursor, alm_param *params, uint32_t n)
{
    alm_prepared *prepared = cursor->prepared;
    alm_plan_env env;
    worth keep = WORTH_NOTHING;
    bool made = false;
    change_limit(cursor, prepared);
    alm_kept_plan *kept = kept_plan(cursor, prepared, &keep);
    alm_plan_env_init(&env, cursor, params, n);
    env.last_rows = prepared->last_rows;
    if (kept != NULL && (!kept->is_template || alm_kept_plan_fits(kept, params, n)))
        return statement_select_take_kept(cursor, kept, &env);
    if (keep == WORTH_A_PLAN)
        return make_kept(cursor, prepared, &env);
    if (keep == WORTH_A_TEMPLATE)
        ALM_TRY(make_template(cursor, prepared, &env, &made));
    if (made && alm_kept_plan_fits(prepared->kept, params, n))
        return statement_select_take_kept(cursor, prepared->kept, &env);
    ALM_TRY(plan_anew(cursor, prepared, &env));
    return keep == WORTH_A_TEMPLATE && !made ? remember_hopeless(cursor, prepared) : ALM_OK;
}

alm_status alm_run_prepared(alm_cursor *cursor, alm_param *params, uint32_t n)
{
    ALM_TRY(plan_prepared(cursor, params, n));
    cursor->compile_ns +=
        alm_monotonic_ns() - cursor->cx.started_ns; /* what was before took no time */
    return open_plan(cursor);
}

/* The statement itself is a SELECT. */
alm_status alm_run_query(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)stmt;
    return alm_run_prepared(cursor, params, n);
}

alm_status alm_check_query(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    return alm_plan_select(&cursor->cx, env, stmt->select, &out->plan);
}
