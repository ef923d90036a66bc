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

static alm_table_spec spec_of(const alm_view_plan *plan)
{
    const alm_create *create = &plan->create;
    return (alm_table_spec){.name = alm_str_of(create->name),
                            .cols = create->cols,
                            .n_cols = create->n_cols,
                            .ts_col = create->ts_col,
                            .partition = create->partition,
                            .wal = create->wal,
                            .ttl_hours = create->ttl_hours,
                            .max_uncommitted_rows = create->max_uncommitted_rows,
                            .o3_max_lag_us = create->o3_max_lag_us,
                            .replace = plan->replace,
                            .kind = plan->kind,
                            .view = &plan->view};
}

/* Permissions are not granted on columns of a view: those on columns of a table that was expected go. */
static alm_status drop_column_grants(alm_acl_edit *edit, const char *view)
{
    for (uint32_t i = 0; i < edit->acl->n_grants; i++) {
        alm_grant grant = alm_acl_grant_at(edit->acl, i);
        if (strcmp(grant.table, view) != 0 || grant.column[0] == 0)
            continue;
        grant.may = grant.option = (alm_permission_set){{0, 0}};
        ALM_TRY(alm_edit_grant(edit, &grant));
    }
    return ALM_OK;
}

/* Who is to be the definer: OWNED BY, else who makes or changes the view. A user of the identity provider has no rights that could be
 * asked later: he names an owner. *out NULL: the administrator. */
static alm_status find_definer(alm_cursor *cursor, const alm_stmt *stmt, bool new, const char **out)
{
    *out = NULL;
    if (new || stmt->owner.len > 0 || cursor->rights->kind == ALM_PRINCIPAL_EXTERNAL)
        return alm_find_owner(cursor, stmt, out);
    if (cursor->rights->kind == ALM_PRINCIPAL_LOCAL)
        *out = cursor->rights->name;
    return ALM_OK;
}

/* The person, under ASSUME too. */
static uint64_t maker_of(const alm_session *session)
{
    const bool admin = session->who != NULL && session->who->kind == ALM_PRINCIPAL_ADMIN;
    return admin ? ALM_MAKER_ADMIN : alm_maker(session->identity);
}

/* The owner's grants on a new view, and who defined it: a view, and a refresh, reads with his rights. */
static alm_status statement_view_define(alm_cursor *cursor, const alm_stmt *stmt,
                                        const alm_view_plan *plan, const alm_records_change **out)
{
    alm_ctx *cx = &cursor->cx;
    alm_acl_edit edit;
    const char *owner = NULL, *view = NULL;
    *out = NULL;
    if (cursor->rights == NULL)
        return ALM_OK;
    const bool new = alm_snapshot_find(cursor->snapshot, stmt->table) == NULL;
    ALM_TRY(new ? alm_own_table(cursor, stmt, plan->create.name, &edit)
                : alm_acl_edit_begin(cursor, &edit));
    ALM_TRY(alm_lower_name(cx, stmt->table, &view));
    if (new)
        ALM_TRY(drop_column_grants(&edit, view));
    ALM_TRY(find_definer(cursor, stmt, new, &owner));
    const alm_entity *entity = owner != NULL ? alm_acl_entity(edit.acl, owner) : NULL;
    const alm_definer definer = {.view = view,
                                 .name = owner,
                                 .generation = entity != NULL ? entity->generation : 0,
                                 .maker = maker_of(cursor->session)};
    if (owner != NULL || alm_acl_definer(edit.acl, view) != NULL)
        ALM_TRY(alm_edit_definer(&edit, &definer));
    return alm_acl_with(cx, &edit, true, out);
}

/* CREATE MATERIALIZED VIEW copies rows of the tables it reads, so it is audited as a read by the user who runs it. Automatic refreshes
 * have no user and are not audited. */
static alm_status audit_query(alm_cursor *cursor, const alm_view_plan *view_plan)
{
    const struct alm_conf *conf = cursor->session->db->conf;
    alm_plan_env env;
    alm_plan *plan = NULL;
    if (view_plan->kind != ALM_TABLE_MATVIEW || conf == NULL || conf->audit_read_tables[0] == 0)
        return ALM_OK;
    alm_plan_env_init(&env, cursor, NULL, 0);
    ALM_TRY(alm_plan_view(&cursor->cx, &env, view_plan->view.sql, &plan));
    alm_audit_plan(cursor, plan);
    return ALM_OK;
}

