/*
 * view.c - views: their query in the place of their name, and CREATE [MATERIALIZED] VIEW.
 *
 * Positions   An error in the query of a view points at the name of the outermost view in the statement:
 *             places in the view's own text mean nothing there. So do the expressions of its plan.
 * Variables   DECLAREs around a view set its OVERRIDABLE variables; others of its variables may not be
 *             named there. In a view of another definer they are constants: a name or a query would be read with his rights.
 * Barriers    stand around the views of other definers: opt/barrier.c.
 * EXPLAIN     of who may not see what such a view reads gets a leaf in its place, with the columns of the view and a number of rows
 *             that says nothing: what the rules make of the tables below it, of their dictionaries and their times, is not seen,
 *             and neither are their names. A plan with such a leaf cannot run.
 */
#include "sql/bind/bind.h"
#include "sql/bind/table.h"
#include "sql/node/ops.h"
#include "sql/node/walk.h"
#include "sql/opt/opt.h"
#include "sql/parse/parse.h"
#include "sql/plan/access.h"
#include "time/timestamp.h"
#include "time/zone.h"

enum { NESTING_MAX = 64, VIEWS_MAX = 4096, SEALED_ROWS = 1000 };

typedef struct alm_view_level {
    const char *name;
    const struct alm_view_level *outer;
    uint32_t depth;
} alm_view_level;

alm_status alm_refuse_view(alm_ctx *cx, const alm_table *table, int32_t pos)
{
    if (table->kind == ALM_TABLE_BASE)
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, pos, "cannot modify %s [view=%s]",
                    table->kind == ALM_TABLE_VIEW ? "view" : "materialized view", table->name);
}

/* -------------------------------------------------------------------- in queries */

alm_status alm_declare_around(alm_planner *planner, const alm_select *sel)
{
    alm_override *list = NULL;
    if (sel->n_declare == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, sel->n_declare, &list));
    for (uint32_t i = 0; i < sel->n_declare; i++) {
        const alm_declare *declare = &sel->declare[i];
        list[i] =
            (alm_override){declare->name, declare->value, declare->assign_pos, planner->overrides};
        planner->overrides = &list[i];
    }
    return ALM_OK;
}

/* What happens while rows are made is told at the name of the view. */
static alm_status place_expr(void *arg, alm_expr **expr)
{
    const int32_t *pos = arg;
    (*expr)->pos = *pos;
    for (uint32_t i = 0; i < (*expr)->n_args; i++)
        ALM_TRY(place_expr(arg, &(*expr)->args[i]));
    return ALM_OK;
}

static alm_status place_plan(alm_plan *plan, int32_t pos)
{
    plan->pos = pos;
    ALM_TRY(alm_plan_exprs(plan, place_expr, &pos));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(place_plan(plan->child[i], pos));
    return ALM_OK;
}

static alm_status bind_text(alm_planner *planner, const alm_table *view,
                            const alm_view_level *level, bool hides, bool *refused, alm_plan **out)
{
    alm_select *sel = NULL;
    const alm_view_level *const outer = planner->views;
    const char *const outer_view = planner->view;
    const alm_override *const foreign = planner->foreign;
    if (hides)
        planner->foreign = planner->overrides;
    ALM_TRY(alm_sql_parse_view(planner->cx, alm_str_of(view->view->sql), planner->overrides,
                               planner->foreign, refused, &sel));
    planner->views = level;
    planner->view = view->name;
    ALM_TRY(alm_bind_query(planner, NULL, sel, out));
    planner->views = outer;
    planner->view = outer_view;
    planner->foreign = foreign;
    return ALM_OK;
}

/* Puts the leaf in the place of what the barrier stands around. */
static alm_status seal(alm_planner *planner, alm_plan *barrier)
{
    const alm_plan *was = barrier->child[0];
    alm_plan *leaf = NULL;
    ALM_ASSERT(barrier->op == ALM_P_BARRIER);
    ALM_TRY(alm_plan_new(planner, ALM_P_VALUES, barrier->pos, NULL, &leaf));
    leaf->cols = was->cols;
    leaf->n_cols = was->n_cols;
    leaf->ts_col = was->ts_col;
    leaf->order = was->order;
    leaf->values.n_rows = SEALED_ROWS;
    leaf->est_rows = SEALED_ROWS;
    barrier->child[0] = leaf;
    barrier->depth = leaf->depth + 1;
    barrier->barrier.sealed = true;
    *planner->env->sealed = true;
    return ALM_OK;
}

