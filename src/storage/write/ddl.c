/*
 * ddl.c - create, drop, rename, truncate, add column: each is one log record.
 */
#include <stdlib.h>

#include "base/map.h"
#include "storage/log/payload.h"
#include "storage/version/change.h"
#include "storage/version/comment.h"
#include "storage/version/encode.h"
#include "storage/version/view.h"
#include "storage/write/bulk.h"
#include "storage/write/commit.h"
#include "storage/write/ddl.h"

enum { NAME_BYTES_MAX = 1024 };

static alm_status set_piece(alm_request *rq)
{
    rq->pieces[0] = (alm_wal_piece){rq->buf.ptr, rq->buf.len};
    rq->n_pieces = 1;
    return ALM_OK;
}

/* ---------------------------------------------------------------------- create */

alm_status alm_columns_check(alm_ctx *cx, const alm_column *cols, uint32_t n)
{
    if (n > ALM_TABLE_COLS_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a table may have %d columns, not %u",
                        ALM_TABLE_COLS_MAX, n);
    alm_map names; /* 4,096 columns: not each with each */
    alm_map_init(&names, true);
    alm_status e = ALM_OK;
    for (uint32_t i = 0; i < n && e == ALM_OK; i++) {
        const alm_str name = alm_str_of(cols[i].name);
        void *old = NULL;
        if (name.len == 0 || name.len > NAME_BYTES_MAX)
            e = alm_fail(cx, ALM_E_LIMIT, -1, "a column name must have 1 to %d bytes, not %zu",
                         NAME_BYTES_MAX, name.len);
        else if (!alm_type_is_valid(cols[i].type))
            e = alm_fail(cx, ALM_E_TYPE, -1, "column '%s' has no type", cols[i].name);
        else
            e = alm_map_put(cx, &names, name, &names, &old);
        if (e == ALM_OK && old != NULL)
            e = alm_fail(cx, ALM_E_DUPLICATE, -1, "Duplicate column [name=%s]", cols[i].name);
    }
    alm_map_deinit(&names);
    return e;
}

static alm_status check_spec(alm_ctx *cx, const alm_table_spec *spec)
{
    if (spec->name.len == 0 || spec->name.len > NAME_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a table name must have 1 to %d bytes, not %zu",
                        NAME_BYTES_MAX, spec->name.len);
    if (spec->ts_col >= (int32_t)spec->n_cols ||
        (spec->ts_col >= 0 && !alm_type_is_timestamp(spec->cols[spec->ts_col].type)))
        return alm_fail(cx, ALM_E_TYPE, -1, "the designated timestamp must be a TIMESTAMP column");
    if (spec->ts_col < 0 && spec->partition != ALM_PART_NONE)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "partitioning is possible only on tables with designated timestamps");
    return alm_columns_check(cx, spec->cols, spec->n_cols);
}

static alm_status make_version(alm_ctx *cx, alm_storage *st, const alm_table_spec *spec,
                               alm_version **out)
{
    alm_version v = {.refs = 1,
                     .table = {.id = atomic_fetch_add(&st->next_table_id, 1),
                               .schema_version = 1,
                               .ts_col = spec->ts_col,
                               .partition = spec->partition,
                               .wal = spec->wal,
                               .dedup = spec->dedup,
                               .ttl_hours = spec->ttl_hours,
                               .kept_from = INT64_MIN,
                               .max_uncommitted_rows = spec->max_uncommitted_rows,
                               .o3_max_lag_us = spec->o3_max_lag_us,
                               .kind = spec->kind}};
    alm_column *cols = NULL;
    size_t n_symbols = 0;
    for (uint32_t i = 0; i < spec->n_cols; i++)
        n_symbols += spec->cols[i].type.id == ALM_T_SYMBOL;
    ALM_TRY(alm_symbols_room(cx, &st->symbols, n_symbols));
    if (spec->view != NULL)
        ALM_TRY(alm_view_text_check(cx, spec->view));
    ALM_TRY(alm_tab_new(cx, st, v.table.id, &v.tab));
    alm_status e = alm_heap_bytes(cx, spec->n_cols * sizeof *cols, "columns", &cols);
    if (e == ALM_OK)
        e = alm_tab_text(cx, v.tab, spec->name, &v.table.name);
    for (uint32_t i = 0; i < spec->n_cols && e == ALM_OK; i++) {
        cols[i] = spec->cols[i];
        cols[i].id = i + 1;
        cols[i].dict = NULL;
        e = alm_tab_text(cx, v.tab, alm_str_of(spec->cols[i].name), &cols[i].name);
    }
    v.next_col_id = spec->n_cols + 1;
    if (e == ALM_OK)
        e = alm_schema_new(cx, st, v.tab, cols, spec->n_cols, NULL, NULL, &v.schema);
    if (e == ALM_OK && spec->view != NULL)
        e = alm_view_obj_new(cx, spec->view, &v.view);
    if (e == ALM_OK)
        e = alm_version_bare(cx, &v, out);
    alm_view_obj_release(v.view);
    free(cols);
    alm_schema_release(v.schema);
    alm_tab_release(v.tab);
    return e;
}

