/*
 * index.c - CREATE INDEX and DROP INDEX. An index of a SYMBOL column is the declaration that ALTER TABLE ... ADD
 * INDEX makes; of anything else it has no effect, and says so. Names are records of the catalogue (exec/exec.h).
 */
#include <string.h>

#include "session/access/access.h"
#include "session/statement/statement.h"

enum { TRIES = 16 };

typedef struct index_change {
    alm_cursor *c;
    alm_record *rows;
    uint32_t n;
} index_change;

static alm_status statement_index_room(index_change *ch, uint32_t more)
{
    const size_t n_records = alm_snapshot_record_count(ch->c->snapshot) + more;
    return ALM_NEWN(&ch->c->cx, ch->c->cx.arena, n_records, &ch->rows);
}

static void statement_index_forget(index_change *ch, alm_str key)
{
    if (key.len > 0)
        ch->rows[ch->n++] = (alm_record){.key = key};
}

/* Names of tables and columns that are gone go with the next change. */
static void forget_stale(index_change *ch)
{
    const alm_snapshot *snap = ch->c->snapshot;
    alm_index_name name;
    for (size_t i = 0; i < alm_snapshot_record_count(snap); i++) {
        const alm_record record = alm_snapshot_record_at(snap, i);
        if (record.key.ptr[0] == ALM_INDEX_KEY && !alm_index_at(snap, i, &name))
            statement_index_forget(ch, record.key);
    }
}

static alm_status statement_index_remember(index_change *ch, alm_str name, const alm_table *table,
                                           int32_t col, bool declared)
{
    alm_ctx *cx = &ch->c->cx;
    const char *lower = NULL, *key = NULL, *value = NULL;
    ALM_TRY(alm_lower_name(cx, name, &lower));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &key, "%c%s", ALM_INDEX_KEY, lower));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &value, "%c %llu %u %.*s", declared ? 'd' : 'n',
                             (unsigned long long)table->id, col >= 0 ? table->cols[col].id : 0,
                             (int)name.len, name.ptr));
    for (uint32_t i = 0; i < ch->n; i++) /* a stale one of the same name was to go */
        if (alm_str_eq(ch->rows[i].key, alm_str_of(key)))
            ch->rows[i--] = ch->rows[--ch->n];
    ch->rows[ch->n++] = (alm_record){alm_str_of(key), alm_str_of(value)};
    return ALM_OK;
}

/* ALTER TABLE table ALTER COLUMN column ADD INDEX | DROP INDEX, or the names alone. */
static alm_status statement_index_apply(index_change *ch, const alm_stmt *stmt,
                                        const alm_table *table, int32_t col, bool add)
{
    alm_cursor *cursor = ch->c;
    const alm_records_change change = {alm_snapshot_records_lsn(cursor->snapshot), ch->rows, ch->n};
    const alm_records_change *records = ch->n > 0 ? &change : NULL;
    if (col < 0)
        return records == NULL
                   ? ALM_OK
                   : alm_records_put(&cursor->cx, cursor->session->db->storage, records);
    alm_column_def def = {
        .name = alm_str_of(table->cols[col].name), .pos = stmt->pos, .indexed = add};
    alm_alter action = {.kind = add ? ALM_ALTER_ADD_INDEX : ALM_ALTER_DROP_INDEX,
                        .pos = stmt->pos,
                        .cols = &def,
                        .n_cols = 1};
    alm_stmt alter = {.kind = table->kind == ALM_TABLE_MATVIEW ? ALM_STMT_ALTER_MATVIEW
                                                               : ALM_STMT_ALTER_TABLE,
                      .pos = stmt->pos,
                      .table = alm_str_of(table->name),
                      .table_pos = stmt->table_pos,
                      .ext = &action};
    return alm_alter_with(cursor, &alter, records);
}

/* ---------------------------------------------------------------------- create */

/* Has the index of the column a name that was given to it? */
static bool statement_index_is_named(const alm_snapshot *snap, const alm_table *table, int32_t col)
{
    alm_index_name name;
    for (size_t i = 0; i < alm_snapshot_record_count(snap); i++)
        if (alm_index_at(snap, i, &name) && name.declared && name.table == table && name.col == col)
            return true;
    return false;
}