alm_status alm_run_create_view(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                               uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    alm_plan_env env;
    alm_view_plan *plan = NULL;
    ALM_TRY(alm_outside_block(cursor, stmt));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->text, &cursor->tag));
    alm_plan_env_init(&env, cursor, params, n);
    ALM_TRY(alm_plan_create_view(cx, &env, stmt, &plan));
    if (plan->create.exists) {
        alm_note_exists(cursor, stmt->table);
        return ALM_OK;
    }
    ALM_TRY(audit_query(cursor, plan));
    alm_table_spec spec = spec_of(plan);
    alm_storage *storage = cursor->session->db->storage;
    ALM_TRY(statement_view_define(cursor, stmt, plan, &spec.records));
    ALM_TRY(alm_table_create(cx, storage, &spec, NULL));
    if (plan->kind == ALM_TABLE_MATVIEW)
        alm_touch_wake(storage);
    return ALM_OK;
}

static alm_status undefine(alm_cursor *cursor, alm_str name, alm_acl_edit *edit)
{
    const char *view = NULL;
    if (edit->acl == NULL)
        return ALM_OK;
    ALM_TRY(alm_lower_name(&cursor->cx, name, &view));
    const alm_definer nobody = {.view = view};
    return alm_acl_definer(edit->acl, view) == NULL ? ALM_OK : alm_edit_definer(edit, &nobody);
}

alm_status alm_run_drop_view(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                             uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &cursor->cx;
    const bool mat = stmt->kind == ALM_STMT_DROP_MATVIEW;
    const char *const what = mat ? "materialized view" : "view";
    ALM_TRY(alm_outside_block(cursor, stmt));
    alm_note_absent(cursor, what, stmt);
    if (stmt->table.ptr == NULL)
        return ALM_OK;
    const alm_table *table = NULL;
    ALM_TRY(alm_find_listed(cursor, stmt, stmt->table, stmt->table_pos, &table));
    if (table == NULL && stmt->if_exists) {
        alm_note_missing(cursor, what, stmt->table);
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
    ALM_TRY(alm_acl_edit_begin(cursor, &edit));
    ALM_TRY(alm_disown(cursor, stmt->table, stmt->cascade, &edit));
    ALM_TRY(undefine(cursor, stmt->table, &edit));
    ALM_TRY(alm_acl_with(cx, &edit, true, &records));
    return alm_table_drop(cx, cursor->session->db->storage, stmt->table, records);
}

/* ----------------------------------------------------------------- alter */

/* The SAMPLE BY of the view's query, for PERIOD (SAMPLE BY INTERVAL). */
static alm_status sample_of(alm_cursor *cursor, const alm_table *view, alm_every *out)
{
    alm_plan_env env;
    alm_plan *plan = NULL;
    bool incremental = false;
    *out = (alm_every){0};
    alm_plan_env_init(&env, cursor, NULL, 0);
    ALM_TRY(alm_plan_view(&cursor->cx, &env, view->view->sql, &plan));
    const alm_sample_spec *sample_spec = alm_view_shape(plan, view->view->base_id, &incremental);
    if (sample_spec != NULL && sample_spec->count <= 1000000)
        *out = (alm_every){.count = (uint32_t)sample_spec->count, .unit = sample_spec->unit};
    return ALM_OK;
}

static alm_status set_refresh(alm_cursor *cursor, const alm_stmt *stmt, const alm_table *view)
{
    const alm_alter *alter = stmt->ext;
    alm_view_def to = *view->view;
    if (alter->kind == ALM_ALTER_REFRESH_LIMIT) {
        to.limit = (alm_every){.count = (uint32_t)stmt->ttl_count, .unit = stmt->ttl_unit};
    } else {
        alm_every sample = {0};
        if (alter->refresh->period_is_sample)
            ALM_TRY(sample_of(cursor, view, &sample));
        ALM_TRY(alm_view_refresh_options(&cursor->cx, alter->refresh, sample, &to));
    }
    alm_storage *storage = cursor->session->db->storage;
    ALM_TRY(alm_view_change(&cursor->cx, storage, view->id, ALM_VIEW_OPTIONS, &to));
    alm_touch_wake(storage);
    return ALM_OK;
}

alm_status alm_run_alter_matview(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                                 uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    const alm_alter *alter = stmt->ext;
    ALM_TRY(alm_outside_block(cursor, stmt));
    ALM_TRY(alm_access_name(cx, alm_stmt_permission(stmt), stmt->table, stmt->table_pos));
    const alm_table *view = alm_snapshot_find(cursor->snapshot, stmt->table);
    if (view == NULL)
        return alm_fail(cx, ALM_E_TABLE, stmt->table_pos,
                        "materialized view does not exist [view=%.*s]", (int)stmt->table.len,
                        stmt->table.ptr);
    if (view->kind != ALM_TABLE_MATVIEW)
        return alm_fail(cx, ALM_E_ARG, stmt->table_pos, "materialized view name expected");
    ALM_TRY(alm_access_may(cx, alm_stmt_permission(stmt), view->name, stmt->table_pos));
    if (alter->kind == ALM_ALTER_REFRESH || alter->kind == ALM_ALTER_REFRESH_LIMIT)
        return set_refresh(cursor, stmt, view);
    return alm_run_alter(cursor, stmt, params, n);
}

/* --------------------------------------------------------------- settling */

static bool statement_view_same_columns(const alm_table *table, const alm_plan *plan)
{
    bool same = table->n_cols == plan->n_cols && table->ts_col == plan->ts_col;
    for (uint32_t i = 0; same && i < table->n_cols; i++) {
        const alm_type type =
            plan->cols[i].type.id == ALM_T_NULL ? ALM_TY(STRING) : plan->cols[i].type;
        same = alm_type_eq(table->cols[i].type, type) &&
               strcmp(table->cols[i].name, plan->cols[i].name) == 0;
    }
    return same;
}

/* The entry of a view whose columns are others now. */
static alm_status replace_columns(alm_cursor *cursor, const alm_table *table, const alm_plan *plan)
{
    alm_ctx *cx = &cursor->cx;
    alm_view_def def = *table->view;
    alm_column *cols = NULL;
    def.reason = "";
    def.status_us = cx->now_ns / 1000;
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        const alm_type type = plan->cols[i].type;
        cols[i] = (alm_column){.name = plan->cols[i].name,
                               .type = type.id == ALM_T_NULL ? ALM_TY(STRING) : type};
    }
    const alm_table_spec spec = {.name = alm_str_of(table->name),
                                 .cols = cols,
                                 .n_cols = plan->n_cols,
                                 .ts_col = plan->ts_col,
                                 .replace = true,
                                 .kind = ALM_TABLE_VIEW,
                                 .view = &def};
    return alm_table_create(cx, cursor->session->db->storage, &spec, NULL);
}