typedef struct create_arg {
    alm_version *v;
    bool replace;
} create_arg;

/* What has the name of `v` and is of its kind goes; its comments stay. */
static alm_status drop_replaced(alm_ctx *cx, alm_request *rq, alm_build *b, alm_version *v)
{
    const int64_t pos = alm_catver_by_name(b->next, alm_str_of(v->table.name));
    if (pos < 0)
        return ALM_OK;
    const alm_version *old = alm_catver_at(b->next, (size_t)pos);
    const uint64_t id = old->table.id;
    if (old->table.kind != v->table.kind)
        return ALM_OK; /* the name is taken */
    ALM_TRY(alm_comments_follow(cx, old, v));
    size_t mark;
    ALM_TRY(alm_op_begin(cx, &rq->buf, ALM_OP_DROP, &mark));
    ALM_TRY(alm_put_u64(cx, &rq->buf, id));
    ALM_TRY(alm_op_end(cx, &rq->buf, mark));
    return alm_change_drop(cx, b, id);
}

static alm_status prepare_create(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const create_arg *arg = rq->arg;
    alm_version *v = arg->v;
    size_t mark;
    if (arg->replace)
        ALM_TRY(drop_replaced(cx, rq, b, v));
    ALM_TRY(alm_op_begin(cx, &rq->buf, ALM_OP_CREATE, &mark));
    ALM_TRY(alm_put_table(cx, &rq->buf, v));
    ALM_TRY(alm_op_end(cx, &rq->buf, mark));
    ALM_TRY(alm_op_comments(cx, &rq->buf, v));
    (void)alm_version_retain(v); /* may run again after a failure */
    const alm_status e = alm_change_create(cx, b, v);
    if (e != ALM_OK) {
        alm_version_release(v);
        return e;
    }
    return set_piece(rq);
}

alm_version *alm_pending_version(struct alm_pending *pending)
{
    return pending->v;
}

void alm_pending_free(struct alm_pending *pending)
{
    if (pending == NULL)
        return;
    alm_version_release(pending->v);
    free(pending);
}

alm_status alm_table_create(alm_ctx *cx, alm_storage *st, const alm_table_spec *spec,
                            alm_bulk **load)
{
    alm_version *v = NULL;
    ALM_TRY(alm_storage_writable(cx, st));
    ALM_TRY(check_spec(cx, spec));
    ALM_TRY(make_version(cx, st, spec, &v));
    if (load == NULL) {
        create_arg arg = {.v = v, .replace = spec->replace};
        alm_request rq = {.prepare = prepare_create, .arg = &arg, .records = spec->records};
        const alm_status e = alm_commit(cx, st, &rq);
        alm_version_release(v);
        return e;
    }
    /* Tell early what the commit would say at the end of the load. */
    alm_catver *cat = alm_catver_current(st);
    const bool exists = !spec->replace && alm_catver_by_name(cat, spec->name) >= 0;
    alm_catver_release(cat);
    struct alm_pending *pending = NULL;
    alm_status e = exists ? alm_fail(cx, ALM_E_EXISTS, -1, "table already exists [table=%.*s]",
                                     (int)spec->name.len, spec->name.ptr)
                          : ALM_OK;
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, sizeof *pending, "a new table", &pending);
    if (e != ALM_OK) {
        alm_version_release(v);
        return e;
    }
    *pending =
        (struct alm_pending){.st = st, .v = v, .replace = spec->replace, .records = spec->records};
    return alm_bulk_new_pending(cx, st, pending, load);
}

/* ------------------------------------------------------- changes of one table by name */

static alm_status table_missing(alm_ctx *cx, alm_str name)
{
    return alm_fail(cx, ALM_E_TABLE, -1, "table does not exist [table=%.*s]", (int)name.len,
                    name.ptr);
}

typedef struct ddl_arg {
    alm_op_kind kind;
    alm_str name, to;
    const alm_column *col;
} ddl_arg;

static alm_status prepare_column(alm_ctx *cx, alm_request *rq, alm_build *b, const alm_version *v,
                                 const alm_column *spec)
{
    alm_column col = *spec;
    col.id = v->next_col_id;
    col.dict = NULL;
    ALM_TRY(alm_tab_text(cx, v->tab, alm_str_of(spec->name), &col.name));
    ALM_TRY(alm_put_column(cx, &rq->buf, &col, 1));
    return alm_change_add_column(cx, b, v->table.id, &col);
}

