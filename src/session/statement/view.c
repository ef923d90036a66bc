/*
 * view.c - statements about views: CREATE, ALTER, DROP; and what a change of the catalogue means
 * for the views that read it.
 *
 * A view is bound anew each time it is used, so it is right whatever is stored of it. Its columns and
 * its validity are stored for the lists of tables and columns; they are looked at again after every
 * statement that changes the catalogue.
 */
#include "session/access/access.h"
#include "session/statement/statement.h"

static alm_table_spec spec_of(const alm_view_plan *v)
{
    const alm_create *c = &v->create;
    return (alm_table_spec){.name = alm_str_of(c->name),
                            .cols = c->cols,
                            .n_cols = c->n_cols,
                            .ts_col = c->ts_col,
                            .partition = c->partition,
                            .wal = c->wal,
                            .ttl_hours = c->ttl_hours,
                            .max_uncommitted_rows = c->max_uncommitted_rows,
                            .o3_max_lag_us = c->o3_max_lag_us,
                            .replace = v->replace,
                            .kind = v->kind,
                            .view = &v->view};
}

/* Permissions are not granted on columns of a view: those on columns of a table that was expected go. */
static alm_status drop_column_grants(alm_acl_edit *edit, const char *view)
{
    for (uint32_t i = 0; i < edit->acl->n_grants; i++) {
        alm_grant g = alm_acl_grant_at(edit->acl, i);
        if (strcmp(g.table, view) != 0 || g.column[0] == 0)
            continue;
        g.may = g.option = (alm_permission_set){{0, 0}};
        ALM_TRY(alm_edit_grant(edit, &g));
    }
    return ALM_OK;
}

/* Who is to be the definer: OWNED BY, else who makes or changes the view. A user of the identity provider has no rights that could be
 * asked later: he names an owner. *out NULL: the administrator. */
static alm_status find_definer(alm_cursor *c, const alm_stmt *stmt, bool new, const char **out)
{
    *out = NULL;
    if (new || stmt->owner.len > 0 || c->rights->kind == ALM_PRINCIPAL_EXTERNAL)
        return alm_find_owner(c, stmt, out);
    if (c->rights->kind == ALM_PRINCIPAL_LOCAL)
        *out = c->rights->name;
    return ALM_OK;
}

/* The person, under ASSUME too. */
static uint64_t maker_of(const alm_session *s)
{
    const bool admin = s->who != NULL && s->who->kind == ALM_PRINCIPAL_ADMIN;
    return admin ? ALM_MAKER_ADMIN : alm_maker(s->identity);
}

/* The owner's grants on a new view, and who defined it: a view, and a refresh, reads with his rights. */
static alm_status define(alm_cursor *c, const alm_stmt *stmt, const alm_view_plan *v,
                         const alm_records_change **out)
{
    alm_ctx *cx = &c->cx;
    alm_acl_edit edit;
    const char *owner = NULL, *view = NULL;
    *out = NULL;
    if (c->rights == NULL)
        return ALM_OK;
    const bool new = alm_snapshot_find(c->snapshot, stmt->table) == NULL;
    ALM_TRY(new ? alm_own_table(c, stmt, v->create.name, &edit) : alm_acl_edit_begin(c, &edit));
    ALM_TRY(alm_lower_name(cx, stmt->table, &view));
    if (new)
        ALM_TRY(drop_column_grants(&edit, view));
    ALM_TRY(find_definer(c, stmt, new, &owner));
    const alm_entity *e = owner != NULL ? alm_acl_entity(edit.acl, owner) : NULL;
    const alm_definer definer = {.view = view,
                                 .name = owner,
                                 .generation = e != NULL ? e->generation : 0,
                                 .maker = maker_of(c->session)};
    if (owner != NULL || alm_acl_definer(edit.acl, view) != NULL)
        ALM_TRY(alm_edit_definer(&edit, &definer));
    return alm_acl_with(cx, &edit, true, out);
}

/* CREATE MATERIALIZED VIEW copies rows of the tables it reads, so it is audited as a read by the user who runs it. Automatic refreshes
 * have no user and are not audited. */
static alm_status audit_query(alm_cursor *c, const alm_view_plan *v)
{
    const struct alm_conf *conf = c->session->db->conf;
    alm_plan_env env;
    alm_plan *plan = NULL;
    if (v->kind != ALM_TABLE_MATVIEW || conf == NULL || conf->audit_read_tables[0] == 0)
        return ALM_OK;
    alm_plan_env_init(&env, c, NULL, 0);
    ALM_TRY(alm_plan_view(&c->cx, &env, v->view.sql, &plan));
    alm_audit_plan(c, plan);
    return ALM_OK;
}

