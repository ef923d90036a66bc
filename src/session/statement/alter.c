/*
 * alter.c - ALTER TABLE.
 *
 * Races       A statement is planned on a snapshot; storage refuses it (ALM_E_STALE) when the table was
 *             altered since. Then it is planned again on a newer one.
 */
#include "session/access/access.h"
#include "session/statement/statement.h"

enum { TRIES = 16 };

typedef struct alter_run {
    alm_cursor *c;
    const alm_stmt *stmt;
    const alm_alter *alter;
    alm_plan_env env;
    alm_alter_plan *plan;
    alm_storage *st;
    const alm_records_change *records; /* that go with it; NULL: none but those of grants */
} alter_run;

/* ------------------------------------------------------------------- columns */

/* New columns have an owner; grants on a column go with it to its new name, and away with it. */
static alm_status column_grants(alter_run *r, const alm_records_change **out)
{
    alm_cursor *c = r->c;
    alm_ctx *cx = &c->cx;
    alm_acl_edit edit;
    const char *table = NULL, *from = NULL, *to = NULL;
    const alm_create *spec = r->plan->to;
    const bool renames = r->alter->kind == ALM_ALTER_RENAME_COLUMN;
    *out = NULL;
    if (c->rights == NULL)
        return ALM_OK;
    ALM_TRY(alm_acl_edit_begin(c, &edit));
    ALM_TRY(alm_lower_name(cx, alm_str_of(r->plan->table->name), &table));
    for (uint32_t i = 0; renames && i < r->alter->n_cols; i++) {
        ALM_TRY(alm_lower_name(cx, r->alter->cols[i].name, &from));
        ALM_TRY(alm_lower_name(cx, r->alter->new_names[i], &to));
        if (!c->rights->all && strcmp(from, to) != 0)
            ALM_TRY(alm_edit_move(&edit, table, to, NULL));
        ALM_TRY(alm_edit_move(&edit, table, from, to));
    }
    for (uint32_t i = 0; r->alter->kind == ALM_ALTER_DROP_COLUMN && i < r->alter->n_cols; i++) {
        ALM_TRY(alm_lower_name(cx, r->alter->cols[i].name, &from));
        ALM_TRY(alm_edit_move(&edit, table, from, NULL));
    }
    for (uint32_t i = 0; r->alter->kind == ALM_ALTER_ADD_COLUMN && i < spec->n_cols; i++)
        if (spec->cols[i].id == 0)
            ALM_TRY(alm_own_columns(c, r->stmt, table, &spec->cols[i], 1, &edit));
    return alm_acl_with(cx, &edit, !renames, out);
}

static alm_status run_edit(alter_run *r)
{
    const alm_create *to = r->plan->to;
    alm_table_spec spec = {.name = alm_str_of(to->name),
                           .cols = to->cols,
                           .n_cols = to->n_cols,
                           .ts_col = to->ts_col,
                           .partition = to->partition,
                           .wal = to->wal,
                           .dedup = to->dedup,
                           .ttl_hours = to->ttl_hours,
                           .max_uncommitted_rows = to->max_uncommitted_rows,
                           .o3_max_lag_us = to->o3_max_lag_us};
    ALM_TRY(column_grants(r, &spec.records));
    if (r->records != NULL)
        spec.records = r->records;
    return alm_table_alter(&r->c->cx, r->st, r->plan->table, &spec);
}

static alm_status run_retype(alter_run *r)
{
    alm_ctx *cx = &r->c->cx;
    const alm_create *to = r->plan->to;
    alm_update *update = NULL;
    int64_t rows = 0;
    uint32_t at = 0;
    while (to->cols[at].id != 0)
        at++;
    ALM_TRY(alm_retype_begin(cx, r->st, r->plan->table, at, &to->cols[at], &update));
    /* Nobody writes now: plan again on what is there. */
    alm_status st = ALM_OK;
    r->env.snapshot = alm_update_snapshot(update);
    st = alm_plan_alter(cx, &r->env, r->stmt, &r->plan);
    if (st == ALM_OK)
        st = alm_run_update_plan(r->c, r->plan->values, r->plan->table, 1, update);
    if (st != ALM_OK) {
        alm_update_rollback(update);
        return st;
    }
    return alm_update_commit(cx, update, &rows);
}

/* ---------------------------------------------------------------- partitions */

typedef struct start_sink { /* starts of partitions for which WHERE holds */
    int64_t *starts;
    uint32_t n;
} start_sink;

static alm_status keep_starts(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    start_sink *sink = arg;
    alm_batch copy = *batch;
    alm_vec *col = NULL;
    ALM_TRY(alm_batch_column(cx, cx->arena, &copy, 0, &col));
    for (uint32_t i = 0; i < batch->rows; i++)
        sink->starts[sink->n++] = ((const int64_t *)col->data)[col->is_const ? 0 : i];
    return ALM_OK;
}

/* Which partitions may the statement be about? */
static bool is_meant(const alter_run *r, const alm_partition_info *part)
{
    if (r->alter->kind == ALM_ALTER_ATTACH_PARTITION)
        return part->detached;
    return !part->detached || r->alter->force;
}

static alm_status starts_where(alter_run *r, const alm_partition_info *parts, size_t n,
                               start_sink *out)
{
    alm_ctx *cx = &r->c->cx;
    int64_t *starts = NULL;
    alm_plan *plan = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &starts));
    uint32_t n_starts = 0;
    for (size_t i = 0; i < n; i++)
        if (is_meant(r, &parts[i]))
            starts[n_starts++] = parts[i].bucket;
    ALM_TRY(alm_plan_partitions(cx, &r->env, r->stmt, r->plan->table, starts, n_starts, &plan));
    return alm_run_plan(r->c, plan, r->c->snapshot, keep_starts, out);
}

