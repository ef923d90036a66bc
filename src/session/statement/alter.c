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
static alm_status column_grants(alter_run *run, const alm_records_change **out)
{
    alm_cursor *cursor = run->c;
    alm_ctx *cx = &cursor->cx;
    alm_acl_edit edit;
    const char *table = NULL, *from = NULL, *dest = NULL;
    const alm_create *spec = run->plan->to;
    const bool renames = run->alter->kind == ALM_ALTER_RENAME_COLUMN;
    *out = NULL;
    if (cursor->rights == NULL)
        return ALM_OK;
    ALM_TRY(alm_acl_edit_begin(cursor, &edit));
    ALM_TRY(alm_lower_name(cx, alm_str_of(run->plan->table->name), &table));
    for (uint32_t i = 0; renames && i < run->alter->n_cols; i++) {
        ALM_TRY(alm_lower_name(cx, run->alter->cols[i].name, &from));
        ALM_TRY(alm_lower_name(cx, run->alter->new_names[i], &dest));
        if (!cursor->rights->all && strcmp(from, dest) != 0)
            ALM_TRY(alm_edit_move(&edit, table, dest, NULL));
        ALM_TRY(alm_edit_move(&edit, table, from, dest));
    }
    for (uint32_t i = 0; run->alter->kind == ALM_ALTER_DROP_COLUMN && i < run->alter->n_cols; i++) {
        ALM_TRY(alm_lower_name(cx, run->alter->cols[i].name, &from));
        ALM_TRY(alm_edit_move(&edit, table, from, NULL));
    }
    for (uint32_t i = 0; run->alter->kind == ALM_ALTER_ADD_COLUMN && i < spec->n_cols; i++)
        if (spec->cols[i].id == 0)
            ALM_TRY(alm_own_columns(cursor, run->stmt, table, &spec->cols[i], 1, &edit));
    return alm_acl_with(cx, &edit, !renames, out);
}

static alm_status run_edit(alter_run *run)
{
    const alm_create *to = run->plan->to;
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
    ALM_TRY(column_grants(run, &spec.records));
    if (run->records != NULL)
        spec.records = run->records;
    return alm_table_alter(&run->c->cx, run->st, run->plan->table, &spec);
}

static alm_status run_retype(alter_run *run)
{
    alm_ctx *cx = &run->c->cx;
    const alm_create *to = run->plan->to;
    alm_update *update = NULL;
    int64_t rows = 0;
    uint32_t place = 0;
    while (to->cols[place].id != 0)
        place++;
    ALM_TRY(alm_retype_begin(cx, run->st, run->plan->table, place, &to->cols[place], &update));
    /* Nobody writes now: plan again on what is there. */
    alm_status status = ALM_OK;
    run->env.snapshot = alm_update_snapshot(update);
    status = alm_plan_alter(cx, &run->env, run->stmt, &run->plan);
    if (status == ALM_OK)
        status = alm_run_update_plan(run->c, run->plan->values, run->plan->table, 1, update);
    if (status != ALM_OK) {
        alm_update_rollback(update);
        return status;
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
static bool statement_alter_is_meant(const alter_run *run, const alm_partition_info *part)
{
    if (run->alter->kind == ALM_ALTER_ATTACH_PARTITION)
        return part->detached;
    return !part->detached || run->alter->force;
}

static alm_status starts_where(alter_run *run, const alm_partition_info *parts, size_t n_parts,
                               start_sink *out)
{
    alm_ctx *cx = &run->c->cx;
    int64_t *starts = NULL;
    alm_plan *plan = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_parts + 1, &starts));
    uint32_t n_starts = 0;
    for (size_t i = 0; i < n_parts; i++)
        if (statement_alter_is_meant(run, &parts[i]))
            starts[n_starts++] = parts[i].bucket;
    ALM_TRY(
        alm_plan_partitions(cx, &run->env, run->stmt, run->plan->table, starts, n_starts, &plan));
    return alm_run_plan(run->c, plan, run->c->snapshot, keep_starts, out);
}

static alm_status starts_listed(alter_run *run, const alm_partition_info *parts, size_t n,
                                start_sink *out)
{
    for (uint32_t list = 0; list < run->alter->n_list; list++) {
        const alm_ast *name = run->alter->list[list];
        const uint32_t before = out->n;
        ALM_TRY(alm_check_partition_name(&run->c->cx, run->plan->table, name->text, name->pos));
        for (size_t i = 0; i < n && out->n == before; i++)
            if (statement_alter_is_meant(run, &parts[i]) &&
                alm_str_eq(name->text, alm_str_of(parts[i].name)))
                out->starts[out->n++] = parts[i].bucket;
        static const char *const must[ALM_ALTER_KIND_COUNT] = {
            [ALM_ALTER_DETACH_PARTITION] = "detach",
            [ALM_ALTER_ATTACH_PARTITION] = "attach",
            [ALM_ALTER_TO_PARQUET] = "convert",
            [ALM_ALTER_TO_NATIVE] = "convert",
        };
        if (must[run->alter->kind] != NULL && out->n == before)
            return alm_fail(&run->c->cx, ALM_E_ARG, name->pos,
                            "could not %s partition [table=%s, partition=%.*s]: there is none",
                            must[run->alter->kind], run->plan->table->name, (int)name->text.len,
                            name->text.ptr);
    }
    return ALM_OK;
}