alm_status alm_bind_view(alm_planner *planner, const alm_table *view, int32_t pos, alm_plan **out)
{
    const alm_view_level level = {.name = view->name,
                                  .outer = planner->views,
                                  .depth = planner->views == NULL ? 1 : planner->views->depth + 1};
    for (const alm_view_level *view_level = planner->views; view_level != NULL;
         view_level = view_level->outer)
        if (alm_str_ieq(alm_str_of(view_level->name), alm_str_of(view->name)))
            return alm_fail(planner->cx, ALM_E_ARG, pos,
                            "circular dependency detected: '%s' cannot depend on '%s' because "
                            "'%s' already depends on '%s'",
                            view->name, planner->views->name, planner->views->name, view->name);
    if (++planner->n_views > VIEWS_MAX) /* views of twice the view below double with each level */
        return alm_fail(planner->cx, ALM_E_LIMIT, pos,
                        "the statement stands for too many views (limit %d)", VIEWS_MAX);
    if (level.depth > NESTING_MAX)
        return alm_fail(planner->cx, ALM_E_LIMIT, pos, "views are nested too deeply (limit %d)",
                        NESTING_MAX);
    bool refused = false;
    const bool hides = alm_access_hides(planner->cx, view->name, planner->view);
    /* from the user, through whichever view of his it is read */
    const bool unseen =
        planner->env->sealed != NULL && alm_access_hides(planner->cx, view->name, NULL);
    const alm_status status = bind_text(planner, view, &level, hides, &refused, out);
    if (status != ALM_OK) {
        if (!refused || level.depth > 1)
            planner->cx->err.sql_pos = pos;
        return status;
    }
    if (hides || unseen)
        ALM_TRY(alm_plan_new(planner, ALM_P_BARRIER, pos, *out, out));
    if (unseen)
        ALM_TRY(seal(planner, *out));
    (*out)->view = view;
    return place_plan(*out, pos);
}

alm_status alm_plan_view(alm_ctx *cx, const alm_plan_env *env, const char *sql, alm_plan **out)
{
    alm_select *sel = NULL;
    bool refused = false;
    alm_status status = alm_sql_parse_view(cx, alm_str_of(sql), NULL, NULL, &refused, &sel);
    if (status == ALM_OK)
        status = alm_plan_select(cx, env, sel, out);
    if (status != ALM_OK)
        cx->err.sql_pos = -1; /* of the view's text */
    return status;
}

/* ------------------------------------------------------------------------- shape */

typedef struct base_count {
    uint64_t base_id;
    uint32_t n;
    bool kept; /* something that may keep rows, or find them again and again */
} base_count;

static void count_base(const alm_plan *plan, base_count *count)
{
    if (plan->op == ALM_P_SCAN && plan->scan.table->id == count->base_id)
        count->n++;
    count->kept |= !alm_node_is(plan, ALM_NODE_REFRESHABLE);
    for (uint32_t i = 0; i < plan->n_children; i++)
        count_base(plan->child[i], count);
}

/* Column `col` of a node below the SAMPLE: is it the designated timestamp of the base, and does each
 * row of the node come from one row of the base, whatever other rows it has? */