static alm_status settle_view(alm_cursor *cursor, const alm_table *table)
{
    alm_ctx *cx = &cursor->cx;
    alm_plan_env env;
    alm_plan *plan = NULL;
    alm_view_def to = *table->view;
    if (table->kind == ALM_TABLE_MATVIEW && to.reason[0] != 0)
        return ALM_OK; /* until it is refreshed as a whole */
    alm_plan_env_init(&env, cursor, NULL, 0);
    const alm_status status = alm_plan_view(cx, &env, to.sql, &plan);
    if (status != ALM_OK)
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(cx->err.msg), &to.reason));
    else
        to.reason = "";
    alm_error_clear(cx);
    if (status == ALM_OK && table->kind == ALM_TABLE_VIEW &&
        !statement_view_same_columns(table, plan))
        return replace_columns(cursor, table, plan);
    if (strcmp(to.reason, table->view->reason) == 0)
        return ALM_OK;
    to.status_us = cx->now_ns / 1000;
    return alm_view_change(cx, cursor->session->db->storage, table->id, ALM_VIEW_STATUS, &to);
}

alm_status alm_views_settle(alm_cursor *cursor, alm_stmt_kind kind)
{
    bool any = false;
    if (!alm_stmt_does_any(kind, ALM_S_SETTLES))
        return ALM_OK;
    for (size_t i = 0; i < alm_snapshot_count(cursor->snapshot) && !any; i++)
        any = alm_snapshot_at(cursor->snapshot, i)->kind != ALM_TABLE_BASE;
    if (!any) /* those that came meanwhile are as they were created */
        return ALM_OK;
    ALM_TRY(alm_cursor_look_again(cursor));
    alm_cursor_access_over(cursor); /* what they are is not a matter of who looks */
    for (size_t i = 0; i < alm_snapshot_count(cursor->snapshot); i++) {
        const alm_table *table = alm_snapshot_at(cursor->snapshot, i);
        if (table->kind != ALM_TABLE_BASE && settle_view(cursor, table) != ALM_OK)
            alm_error_clear(&cursor->cx); /* the statement is done; the next one looks again */
    }
    return ALM_OK;
}

alm_status alm_check_view(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_checked *out)
{
    (void)out;
    alm_view_plan *view = NULL;
    return alm_plan_create_view(&cursor->cx, env, stmt, &view);
}