static alm_status starts_listed(alter_run *r, const alm_partition_info *parts, size_t n,
                                start_sink *out)
{
    for (uint32_t k = 0; k < r->alter->n_list; k++) {
        const alm_ast *name = r->alter->list[k];
        const uint32_t before = out->n;
        ALM_TRY(alm_check_partition_name(&r->c->cx, r->plan->table, name->text, name->pos));
        for (size_t i = 0; i < n && out->n == before; i++)
            if (is_meant(r, &parts[i]) && alm_str_eq(name->text, alm_str_of(parts[i].name)))
                out->starts[out->n++] = parts[i].bucket;
        static const char *const must[ALM_ALTER_KIND_COUNT] = {
            [ALM_ALTER_DETACH_PARTITION] = "detach",
            [ALM_ALTER_ATTACH_PARTITION] = "attach",
            [ALM_ALTER_TO_PARQUET] = "convert",
            [ALM_ALTER_TO_NATIVE] = "convert",
        };
        if (must[r->alter->kind] != NULL && out->n == before)
            return alm_fail(&r->c->cx, ALM_E_ARG, name->pos,
                            "could not %s partition [table=%s, partition=%.*s]: there is none",
                            must[r->alter->kind], r->plan->table->name, (int)name->text.len,
                            name->text.ptr);
    }
    return ALM_OK;
}

static alm_status chosen_starts(alter_run *r, start_sink *out)
{
    alm_ctx *cx = &r->c->cx;
    alm_partition_info *parts = NULL;
    size_t n = 0;
    ALM_TRY(alm_table_partitions(cx, cx->arena, r->c->snapshot, r->plan->table, &parts, &n));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + r->alter->n_list + 1, &out->starts));
    return r->alter->where != NULL ? starts_where(r, parts, n, out)
                                   : starts_listed(r, parts, n, out);
}

static alm_status run_partitions(alter_run *r)
{
    alm_ctx *cx = &r->c->cx;
    start_sink chosen = {0};
    if (r->alter->kind == ALM_ALTER_SQUASH)
        return alm_table_squash(cx, r->st, r->plan->table);
    ALM_TRY(chosen_starts(r, &chosen));
    if (r->alter->kind == ALM_ALTER_TO_NATIVE || r->alter->kind == ALM_ALTER_TO_PARQUET)
        return alm_table_convert_partitions(cx, r->st, r->plan->table,
                                            r->alter->kind == ALM_ALTER_TO_PARQUET, chosen.starts,
                                            chosen.n);
    if (r->alter->kind == ALM_ALTER_DROP_PARTITION && !r->alter->force)
        return alm_table_drop_partitions(cx, r->st, r->plan->table, chosen.starts, chosen.n);
    const alm_partition_move move =
        r->alter->kind == ALM_ALTER_DROP_PARTITION     ? ALM_PARTITION_FORGET
        : r->alter->kind == ALM_ALTER_ATTACH_PARTITION ? ALM_PARTITION_ATTACH
                                                       : ALM_PARTITION_DETACH;
    return alm_table_move_partitions(cx, r->st, r->plan->table, move, chosen.starts, chosen.n);
}

/* ------------------------------------------------------------------ dispatch */

static alm_status alter_once(alter_run *r)
{
    ALM_TRY(alm_plan_alter(&r->c->cx, &r->env, r->stmt, &r->plan));
    if (r->plan->nothing)
        return ALM_OK;
    if (r->plan->partitions)
        return run_partitions(r);
    return r->plan->values != NULL ? run_retype(r) : run_edit(r);
}

alm_status alm_alter_with(alm_cursor *c, const alm_stmt *stmt, const alm_records_change *records)
{
    alter_run r = {.c = c,
                   .stmt = stmt,
                   .alter = stmt->ext,
                   .st = c->session->db->storage,
                   .records = records};
    alm_plan_env_init(&r.env, c, NULL, 0);
    return alter_once(&r);
}

/* The columns that IF EXISTS and IF NOT EXISTS leave out. */
static void note_columns(const alter_run *r)
{
    const alm_stmt *stmt = r->stmt;
    const bool adds = r->alter->kind == ALM_ALTER_ADD_COLUMN;
    if (!(adds && stmt->if_not_exists) &&
        !(r->alter->kind == ALM_ALTER_DROP_COLUMN && stmt->if_exists))
        return;
    for (uint32_t i = 0; i < r->alter->n_cols; i++) {
        const alm_str name = r->alter->cols[i].name;
        if ((alm_table_col(r->plan->table, name) >= 0) == adds)
            alm_cursor_note(r->c, false, adds ? alm_status_sqlstate(ALM_E_DUPLICATE) : "00000",
                            "column \"%.*s\" of relation \"%s\" %s, skipping", (int)name.len,
                            name.ptr, r->plan->table->name,
                            adds ? "already exists" : "does not exist");
    }
}

alm_status alm_run_alter(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alter_run r = {.c = c, .stmt = stmt, .alter = stmt->ext, .st = c->session->db->storage};
    ALM_TRY(alm_outside_block(c, stmt));
    for (int i = 1;; i++) {
        alm_plan_env_init(&r.env, c, params, n);
        const alm_status st = alter_once(&r);
        if (st == ALM_OK)
            note_columns(&r);
        if (st != ALM_E_STALE || i == TRIES)
            return st;
        alm_error_clear(&c->cx);
        ALM_TRY(alm_cursor_look_again(c));
        ALM_TRY(alm_cursor_access(c));
    }
}

alm_status alm_check_alter(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    (void)out;
    alm_alter_plan *alter = NULL;
    return alm_plan_alter(&c->cx, env, stmt, &alter);
}