static bool follows_rows(const alm_plan *plan, uint32_t col, uint64_t base_id)
{
    switch ((int)plan->op) {
    case ALM_P_SCAN:
        return plan->scan.table->id == base_id && col < plan->scan.n_cols &&
               (int32_t)plan->scan.cols[col] == plan->scan.table->ts_col;
    case ALM_P_FILTER:
        return follows_rows(plan->child[0], col, base_id);
    case ALM_P_SORT:
        return plan->sort.limit < 0 && follows_rows(plan->child[0], col, base_id);
    case ALM_P_PROJECT:
        return plan->project.expr[col]->kind == ALM_X_COL &&
               follows_rows(plan->child[0], plan->project.expr[col]->col, base_id);
    case ALM_P_JOIN:
        if (col >= plan->child[0]->n_cols) /* the planner may turn inner joins */
            return (plan->join.kind == ALM_JOIN_INNER || plan->join.kind == ALM_JOIN_CROSS) &&
                   follows_rows(plan->child[1], col - plan->child[0]->n_cols, base_id);
        return plan->join.kind != ALM_JOIN_RIGHT && plan->join.kind != ALM_JOIN_FULL &&
               plan->join.kind != ALM_JOIN_SPLICE && col < plan->child[0]->n_cols &&
               follows_rows(plan->child[0], col, base_id);
    default:
        return alm_node_is(plan, ALM_NODE_ONE_LEFT_ROW) && col < plan->child[0]->n_cols &&
               follows_rows(plan->child[0], col, base_id);
    }
}

/* Down to the SAMPLE whose bucket column `col` of this node is. */
static const alm_plan *find_sample(const alm_plan *plan, int32_t col, bool *plain)
{
    while (col >= 0) {
        if (plan->op == ALM_P_SAMPLE)
            return col == 0 ? plan : NULL;
        if (plan->op == ALM_P_PROJECT) {
            const alm_expr *expr = plan->project.expr[col];
            if (expr->kind != ALM_X_COL)
                return NULL;
            col = (int32_t)expr->col;
        } else if (plan->op == ALM_P_SHARED) {
            *plain = false;
            col = (int32_t)plan->shared.cols[col];
            plan = plan->shared.of;
        } else if (plan->op != ALM_P_FILTER && (plan->op != ALM_P_SORT || plan->sort.limit >= 0)) {
            *plain = false;
            const bool passes = plan->op == ALM_P_LIMIT || plan->op == ALM_P_SORT ||
                                plan->op == ALM_P_WINDOW || plan->op == ALM_P_JOIN;
            if (!passes || col >= (int32_t)plan->child[0]->n_cols)
                return NULL;
        }
        plan = plan->child[0];
    }
    return NULL;
}

const alm_sample_spec *alm_view_shape(const alm_plan *plan, uint64_t base_id, bool *incremental)
{
    base_count count = {.base_id = base_id};
    bool plain = true;
    const alm_plan *sample = find_sample(plan, plan->ts_col, &plain);
    count_base(plan, &count);
    *incremental = sample != NULL && plain && count.n == 1 && !count.kept &&
                   sample->sample.fill == NULL && !sample->sample.first_observation &&
                   !sample->sample.has_from && !sample->sample.has_to &&
                   follows_rows(sample->child[0], sample->sample.ts_col, base_id);
    return sample == NULL ? NULL : &sample->sample;
}

/* --------------------------------------------------------------------- creating */

static alm_status no_double_alias(alm_ctx *cx, const alm_select *sel)
{
    alm_name_set seen = {0};
    for (uint32_t i = 0; i < sel->n_items; i++) {
        const alm_str alias = sel->items[i].alias;
        uint32_t had = ALM_NAME_NONE;
        if (alias.len > 0)
            ALM_TRY(alm_name_set_add(cx, &seen, alias, i, &had));
        if (had != ALM_NAME_NONE)
            return alm_fail(cx, ALM_E_DUPLICATE, sel->items[i].alias_pos,
                            "Duplicate column [name=%.*s]", (int)alias.len, alias.ptr);
    }
    return ALM_OK;
}

static alm_status view_columns(alm_planner *planner, const alm_stmt *stmt, const alm_plan *plan,
                               bool stored, alm_create *create)
{
    ALM_TRY(no_double_alias(planner->cx, stmt->select));
    ALM_TRY(alm_create_add_all(planner, stmt, plan, stored, create));
    create->ts_col = plan->ts_col;
    return ALM_OK;
}

static alm_status bind_view_taken(alm_ctx *cx, const alm_stmt *stmt, const char *what)
{
    return alm_fail(cx, ALM_E_EXISTS, stmt->table_pos, "%s already exists [table=%.*s]", what,
                    (int)stmt->table.len, stmt->table.ptr);
}