alm_status alm_run_create_view(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &c->cx;
    alm_plan_env env;
    alm_view_plan *v = NULL;
    ALM_TRY(alm_outside_block(c, stmt));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->text, &c->tag));
    alm_plan_env_init(&env, c, params, n);
    ALM_TRY(alm_plan_create_view(cx, &env, stmt, &v));
    if (v->create.exists) {
        alm_note_exists(c, stmt->table);
        return ALM_OK;
    }
    ALM_TRY(audit_query(c, v));
    alm_table_spec spec = spec_of(v);
    alm_storage *st = c->session->db->storage;
    ALM_TRY(define(c, stmt, v, &spec.records));
    ALM_TRY(alm_table_create(cx, st, &spec, NULL));
    if (v->kind == ALM_TABLE_MATVIEW)
        alm_touch_wake(st);
    return ALM_OK;
}

static alm_status undefine(alm_cursor *c, alm_str name, alm_acl_edit *edit)
{
    const char *view = NULL;
    if (edit->acl == NULL)
        return ALM_OK;
    ALM_TRY(alm_lower_name(&c->cx, name, &view));
    const alm_definer nobody = {.view = view};
    return alm_acl_definer(edit->acl, view) == NULL ? ALM_OK : alm_edit_definer(edit, &nobody);
}

alm_status alm_run_drop_view(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &c->cx;
    const bool mat = stmt->kind == ALM_STMT_DROP_MATVIEW;
    const char *const what = mat ? "materialized view" : "view";
    ALM_TRY(alm_outside_block(c, stmt));
    alm_note_absent(c, what, stmt);
    if (stmt->table.ptr == NULL)
        return ALM_OK;
    const alm_table *table = NULL;
    ALM_TRY(alm_find_listed(c, stmt, stmt->table, stmt->table_pos, &table));
    if (table == NULL && stmt->if_exists) {
        alm_note_missing(c, what, stmt->table);
        return ALM_OK;
    }
    if (table == NULL)
        return alm_fail(cx, ALM_E_TABLE, stmt->table_pos, "%s does not exist [view=%.*s]", what,
                        (int)stmt->table.len, stmt->table.ptr);
    if (table->kind != (mat ? ALM_TABLE_MATVIEW : ALM_TABLE_VIEW))
        return alm_fail(cx, ALM_E_ARG, stmt->table_pos, "%s name expected, got table or %s name",
                        what, mat ? "view" : "materialized view");
    ALM_TRY(alm_access_may(cx, alm_stmt_permission(stmt), table->name, stmt->table_pos));
    alm_acl_edit edit;
    const alm_records_change *records = NULL;
    ALM_TRY(alm_acl_edit_begin(c, &edit));
    ALM_TRY(alm_disown(c, stmt->table, stmt->cascade, &edit));
    ALM_TRY(undefine(c, stmt->table, &edit));
    ALM_TRY(alm_acl_with(cx, &edit, true, &records));
    return alm_table_drop(cx, c->session->db->storage, stmt->table, records);
}

/* ----------------------------------------------------------------- alter */

/* The SAMPLE BY of the view's query, for PERIOD (SAMPLE BY INTERVAL). */
static alm_status sample_of(alm_cursor *c, const alm_table *view, alm_every *out)
{
    alm_plan_env env;
    alm_plan *plan = NULL;
    bool incremental = false;
    *out = (alm_every){0};
    alm_plan_env_init(&env, c, NULL, 0);
    ALM_TRY(alm_plan_view(&c->cx, &env, view->view->sql, &plan));
    const alm_sample_spec *s = alm_view_shape(plan, view->view->base_id, &incremental);
    if (s != NULL && s->count <= 1000000)
        *out = (alm_every){.count = (uint32_t)s->count, .unit = s->unit};
    return ALM_OK;
}

static alm_status set_refresh(alm_cursor *c, const alm_stmt *stmt, const alm_table *view)
{
    const alm_alter *a = stmt->ext;
    alm_view_def to = *view->view;
    if (a->kind == ALM_ALTER_REFRESH_LIMIT) {
        to.limit = (alm_every){.count = (uint32_t)stmt->ttl_count, .unit = stmt->ttl_unit};
    } else {
        alm_every sample = {0};
        if (a->refresh->period_is_sample)
            ALM_TRY(sample_of(c, view, &sample));
        ALM_TRY(alm_view_refresh_options(&c->cx, a->refresh, sample, &to));
    }
    alm_storage *st = c->session->db->storage;
    ALM_TRY(alm_view_change(&c->cx, st, view->id, ALM_VIEW_OPTIONS, &to));
    alm_touch_wake(st);
    return ALM_OK;
}

