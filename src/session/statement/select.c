/*
 * select.c - from a SELECT to its running operators: the plan that is kept for its text, or a new one.
 */
#include "session/access/access.h"
#include "session/statement/statement.h"

alm_status alm_cursor_open_plan(alm_cursor *c)
{
    const alm_exec_env env = alm_db_exec_env(c->session->db, c->snapshot);
    ALM_ASSERT(c->exec == NULL && c->plan != NULL);
    return alm_exec_open(&c->cx, c->plan, &env, &c->exec);
}

static alm_status open_plan(alm_cursor *c)
{
    c->cols = c->plan->cols;
    c->n_cols = c->plan->n_cols;
    c->ts_col = c->plan->ts_col;
    c->has_rows = true;
    alm_audit_plan(c, c->plan);
    return alm_cursor_open_plan(c);
}

alm_status alm_run_select(alm_cursor *c, alm_select *select, alm_param *params, uint32_t n)
{
    alm_plan_env env;
    const int64_t start = alm_monotonic_ns();
    alm_plan_env_init(&env, c, params, n);
    ALM_TRY(alm_plan_select(&c->cx, &env, select, &c->plan));
    c->compile_ns += alm_monotonic_ns() - start;
    return open_plan(c);
}

/* Whose plan it is: with access control of that user's rights in that epoch. */
static alm_str user_of(const alm_cursor *c)
{
    return alm_str_of(c->rights != NULL ? c->session->plan_key : c->session->user);
}

/* Tables that change between any two executions make plans useless: where there is no template either, those
 * rest for a while. */
enum { PAUSE = 16 };

int64_t alm_cursor_plan_limit(const alm_cursor *c)
{
    const bool planned = c->prepared->stmt->kind == ALM_STMT_SELECT && !c->options.count_all;
    return planned ? c->options.last_rows : 0;
}

static alm_plan_key key_of(const alm_cursor *c)
{
    return (alm_plan_key){user_of(c), c->prepared->text, alm_cursor_plan_limit(c)};
}

static bool holds(const alm_cursor *c, alm_kept_plan *plan)
{
    const bool yes = alm_str_eq(plan->key.user, user_of(c)) &&
                     alm_kept_plan_holds(plan, c->snapshot, c->cx.now_ns);
    if (yes && !atomic_load_explicit(&plan->used, memory_order_relaxed))
        atomic_store_explicit(&plan->used, true, memory_order_relaxed);
    return yes;
}

typedef enum worth { WORTH_NOTHING, WORTH_A_PLAN, WORTH_A_TEMPLATE } worth;

/* Is a new plan worth keeping, when the one before, if any, does not hold? */
static worth worth_keeping(alm_prepared *p, bool planned)
{
    const bool useless =
        p->kept != NULL && !atomic_load_explicit(&p->kept->used, memory_order_relaxed);
    const bool template = p->stmt->n_params > 0 || (useless && !p->no_template);
    if (useless && !template)
        p->pause = PAUSE;
    if (p->pause == 0)
        return !(p->again || planned || p->kept != NULL) ? WORTH_NOTHING
               : template                                ? WORTH_A_TEMPLATE
                                                         : WORTH_A_PLAN;
    p->pause--;
    return WORTH_NOTHING;
}

/* The statement was run with another limit, or with none: what is kept of it is the plan of another query. */
static void change_limit(const alm_cursor *c, alm_prepared *p)
{
    const int64_t last_rows = alm_cursor_plan_limit(c);
    if (p->last_rows == last_rows)
        return;
    p->last_rows = last_rows;
    p->planned = false;
    alm_kept_plan_release(p->kept);
    p->kept = p->keeps ? alm_plan_cache_find(&c->session->db->plans, key_of(c), &p->again) : NULL;
    if (p->kept == NULL || !p->kept->hopeless)
        return;
    p->keeps = false;
    alm_kept_plan_release(p->kept);
    p->kept = NULL;
}

/* The plan that is kept for the statement and holds in the cursor's snapshot, NULL: none does; borrowed from
 * the statement. *keep: what of a new one is worth keeping. */
static alm_kept_plan *kept_plan(const alm_cursor *c, alm_prepared *p, worth *keep)
{
    alm_plan_cache *plans = &c->session->db->plans;
    const bool planned = p->planned, had = p->kept != NULL;
    bool again = false;
    *keep = WORTH_NOTHING;
    if (!p->keeps || c->session->txn != NULL) /* what the transaction wrote is for nobody else */
        return NULL;
    if (had && holds(c, p->kept))
        return p->kept;
    *keep = worth_keeping(p, planned);
    p->planned = true;
    alm_kept_plan_release(p->kept);
    p->kept = NULL;
    /* Before one is made others are asked once more: many may have prepared the text before the first ran it. */
    if (!planned && !had && *keep == WORTH_NOTHING) /* alm_prepare has just looked */
        return NULL;
    alm_kept_plan *found = alm_plan_cache_find(plans, key_of(c), &again);
    if (found != NULL && holds(c, found)) {
        p->kept = found;
        return found;
    }
    if (found != NULL && found->hopeless)
        p->keeps = false;
    else if (found != NULL)
        alm_plan_cache_drop(plans, found);
    alm_kept_plan_release(found);
    return NULL;
}