/* Is the name free, or the view there that the statement may leave or replace? */
static alm_status check_old(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_view_plan *plan)
{
    const alm_table *old = alm_snapshot_find(env->snapshot, stmt->table);
    const bool alter = stmt->kind == ALM_STMT_ALTER_VIEW;
    if (old == NULL && alter)
        return alm_fail(cx, ALM_E_TABLE, stmt->table_pos, "view does not exist [view=%.*s]",
                        (int)stmt->table.len, stmt->table.ptr);
    if (old == NULL)
        return alm_create_check_name(cx, env, stmt);
    if (alter && old->kind != ALM_TABLE_VIEW)
        return alm_fail(cx, ALM_E_ARG, stmt->table_pos, "view name expected");
    if (old->kind != plan->kind)
        return bind_view_taken(cx, stmt,
                               plan->kind == ALM_TABLE_VIEW
                                   ? "table or materialized view with the requested name"
                                   : "table or view with the requested name");
    if (alter || stmt->or_replace)
        plan->replace = true;
    else if (stmt->if_not_exists)
        plan->create.exists = true;
    else
        return bind_view_taken(cx, stmt,
                               plan->kind == ALM_TABLE_VIEW ? "view" : "materialized view");
    return ALM_OK;
}

/* The one table the query reads, unless WITH BASE says which of them. */
static alm_status only_base(alm_ctx *cx, const alm_plan *plan, const alm_table **base, int32_t pos)
{
    if (plan->op == ALM_P_SCAN) {
        if (*base != NULL && (*base)->id != plan->scan.table->id)
            return alm_fail(cx, ALM_E_ARG, pos,
                            "more than one table used in query, base table has to be set using "
                            "'WITH BASE'");
        *base = plan->scan.table;
    }
    if (plan->op == ALM_P_SHARED)
        ALM_TRY(only_base(cx, plan->shared.of, base, pos));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(only_base(cx, plan->child[i], base, pos));
    return ALM_OK;
}

static bool bind_view_reads(const alm_plan *plan, const alm_table *table)
{
    bool found = plan->op == ALM_P_SCAN && plan->scan.table->id == table->id;
    if (plan->op == ALM_P_SHARED)
        found = bind_view_reads(plan->shared.of, table);
    for (uint32_t i = 0; i < plan->n_children && !found; i++)
        found = bind_view_reads(plan->child[i], table);
    return found;
}

static alm_status bind_view_find_base(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                      const alm_plan *plan, const alm_table **out)
{
    const alm_create_view *ext = stmt->ext;
    *out = NULL;
    if (ext->base.len == 0) {
        ALM_TRY(only_base(cx, plan, out, stmt->select->pos));
        if (*out == NULL)
            return alm_fail(cx, ALM_E_ARG, stmt->select->pos,
                            "missing base table, materialized views have to be based on a table");
        return ALM_OK;
    }
    ALM_TRY(alm_access_name(cx, "SELECT", ext->base, ext->base_pos));
    *out = alm_snapshot_find(env->snapshot, ext->base);
    if (*out == NULL)
        return alm_no_table(cx, env->snapshot, ext->base, ext->base_pos);
    if (!bind_view_reads(plan, *out))
        return alm_fail(cx, ALM_E_ARG, ext->base_pos,
                        "base table is not referenced in materialized view query: %s",
                        (*out)->name);
    return ALM_OK;
}

static alm_status not_for_matview(alm_ctx *cx, int32_t pos, const char *what, const alm_table *base)
{
    return alm_fail(cx, ALM_E_ARG, pos,
                    "%s on base table is not supported for materialized views: %s", what,
                    base->name);
}

static alm_status check_sample(alm_ctx *cx, const alm_stmt *stmt, const alm_sample_spec *sample,
                               const alm_table *base)
{
    const alm_sample_by *sample_by = stmt->select->sample;
    const int32_t pos = sample_by == NULL ? stmt->select->pos : sample_by->pos;
    if (sample->first_observation)
        return not_for_matview(cx, pos, "ALIGN TO FIRST OBSERVATION", base);
    if (sample->fill != NULL)
        return not_for_matview(
            cx, sample_by != NULL && sample_by->n_fill > 0 ? sample_by->fill[0].pos : pos, "FILL",
            base);
    if (sample->has_from || sample->has_to)
        return not_for_matview(
            cx, sample_by != NULL && sample_by->from != NULL ? sample_by->from->pos : pos,
            "FROM-TO", base);
    return ALM_OK;
}