static alm_status prepare_ddl(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const ddl_arg *arg = rq->arg;
    const int64_t pos = alm_catver_by_name(b->next, arg->name);
    if (pos < 0)
        return table_missing(cx, arg->name);
    const alm_version *v = alm_catver_at(b->next, (size_t)pos);
    const uint64_t id = v->table.id;
    size_t mark;
    ALM_TRY(alm_buf_reserve(cx, &rq->buf, 256 + arg->to.len + NAME_BYTES_MAX));
    ALM_TRY(alm_op_begin(cx, &rq->buf, arg->kind, &mark));
    ALM_TRY(alm_put_u64(cx, &rq->buf, id));
    alm_status e;
    if (arg->kind == ALM_OP_DROP) {
        e = alm_change_drop(cx, b, id);
    } else if (arg->kind == ALM_OP_RENAME) {
        e = alm_put_text(cx, &rq->buf, arg->to);
        if (e == ALM_OK)
            e = alm_change_rename(cx, b, id, arg->to);
    } else {
        e = prepare_column(cx, rq, b, v, arg->col);
    }
    ALM_TRY(e);
    const alm_status end = alm_op_end(cx, &rq->buf, mark);
    ALM_ASSERT(end == ALM_OK); /* within what was reserved */
    return set_piece(rq);
}

static alm_status change_table(alm_ctx *cx, alm_storage *st, ddl_arg *arg,
                               const alm_records_change *records)
{
    alm_request rq = {.prepare = prepare_ddl, .arg = arg, .records = records};
    return alm_commit(cx, st, &rq);
}

alm_status alm_table_drop(alm_ctx *cx, alm_storage *st, alm_str name,
                          const alm_records_change *records)
{
    ddl_arg arg = {.kind = ALM_OP_DROP, .name = name};
    return change_table(cx, st, &arg, records);
}

static alm_status prepare_drop_all(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    for (size_t i = 0; i < b->next->n; i++) {
        size_t mark;
        ALM_TRY(alm_op_begin(cx, &rq->buf, ALM_OP_DROP, &mark));
        ALM_TRY(alm_put_u64(cx, &rq->buf, alm_catver_at(b->next, i)->table.id));
        ALM_TRY(alm_op_end(cx, &rq->buf, mark));
    }
    ALM_TRY(alm_build_clear(cx, b));
    return set_piece(rq);
}

/* Tables that a statement names; ids: room for those of all. */
typedef struct named_arg {
    const alm_str *names;
    uint64_t *ids;
    bool keep_symbols; /* TRUNCATE */
    uint32_t n;
} named_arg;

static alm_status prepare_drop_named(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const named_arg *arg = rq->arg;
    for (uint32_t i = 0; i < arg->n; i++) {
        const int64_t pos = alm_catver_by_name(b->next, arg->names[i]);
        size_t mark;
        if (pos < 0)
            return table_missing(cx, arg->names[i]);
        const uint64_t id = alm_catver_at(b->next, (size_t)pos)->table.id;
        ALM_TRY(alm_op_begin(cx, &rq->buf, ALM_OP_DROP, &mark));
        ALM_TRY(alm_put_u64(cx, &rq->buf, id));
        ALM_TRY(alm_op_end(cx, &rq->buf, mark));
        ALM_TRY(alm_change_drop(cx, b, id));
    }
    return set_piece(rq);
}

alm_status alm_tables_drop(alm_ctx *cx, alm_storage *st, const alm_str *names, uint32_t n,
                           const alm_records_change *records)
{
    named_arg arg = {.names = names, .n = n};
    alm_request rq = {.prepare = prepare_drop_named, .arg = &arg, .records = records};
    return alm_commit(cx, st, &rq);
}

alm_status alm_tables_drop_all(alm_ctx *cx, alm_storage *st)
{
    alm_request rq = {.prepare = prepare_drop_all};
    return alm_commit(cx, st, &rq);
}

alm_status alm_table_rename(alm_ctx *cx, alm_storage *st, alm_str name, alm_str to,
                            const alm_records_change *records)
{
    if (to.len == 0 || to.len > NAME_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a table name must have 1 to %d bytes, not %zu",
                        NAME_BYTES_MAX, to.len);
    ddl_arg arg = {.kind = ALM_OP_RENAME, .name = name, .to = to};
    return change_table(cx, st, &arg, records);
}

static alm_status truncate_ids(alm_ctx *cx, alm_request *rq, alm_build *b, const named_arg *arg)
{
    for (uint32_t i = 0; i < arg->n; i++) {
        size_t mark;
        ALM_TRY(alm_op_begin(cx, &rq->buf, ALM_OP_TRUNCATE, &mark));
        ALM_TRY(alm_put_u64(cx, &rq->buf, arg->ids[i]));
        ALM_TRY(alm_op_end(cx, &rq->buf, mark));
    }
    ALM_TRY(alm_change_truncate(cx, b, arg->ids, arg->n, arg->keep_symbols ? NULL : &rq->buf));
    return set_piece(rq);
}