static alm_status create_once(alm_cursor *cursor, const alm_stmt *stmt, const alm_plan_env *env)
{
    alm_index_plan *plan = NULL;
    alm_index_name other;
    bool found = false;
    index_change ch = {.c = cursor};
    ALM_TRY(alm_plan_index(&cursor->cx, env, stmt, &plan));
    if (stmt->new_name.len > 0)
        ALM_TRY(alm_index_find(&cursor->cx, cursor->snapshot, stmt->new_name, &other, &found));
    if (found && !stmt->if_not_exists)
        return alm_fail(&cursor->cx, ALM_E_EXISTS, stmt->new_name_pos,
                        "index already exists [index=%.*s]", (int)stmt->new_name.len,
                        stmt->new_name.ptr);
    if (found) {
        alm_note_exists(cursor, stmt->new_name);
        return ALM_OK;
    }
    const int32_t col = plan->symbol;
    const bool there = col >= 0 && plan->table->cols[col].indexed;
    const bool declares =
        col >= 0 && !(there && statement_index_is_named(cursor->snapshot, plan->table, col));
    ALM_TRY(statement_index_room(&ch, 1));
    forget_stale(&ch);
    if (stmt->new_name.len > 0)
        ALM_TRY(statement_index_remember(&ch, stmt->new_name, plan->table,
                                         plan->n_cols == 1 ? (int32_t)plan->cols[0] : -1,
                                         declares));
    ALM_TRY(statement_index_apply(&ch, stmt, plan->table, there ? -1 : col, true));
    if (col < 0)
        alm_cursor_note(cursor, false, "00000",
                        "the index has no effect: only indexes of one SYMBOL column are kept, and "
                        "scans need none");
    else if (there)
        alm_cursor_note(cursor, false, "00000", "column \"%s\" is indexed already",
                        plan->table->cols[col].name);
    return ALM_OK;
}

alm_status alm_run_create_index(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                                uint32_t n)
{
    ALM_TRY(alm_outside_block(cursor, stmt));
    for (int i = 1;; i++) {
        alm_plan_env env;
        alm_plan_env_init(&env, cursor, params, n);
        const alm_status status = create_once(cursor, stmt, &env);
        if (status != ALM_E_STALE || i == TRIES)
            return status;
        alm_error_clear(&cursor->cx);
        ALM_TRY(alm_cursor_look_again(cursor));
        ALM_TRY(alm_cursor_access(cursor));
    }
}

/* ------------------------------------------------------------------------ drop */

static alm_status statement_index_drop_once(alm_cursor *cursor, const alm_stmt *stmt, alm_str name,
                                            int32_t pos)
{
    alm_index_name index;
    bool found = false;
    index_change ch = {.c = cursor};
    ALM_TRY(alm_index_find(&cursor->cx, cursor->snapshot, name, &index, &found));
    if (!found || !alm_access_sees(&cursor->cx, index.table->name)) {
        if (!stmt->if_exists)
            return alm_fail(&cursor->cx, ALM_E_SETTING, pos, "index does not exist [index=%.*s]",
                            (int)name.len, name.ptr);
        alm_note_missing(cursor, "index", name);
        return ALM_OK;
    }
    if (!index.declared)
        ALM_TRY(alm_access_any(&cursor->cx, "DROP INDEX", index.table->name, pos));
    ALM_TRY(statement_index_room(&ch, 1));
    statement_index_forget(&ch, index.key);
    return statement_index_apply(&ch, stmt, index.table, index.declared ? index.col : -1, false);
}

static alm_status statement_index_drop(alm_cursor *cursor, const alm_stmt *stmt, alm_str name,
                                       int32_t pos)
{
    for (int i = 1;; i++) {
        const alm_status status = statement_index_drop_once(cursor, stmt, name, pos);
        if (status != ALM_E_STALE || i == TRIES)
            return status;
        alm_error_clear(&cursor->cx);
        ALM_TRY(alm_cursor_look_again(cursor));
        ALM_TRY(alm_cursor_access(cursor));
    }
}

alm_status alm_run_drop_index(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                              uint32_t n)
{
    (void)params;
    (void)n;
    ALM_TRY(alm_outside_block(cursor, stmt));
    alm_note_absent(cursor, "index", stmt);
    for (uint32_t i = 0; i < stmt->n_more; i++) {
        ALM_TRY(statement_index_drop(cursor, stmt, stmt->more_tables[i], stmt->more_pos[i]));
        ALM_TRY(alm_cursor_look_again(cursor));
    }
    return ALM_OK;
}

alm_status alm_check_index(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    (void)out;
    alm_index_plan *index = NULL;
    return alm_plan_index(&cursor->cx, env, stmt, &index);
}