static alm_status chosen_starts(alter_run *run, start_sink *out)
{
    alm_ctx *cx = &run->c->cx;
    alm_partition_info *parts = NULL;
    size_t n = 0;
    ALM_TRY(alm_table_partitions(cx, cx->arena, run->c->snapshot, run->plan->table, &parts, &n));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + run->alter->n_list + 1, &out->starts));
    return run->alter->where != NULL ? starts_where(run, parts, n, out)
                                     : starts_listed(run, parts, n, out);
}

static alm_status run_partitions(alter_run *run)
{
    alm_ctx *cx = &run->c->cx;
    start_sink chosen = {0};
    if (run->alter->kind == ALM_ALTER_SQUASH)
        return alm_table_squash(cx, run->st, run->plan->table);
    ALM_TRY(chosen_starts(run, &chosen));
    if (run->alter->kind == ALM_ALTER_TO_NATIVE || run->alter->kind == ALM_ALTER_TO_PARQUET)
        return alm_table_convert_partitions(cx, run->st, run->plan->table,
                                            run->alter->kind == ALM_ALTER_TO_PARQUET, chosen.starts,
                                            chosen.n);
    if (run->alter->kind == ALM_ALTER_DROP_PARTITION && !run->alter->force)
        return alm_table_drop_partitions(cx, run->st, run->plan->table, chosen.starts, chosen.n);
    const alm_partition_move move =
        run->alter->kind == ALM_ALTER_DROP_PARTITION     ? ALM_PARTITION_FORGET
        : run->alter->kind == ALM_ALTER_ATTACH_PARTITION ? ALM_PARTITION_ATTACH
                                                         : ALM_PARTITION_DETACH;
    return alm_table_move_partitions(cx, run->st, run->plan->table, move, chosen.starts, chosen.n);
}

/* ------------------------------------------------------------------ dispatch */

static alm_status alter_once(alter_run *run)
{
    ALM_TRY(alm_plan_alter(&run->c->cx, &run->env, run->stmt, &run->plan));
    if (run->plan->nothing)
        return ALM_OK;
    if (run->plan->partitions)
        return run_partitions(run);
    return run->plan->values != NULL ? run_retype(run) : run_edit(run);
}

alm_status alm_alter_with(alm_cursor *cursor, const alm_stmt *stmt,
                          const alm_records_change *records)
{
    alter_run run = {.c = cursor,
                     .stmt = stmt,
                     .alter = stmt->ext,
                     .st = cursor->session->db->storage,
                     .records = records};
    alm_plan_env_init(&run.env, cursor, NULL, 0);
    return alter_once(&run);
}

/* The columns that IF EXISTS and IF NOT EXISTS leave out. */
static void note_columns(const alter_run *run)
{
    const alm_stmt *stmt = run->stmt;
    const bool adds = run->alter->kind == ALM_ALTER_ADD_COLUMN;
    if (!(adds && stmt->if_not_exists) &&
        !(run->alter->kind == ALM_ALTER_DROP_COLUMN && stmt->if_exists))
        return;
    for (uint32_t i = 0; i < run->alter->n_cols; i++) {
        const alm_str name = run->alter->cols[i].name;
        if ((alm_table_col(run->plan->table, name) >= 0) == adds)
            alm_cursor_note(run->c, false, adds ? alm_status_sqlstate(ALM_E_DUPLICATE) : "00000",
                            "column \"%.*s\" of relation \"%s\" %s, skipping", (int)name.len,
                            name.ptr, run->plan->table->name,
                            adds ? "already exists" : "does not exist");
    }
}

alm_status alm_run_alter(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alter_run run = {
        .c = cursor, .stmt = stmt, .alter = stmt->ext, .st = cursor->session->db->storage};
    ALM_TRY(alm_outside_block(cursor, stmt));
    for (int i = 1;; i++) {
        alm_plan_env_init(&run.env, cursor, params, n);
        const alm_status status = alter_once(&run);
        if (status == ALM_OK)
            note_columns(&run);
        if (status != ALM_E_STALE || i == TRIES)
            return status;
        alm_error_clear(&cursor->cx);
        ALM_TRY(alm_cursor_look_again(cursor));
        ALM_TRY(alm_cursor_access(cursor));
    }
}

alm_status alm_check_alter(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    (void)out;
    alm_alter_plan *alter = NULL;
    return alm_plan_alter(&cursor->cx, env, stmt, &alter);
}