static alm_status prepare_truncate(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const named_arg *arg = rq->arg;
    for (uint32_t i = 0; i < arg->n; i++) {
        const int64_t pos = alm_catver_by_name(b->next, arg->names[i]);
        if (pos < 0)
            return table_missing(cx, arg->names[i]);
        arg->ids[i] = alm_catver_at(b->next, (size_t)pos)->table.id;
    }
    return truncate_ids(cx, rq, b, arg);
}

static alm_status prepare_empty(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    return truncate_ids(cx, rq, b, rq->arg);
}

alm_status alm_tables_truncate(alm_ctx *cx, alm_storage *st, const alm_str *names, uint32_t n,
                               bool keep_symbols)
{
    named_arg arg = {.names = names, .n = n, .keep_symbols = keep_symbols};
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *arg.ids, "tables", &arg.ids));
    alm_request rq = {.prepare = prepare_truncate, .arg = &arg};
    const alm_status e = alm_commit(cx, st, &rq);
    free(arg.ids);
    return e;
}

alm_status alm_table_truncate(alm_ctx *cx, alm_storage *st, alm_str name)
{
    return alm_tables_truncate(cx, st, &name, 1, false);
}

alm_status alm_table_empty(alm_ctx *cx, alm_storage *st, uint64_t table_id)
{
    named_arg arg = {.ids = &table_id, .n = 1};
    alm_request rq = {.prepare = prepare_empty, .arg = &arg};
    return alm_commit(cx, st, &rq);
}

static alm_status check_column(alm_ctx *cx, const alm_column *col)
{
    const size_t len = alm_str_of(col->name).len;
    if (len == 0 || len > NAME_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a column name must have 1 to %d bytes, not %zu",
                        NAME_BYTES_MAX, len);
    if (!alm_type_is_valid(col->type))
        return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' has no type", col->name);
    return ALM_OK;
}

alm_status alm_table_add_column(alm_ctx *cx, alm_storage *st, alm_str name, const alm_column *col)
{
    ALM_TRY(check_column(cx, col));
    ddl_arg arg = {.kind = ALM_OP_ADD_COLUMN, .name = name, .col = col};
    return change_table(cx, st, &arg, NULL);
}

/* --------------------------------------------------------------- many changes together */

typedef struct edit_run {
    alm_ctx cx; /* a copy of the caller's, for the error of this one */
    create_arg create;
    ddl_arg ddl;
    alm_request *rq; /* NULL: it failed before */
} edit_run;

static alm_status edit_request(alm_storage *st, const alm_table_edit *edit, edit_run *run,
                               alm_request *rq)
{
    if (edit->create == NULL) {
        ALM_TRY(check_column(&run->cx, edit->col));
        run->ddl = (ddl_arg){.kind = ALM_OP_ADD_COLUMN, .name = edit->table, .col = edit->col};
        *rq = (alm_request){.prepare = prepare_ddl, .arg = &run->ddl, .cx = &run->cx};
        return ALM_OK;
    }
    ALM_TRY(check_spec(&run->cx, edit->create));
    ALM_TRY(make_version(&run->cx, st, edit->create, &run->create.v));
    run->create.replace = edit->create->replace;
    *rq = (alm_request){.prepare = prepare_create,
                        .arg = &run->create,
                        .records = edit->create->records,
                        .cx = &run->cx};
    return ALM_OK;
}

static void run_edits(alm_ctx *cx, alm_storage *st, alm_table_edit *edits, uint32_t n,
                      edit_run *runs, alm_request *requests)
{
    size_t n_requests = 0;
    for (uint32_t i = 0; i < n; i++) {
        runs[i].cx = *cx;
        if (edit_request(st, &edits[i], &runs[i], &requests[n_requests]) == ALM_OK)
            runs[i].rq = &requests[n_requests++];
    }
    alm_commit_all(st, requests, n_requests);
    for (uint32_t i = 0; i < n; i++) {
        ALM_ASSERT(runs[i].rq == NULL || runs[i].rq->status == runs[i].cx.err.code);
        edits[i].err = runs[i].cx.err;
        alm_version_release(runs[i].create.v);
    }
}

alm_status alm_tables_edit(alm_ctx *cx, alm_storage *st, alm_table_edit *edits, uint32_t n)
{
    edit_run *runs = NULL;
    alm_request *requests = NULL;
    ALM_TRY(alm_storage_writable(cx, st));
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *runs, "changes of tables", &runs));
    memset(runs, 0, n * sizeof *runs);
    const alm_status e = alm_heap_bytes(cx, n * sizeof *requests, "changes of tables", &requests);
    if (e == ALM_OK)
        run_edits(cx, st, edits, n, runs, requests);
    free(requests);
    free(runs);
    return e;
}