/* Partitions by the length of buckets, where the statement says nothing. */
static alm_partition_by default_partition(const alm_sample_spec *sample)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'m', 60},     {'h', 3600},    {'d', 86400},
                 {'w', 604800}, {'M', 2592000}, {'y', 31536000}};
    int64_t seconds = 0;
    for (size_t i = 0; sample != NULL && i < ALM_COUNT(units); i++)
        if (sample->unit == units[i].unit)
            seconds = units[i].seconds * ALM_MIN(sample->count, (int64_t)1000000);
    if (sample != NULL && sample->unit == 's')
        seconds = ALM_MIN(sample->count, (int64_t)1000000);
    return sample == NULL || seconds > 3600 ? ALM_PART_YEAR
           : seconds > 60                   ? ALM_PART_MONTH
                                            : ALM_PART_DAY;
}

alm_every alm_view_bucket(const alm_sample_spec *sample)
{
    static const struct {
        char unit;
        int64_t parts;
    } fine[] = {{'n', 1000000000}, {'U', 1000000}, {'T', 1000}};
    int64_t count = sample->count;
    char unit = sample->unit;
    for (size_t i = 0; i < ALM_COUNT(fine); i++)
        if (fine[i].unit == sample->unit) {
            unit = 's';
            count = count / fine[i].parts + 1;
        }
    return (alm_every){.count = (uint32_t)ALM_MIN(count, (int64_t)INT32_MAX), .unit = unit};
}

static alm_every every_of(alm_length length)
{
    return (alm_every){.count = (uint32_t)length.count, .unit = length.unit};
}

alm_status alm_view_refresh_options(alm_ctx *cx, const alm_refresh_clause *clause, alm_every sample,
                                    alm_view_def *out)
{
    out->refresh = clause->kind == 'm'   ? ALM_REFRESH_MANUAL
                   : clause->kind == 't' ? ALM_REFRESH_TIMER
                                         : ALM_REFRESH_IMMEDIATE;
    out->deferred = clause->deferred;
    out->every = every_of(clause->every);
    out->period = clause->period_is_sample ? sample : every_of(clause->period);
    out->delay = every_of(clause->delay);
    out->start_us = ALM_TS_NULL;
    out->zone = "";
    if (clause->zone.len > 0) {
        const alm_zone *zone = NULL;
        ALM_TRY(alm_zone_find(cx, clause->zone, clause->zone_pos, &zone));
        ALM_TRY(alm_arena_zstr(cx, cx->arena, clause->zone, &out->zone));
    }
    if (clause->start.len > 0 && !alm_time_parse(clause->start, ALM_TIME_US, &out->start_us))
        return alm_fail(cx, ALM_E_ARG, clause->start_pos, "invalid START timestamp value");
    if (clause->period_is_sample && sample.count == 0)
        return alm_fail(cx, ALM_E_ARG, clause->zone_pos,
                        "PERIOD (SAMPLE BY INTERVAL) needs a query with SAMPLE BY");
    return ALM_OK;
}

static alm_status matview_options(alm_planner *planner, const alm_stmt *stmt, const alm_plan *plan,
                                  alm_view_plan *view_plan)
{
    alm_ctx *cx = planner->cx;
    const alm_create_view *ext = stmt->ext;
    const alm_table *base = NULL;
    bool incremental = false;
    ALM_TRY(bind_view_find_base(cx, planner->env, stmt, plan, &base));
    const alm_sample_spec *sample = alm_view_shape(plan, base->id, &incremental);
    if (sample == NULL && stmt->timestamp.len == 0)
        return alm_fail(cx, ALM_E_ARG, stmt->select->pos,
                        "TIMESTAMP column is not present in select list");
    if (sample != NULL)
        ALM_TRY(check_sample(cx, stmt, sample, base));
    view_plan->create.partition = default_partition(sample);
    view_plan->create.wal = true;
    ALM_TRY(alm_create_clauses(planner, stmt, &view_plan->create));
    if (view_plan->create.partition == ALM_PART_NONE || view_plan->create.dedup)
        return alm_fail(cx, ALM_E_ARG, stmt->table_pos,
                        "a materialized view is partitioned and has no DEDUP keys");
    alm_every period = {0};
    if (sample != NULL && strchr("mhdwMy", sample->unit) != NULL && sample->count <= 1000000)
        period = (alm_every){.count = (uint32_t)sample->count, .unit = sample->unit};
    ALM_TRY(alm_view_refresh_options(cx, &ext->refresh, period, &view_plan->view));
    view_plan->view.bucket = incremental ? alm_view_bucket(sample) : (alm_every){0};
    view_plan->view.base = base->name;
    view_plan->view.base_id = base->id;
    view_plan->view.started_us = view_plan->view.finished_us = ALM_TS_NULL;
    return ALM_OK;
}