alm_status alm_run_alter_matview(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &c->cx;
    const alm_alter *a = stmt->ext;
    ALM_TRY(alm_outside_block(c, stmt));
    ALM_TRY(alm_access_name(cx, alm_stmt_permission(stmt), stmt->table, stmt->table_pos));
    const alm_table *view = alm_snapshot_find(c->snapshot, stmt->table);
    if (view == NULL)
        return alm_fail(cx, ALM_E_TABLE, stmt->table_pos,
                        "materialized view does not exist [view=%.*s]", (int)stmt->table.len,
                        stmt->table.ptr);
    if (view->kind != ALM_TABLE_MATVIEW)
        return alm_fail(cx, ALM_E_ARG, stmt->table_pos, "materialized view name expected");
    ALM_TRY(alm_access_may(cx, alm_stmt_permission(stmt), view->name, stmt->table_pos));
    if (a->kind == ALM_ALTER_REFRESH || a->kind == ALM_ALTER_REFRESH_LIMIT)
        return set_refresh(c, stmt, view);
    return alm_run_alter(c, stmt, params, n);
}

/* --------------------------------------------------------------- settling */

static bool same_columns(const alm_table *t, const alm_plan *plan)
{
    bool same = t->n_cols == plan->n_cols && t->ts_col == plan->ts_col;
    for (uint32_t i = 0; same && i < t->n_cols; i++) {
        const alm_type type =
            plan->cols[i].type.id == ALM_T_NULL ? ALM_TY(STRING) : plan->cols[i].type;
        same =
            alm_type_eq(t->cols[i].type, type) && strcmp(t->cols[i].name, plan->cols[i].name) == 0;
    }
    return same;
}

/* The entry of a view whose columns are others now. */
static alm_status replace_columns(alm_cursor *c, const alm_table *t, const alm_plan *plan)
{
    alm_ctx *cx = &c->cx;
    alm_view_def def = *t->view;
    alm_column *cols = NULL;
    def.reason = "";
    def.status_us = cx->now_ns / 1000;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        const alm_type type = plan->cols[i].type;
        cols[i] = (alm_column){.name = plan->cols[i].name,
                               .type = type.id == ALM_T_NULL ? ALM_TY(STRING) : type};
    }
    const alm_table_spec spec = {.name = alm_str_of(t->name),
                                 .cols = cols,
                                 .n_cols = plan->n_cols,
                                 .ts_col = plan->ts_col,
                                 .replace = true,
                                 .kind = ALM_TABLE_VIEW,
                                 .view = &def};
    return alm_table_create(cx, c->session->db->storage, &spec, NULL);
}

static alm_status settle_view(alm_cursor *c, const alm_table *t)
{
    alm_ctx *cx = &c->cx;
    alm_plan_env env;
    alm_plan *plan = NULL;
    alm_view_def to = *t->view;
    if (t->kind == ALM_TABLE_MATVIEW && to.reason[0] != 0)
        return ALM_OK; /* until it is refreshed as a whole */
    alm_plan_env_init(&env, c, NULL, 0);
    const alm_status st = alm_plan_view(cx, &env, to.sql, &plan);
    if (st != ALM_OK)
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(cx->err.msg), &to.reason));
    else
        to.reason = "";
    alm_error_clear(cx);
    if (st == ALM_OK && t->kind == ALM_TABLE_VIEW && !same_columns(t, plan))
        return replace_columns(c, t, plan);
    if (strcmp(to.reason, t->view->reason) == 0)
        return ALM_OK;
    to.status_us = cx->now_ns / 1000;
    return alm_view_change(cx, c->session->db->storage, t->id, ALM_VIEW_STATUS, &to);
}

alm_status alm_views_settle(alm_cursor *c, alm_stmt_kind kind)
{
    bool any = false;
    if (!alm_stmt_does_any(kind, ALM_S_SETTLES))
        return ALM_OK;
    for (size_t i = 0; i < alm_snapshot_count(c->snapshot) && !any; i++)
        any = alm_snapshot_at(c->snapshot, i)->kind != ALM_TABLE_BASE;
    if (!any) /* those that came meanwhile are as they were created */
        return ALM_OK;
    ALM_TRY(alm_cursor_look_again(c));
    alm_cursor_access_over(c); /* what they are is not a matter of who looks */
    for (size_t i = 0; i < alm_snapshot_count(c->snapshot); i++) {
        const alm_table *t = alm_snapshot_at(c->snapshot, i);
        if (t->kind != ALM_TABLE_BASE && settle_view(c, t) != ALM_OK)
            alm_error_clear(&c->cx); /* the statement is done; the next one looks again */
    }
    return ALM_OK;
}

alm_status alm_check_view(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_checked *out)
{
    (void)out;
    alm_view_plan *view = NULL;
    return alm_plan_create_view(&c->cx, env, stmt, &view);
}