static alm_status make_kept(alm_cursor *c, alm_prepared *p, const alm_plan_env *env)
{
    alm_db *db = c->session->db;
    ALM_TRY(alm_kept_plan_new(&c->cx, &db->mem, db->query_mem_bytes, &c->kept));
    c->asked = NULL; /* what planning asks is kept with the plan */
    ALM_TRY(alm_kept_plan_make(&c->cx, c->kept, env, key_of(c), &p->keeps));
    c->kept->asked = c->asked;
    c->plan = c->kept->plan;
    if (!p->keeps)
        return ALM_OK;
    alm_plan_cache_put(&db->plans, c->kept);
    p->kept = alm_kept_plan_retain(c->kept);
    return ALM_OK;
}

/* *made false: the statement has no template, or an error, which planning it will meet. */
static alm_status make_template(alm_cursor *c, alm_prepared *p, const alm_plan_env *env, bool *made)
{
    alm_db *db = c->session->db;
    alm_kept_plan *kept = NULL;
    alm_plan_env open = *env;
    open.as_template = true;
    *made = false;
    ALM_TRY(alm_kept_plan_new(&c->cx, &db->mem, db->query_mem_bytes, &kept));
    c->asked = NULL;
    const alm_status st = alm_kept_plan_make(&c->cx, kept, &open, key_of(c), made);
    kept->asked = c->asked;
    c->asked = NULL; /* its memory is the template's */
    if (st == ALM_OK && *made) {
        alm_plan_cache_put(&db->plans, kept);
        p->kept = kept;
        return ALM_OK;
    }
    alm_kept_plan_release(kept);
    if (st == ALM_E_MEMORY || st == ALM_E_CANCEL || st == ALM_E_TIMEOUT || st == ALM_E_YIELD)
        return st;
    alm_error_clear(&c->cx);
    return ALM_OK;
}

/* It was planned, and had no template. */
static alm_status remember_hopeless(alm_cursor *c, alm_prepared *p)
{
    alm_db *db = c->session->db;
    alm_kept_plan *kept = NULL;
    p->no_template = true;
    if (p->stmt->n_params == 0) { /* its plan may still be kept */
        p->pause = PAUSE;
        return ALM_OK;
    }
    p->keeps = false;
    ALM_TRY(alm_kept_plan_new(&c->cx, &db->mem, db->query_mem_bytes, &kept));
    const alm_status st = alm_kept_plan_hopeless(&c->cx, kept, key_of(c));
    if (st == ALM_OK)
        alm_plan_cache_put(&db->plans, kept);
    alm_kept_plan_release(kept);
    return st;
}

/* Anew, from the parsed tree. */
static alm_status plan_anew(alm_cursor *c, alm_prepared *p, const alm_plan_env *env)
{
    ALM_TRY(alm_prepared_parse(&c->cx, p));
    return alm_plan_select(&c->cx, env, p->stmt->select, &c->plan);
}

/* Runs by a plan of the statement that holds. */
static alm_status take_kept(alm_cursor *c, alm_kept_plan *kept, const alm_plan_env *env)
{
    c->kept = alm_kept_plan_retain(kept);
    c->asked = kept->asked;
    if (kept->is_template)
        return alm_plan_instance(&c->cx, env, kept->plan, &c->plan);
    c->plan = kept->plan;
    return ALM_OK;
}

static alm_status plan_prepared(alm_cursor *c, alm_param *params, uint32_t n)
{
    alm_prepared *p = c->prepared;
    alm_plan_env env;
    worth keep = WORTH_NOTHING;
    bool made = false;
    change_limit(c, p);
    alm_kept_plan *kept = kept_plan(c, p, &keep);
    alm_plan_env_init(&env, c, params, n);
    env.last_rows = p->last_rows;
    if (kept != NULL && (!kept->is_template || alm_kept_plan_fits(kept, params, n)))
        return take_kept(c, kept, &env);
    if (keep == WORTH_A_PLAN)
        return make_kept(c, p, &env);
    if (keep == WORTH_A_TEMPLATE)
        ALM_TRY(make_template(c, p, &env, &made));
    if (made && alm_kept_plan_fits(p->kept, params, n))
        return take_kept(c, p->kept, &env);
    ALM_TRY(plan_anew(c, p, &env));
    return keep == WORTH_A_TEMPLATE && !made ? remember_hopeless(c, p) : ALM_OK;
}

alm_status alm_run_prepared(alm_cursor *c, alm_param *params, uint32_t n)
{
    ALM_TRY(plan_prepared(c, params, n));
    c->compile_ns += alm_monotonic_ns() - c->cx.started_ns; /* what was before took no time */
    return open_plan(c);
}

/* The statement itself is a SELECT. */
alm_status alm_run_query(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)stmt;
    return alm_run_prepared(c, params, n);
}

alm_status alm_check_query(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    return alm_plan_select(&c->cx, env, stmt->select, &out->plan);
}