/* Who replaces a view, or changes it, needs the right to that. */
static const char *bind_view_permission_of(const alm_view_plan *plan)
{
    return plan->kind == ALM_TABLE_VIEW ? "CREATE VIEW" : "CREATE MATERIALIZED VIEW";
}

static alm_status may_create(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                             const alm_view_plan *plan)
{
    const alm_table *old = alm_snapshot_find(env->snapshot, stmt->table);
    if (old != NULL)
        return alm_access_may(cx, "ALTER VIEW", old->name, stmt->table_pos);
    return alm_access_may(cx, bind_view_permission_of(plan), NULL, stmt->table_pos);
}

/* Who may create one learns that a name is taken; others do not. */
static alm_status view_gate(alm_ctx *cx, const alm_stmt *stmt, const alm_view_plan *plan)
{
    bool listed = true;
    if (stmt->kind == ALM_STMT_ALTER_VIEW)
        return alm_access_name(cx, "ALTER VIEW", stmt->table, stmt->table_pos);
    ALM_TRY(alm_access_lists(cx, stmt->table, &listed));
    return listed ? ALM_OK
                  : alm_access_may(cx, bind_view_permission_of(plan), NULL, stmt->table_pos);
}

alm_status alm_plan_create_view(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                                alm_view_plan **out)
{
    const alm_create_view *ext = stmt->kind == ALM_STMT_ALTER_VIEW ? NULL : stmt->ext;
    const alm_str sql = ext != NULL ? ext->sql : ((const alm_alter *)stmt->ext)->value;
    alm_plan_env own = *env;
    alm_planner planner = {.cx = cx, .env = &own};
    alm_view_plan *view_plan = NULL;
    alm_plan *plan = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &view_plan));
    view_plan->kind = ext != NULL && ext->materialized ? ALM_TABLE_MATVIEW : ALM_TABLE_VIEW;
    view_plan->create.ts_col = -1;
    *out = view_plan;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->table, &view_plan->create.name));
    ALM_TRY(view_gate(cx, stmt, view_plan));
    ALM_TRY(check_old(cx, env, stmt, view_plan));
    if (view_plan->create.exists)
        return ALM_OK;
    ALM_TRY(may_create(cx, env, stmt, view_plan));
    const alm_view_level self = {.name = view_plan->create.name, .depth = 0}; /* would be a cycle */
    own.of_view = true;
    own.fixed = view_plan->kind == ALM_TABLE_MATVIEW;
    planner.views = view_plan->replace ? &self : NULL;
    ALM_TRY(alm_bind_query(&planner, NULL, stmt->select, &plan));
    ALM_TRY(view_columns(&planner, stmt, plan, view_plan->kind == ALM_TABLE_MATVIEW,
                         &view_plan->create));
    view_plan->view.reason = view_plan->view.base = view_plan->view.zone = "";
    view_plan->view.start_us = ALM_TS_NULL;
    view_plan->view.period_hi = INT64_MAX;
    view_plan->view.status_us = cx->now_ns / 1000;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, sql, &view_plan->view.sql));
    if (view_plan->kind == ALM_TABLE_VIEW)
        return alm_check_reads(&planner);
    ALM_TRY(alm_optimise(&planner, &plan)); /* which tables it reads, and how, is seen then */
    return matview_options(&planner, stmt, plan, view_plan);
}
