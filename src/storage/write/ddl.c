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

static alm_status set_piece(alm_request *request)
{
    request->pieces[0] = (alm_wal_piece){request->buf.ptr, request->buf.len};
    request->n_pieces = 1;
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
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < n && status == ALM_OK; i++) {
        const alm_str name = alm_str_of(cols[i].name);
        void *old = NULL;
        if (name.len == 0 || name.len > NAME_BYTES_MAX)
            status = alm_fail(cx, ALM_E_LIMIT, -1, "a column name must have 1 to %d bytes, not %zu",
                              NAME_BYTES_MAX, name.len);
        else if (!alm_type_is_valid(cols[i].type))
            status = alm_fail(cx, ALM_E_TYPE, -1, "column '%s' has no type", cols[i].name);
        else
            status = alm_map_put(cx, &names, name, &names, &old);
        if (status == ALM_OK && old != NULL)
            status = alm_fail(cx, ALM_E_DUPLICATE, -1, "Duplicate column [name=%s]", cols[i].name);
    }
    alm_map_deinit(&names);
    return status;
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

static alm_status make_version(alm_ctx *cx, alm_storage *storage, const alm_table_spec *spec,
                               alm_version **out)
{
    alm_version version = {.refs = 1,
                           .table = {.id = atomic_fetch_add(&storage->next_table_id, 1),
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
    ALM_TRY(alm_symbols_room(cx, &storage->symbols, n_symbols));
    if (spec->view != NULL)
        ALM_TRY(alm_view_text_check(cx, spec->view));
    ALM_TRY(alm_tab_new(cx, storage, version.table.id, &version.tab));
    alm_status status = alm_heap_bytes(cx, spec->n_cols * sizeof *cols, "columns", &cols);
    if (status == ALM_OK)
        status = alm_tab_text(cx, version.tab, spec->name, &version.table.name);
    for (uint32_t i = 0; i < spec->n_cols && status == ALM_OK; i++) {
        cols[i] = spec->cols[i];
        cols[i].id = i + 1;
        cols[i].dict = NULL;
        status = alm_tab_text(cx, version.tab, alm_str_of(spec->cols[i].name), &cols[i].name);
    }
    version.next_col_id = spec->n_cols + 1;
    if (status == ALM_OK)
        status = alm_schema_new(cx, storage, version.tab, cols, spec->n_cols, NULL, NULL,
                                &version.schema);
    if (status == ALM_OK && spec->view != NULL)
        status = alm_view_obj_new(cx, spec->view, &version.view);
    if (status == ALM_OK)
        status = alm_version_bare(cx, &version, out);
    alm_view_obj_release(version.view);
    free(cols);
    alm_schema_release(version.schema);
    alm_tab_release(version.tab);
    return status;
}

typedef struct create_arg {
    alm_version *v;
    bool replace;
} create_arg;

/* What has the name of `version` and is of its kind goes; its comments stay. */
static alm_status write_ddl_drop_replaced(alm_ctx *cx, alm_request *request, alm_build *build,
                                          alm_version *version)
{
    const int64_t pos = alm_catver_by_name(build->next, alm_str_of(version->table.name));
    if (pos < 0)
        return ALM_OK;
    const alm_version *old = alm_catver_at(build->next, (size_t)pos);
    const uint64_t id = old->table.id;
    if (old->table.kind != version->table.kind)
        return ALM_OK; /* the name is taken */
    ALM_TRY(alm_comments_follow(cx, old, version));
    size_t mark;
    ALM_TRY(alm_op_begin(cx, &request->buf, ALM_OP_DROP, &mark));
    ALM_TRY(alm_put_u64(cx, &request->buf, id));
    ALM_TRY(alm_op_end(cx, &request->buf, mark));
    return alm_change_drop(cx, build, id);
}

static alm_status prepare_create(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const create_arg *arg = request->arg;
    alm_version *version = arg->v;
    size_t mark;
    if (arg->replace)
        ALM_TRY(write_ddl_drop_replaced(cx, request, build, version));
    ALM_TRY(alm_op_begin(cx, &request->buf, ALM_OP_CREATE, &mark));
    ALM_TRY(alm_put_table(cx, &request->buf, version));
    ALM_TRY(alm_op_end(cx, &request->buf, mark));
    ALM_TRY(alm_op_comments(cx, &request->buf, version));
    (void)alm_version_retain(version); /* may run again after a failure */
    const alm_status status = alm_change_create(cx, build, version);
    if (status != ALM_OK) {
        alm_version_release(version);
        return status;
    }
    return set_piece(request);
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

alm_status alm_table_create(alm_ctx *cx, alm_storage *storage, const alm_table_spec *spec,
                            alm_bulk **load)
{
    alm_version *version = NULL;
    ALM_TRY(alm_storage_writable(cx, storage));
    ALM_TRY(check_spec(cx, spec));
    ALM_TRY(make_version(cx, storage, spec, &version));
    if (load == NULL) {
        create_arg arg = {.v = version, .replace = spec->replace};
        alm_request request = {.prepare = prepare_create, .arg = &arg, .records = spec->records};
        const alm_status status = alm_commit(cx, storage, &request);
        alm_version_release(version);
        return status;
    }
    /* Tell early what the commit would say at the end of the load. */
    alm_catver *cat = alm_catver_current(storage);
    const bool exists = !spec->replace && alm_catver_by_name(cat, spec->name) >= 0;
    alm_catver_release(cat);
    struct alm_pending *pending = NULL;
    alm_status outcome = exists
                             ? alm_fail(cx, ALM_E_EXISTS, -1, "table already exists [table=%.*s]",
                                        (int)spec->name.len, spec->name.ptr)
                             : ALM_OK;
    if (outcome == ALM_OK)
        outcome = alm_heap_bytes(cx, sizeof *pending, "a new table", &pending);
    if (outcome != ALM_OK) {
        alm_version_release(version);
        return outcome;
    }
    *pending = (struct alm_pending){
        .st = storage, .v = version, .replace = spec->replace, .records = spec->records};
    return alm_bulk_new_pending(cx, storage, pending, load);
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

static alm_status prepare_column(alm_ctx *cx, alm_request *request, alm_build *build,
                                 const alm_version *version, const alm_column *spec)
{
    alm_column col = *spec;
    col.id = version->next_col_id;
    col.dict = NULL;
    ALM_TRY(alm_tab_text(cx, version->tab, alm_str_of(spec->name), &col.name));
    ALM_TRY(alm_put_column(cx, &request->buf, &col, 1));
    return alm_change_add_column(cx, build, version->table.id, &col);
}

static alm_status prepare_ddl(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const ddl_arg *arg = request->arg;
    const int64_t pos = alm_catver_by_name(build->next, arg->name);
    if (pos < 0)
        return table_missing(cx, arg->name);
    const alm_version *version = alm_catver_at(build->next, (size_t)pos);
    const uint64_t id = version->table.id;
    size_t mark;
    ALM_TRY(alm_buf_reserve(cx, &request->buf, 256 + arg->to.len + NAME_BYTES_MAX));
    ALM_TRY(alm_op_begin(cx, &request->buf, arg->kind, &mark));
    ALM_TRY(alm_put_u64(cx, &request->buf, id));
    alm_status status;
    if (arg->kind == ALM_OP_DROP) {
        status = alm_change_drop(cx, build, id);
    } else if (arg->kind == ALM_OP_RENAME) {
        status = alm_put_text(cx, &request->buf, arg->to);
        if (status == ALM_OK)
            status = alm_change_rename(cx, build, id, arg->to);
    } else {
        status = prepare_column(cx, request, build, version, arg->col);
    }
    ALM_TRY(status);
    const alm_status end = alm_op_end(cx, &request->buf, mark);
    ALM_ASSERT(end == ALM_OK); /* within what was reserved */
    return set_piece(request);
}

static alm_status change_table(alm_ctx *cx, alm_storage *storage, ddl_arg *arg,
                               const alm_records_change *records)
{
    alm_request request = {.prepare = prepare_ddl, .arg = arg, .records = records};
    return alm_commit(cx, storage, &request);
}

alm_status alm_table_drop(alm_ctx *cx, alm_storage *storage, alm_str name,
                          const alm_records_change *records)
{
    ddl_arg arg = {.kind = ALM_OP_DROP, .name = name};
    return change_table(cx, storage, &arg, records);
}

static alm_status prepare_drop_all(alm_ctx *cx, alm_request *request, alm_build *build)
{
    for (size_t i = 0; i < build->next->n; i++) {
        size_t mark;
        ALM_TRY(alm_op_begin(cx, &request->buf, ALM_OP_DROP, &mark));
        ALM_TRY(alm_put_u64(cx, &request->buf, alm_catver_at(build->next, i)->table.id));
        ALM_TRY(alm_op_end(cx, &request->buf, mark));
    }
    ALM_TRY(alm_build_clear(cx, build));
    return set_piece(request);
}

/* Tables that a statement names; ids: room for those of all. */
typedef struct named_arg {
    const alm_str *names;
    uint64_t *ids;
    bool keep_symbols; /* TRUNCATE */
    uint32_t n;
} named_arg;

static alm_status prepare_drop_named(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const named_arg *arg = request->arg;
    for (uint32_t i = 0; i < arg->n; i++) {
        const int64_t pos = alm_catver_by_name(build->next, arg->names[i]);
        size_t mark;
        if (pos < 0)
            return table_missing(cx, arg->names[i]);
        const uint64_t id = alm_catver_at(build->next, (size_t)pos)->table.id;
        ALM_TRY(alm_op_begin(cx, &request->buf, ALM_OP_DROP, &mark));
        ALM_TRY(alm_put_u64(cx, &request->buf, id));
        ALM_TRY(alm_op_end(cx, &request->buf, mark));
        ALM_TRY(alm_change_drop(cx, build, id));
    }
    return set_piece(request);
}

alm_status alm_tables_drop(alm_ctx *cx, alm_storage *storage, const alm_str *names, uint32_t n,
                           const alm_records_change *records)
{
    named_arg arg = {.names = names, .n = n};
    alm_request request = {.prepare = prepare_drop_named, .arg = &arg, .records = records};
    return alm_commit(cx, storage, &request);
}

alm_status alm_tables_drop_all(alm_ctx *cx, alm_storage *storage)
{
    alm_request request = {.prepare = prepare_drop_all};
    return alm_commit(cx, storage, &request);
}

alm_status alm_table_rename(alm_ctx *cx, alm_storage *storage, alm_str name, alm_str to,
                            const alm_records_change *records)
{
    if (to.len == 0 || to.len > NAME_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a table name must have 1 to %d bytes, not %zu",
                        NAME_BYTES_MAX, to.len);
    ddl_arg arg = {.kind = ALM_OP_RENAME, .name = name, .to = to};
    return change_table(cx, storage, &arg, records);
}

static alm_status truncate_ids(alm_ctx *cx, alm_request *request, alm_build *build,
                               const named_arg *arg)
{
    for (uint32_t i = 0; i < arg->n; i++) {
        size_t mark;
        ALM_TRY(alm_op_begin(cx, &request->buf, ALM_OP_TRUNCATE, &mark));
        ALM_TRY(alm_put_u64(cx, &request->buf, arg->ids[i]));
        ALM_TRY(alm_op_end(cx, &request->buf, mark));
    }
    ALM_TRY(
        alm_change_truncate(cx, build, arg->ids, arg->n, arg->keep_symbols ? NULL : &request->buf));
    return set_piece(request);
}

static alm_status prepare_truncate(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const named_arg *arg = request->arg;
    for (uint32_t i = 0; i < arg->n; i++) {
        const int64_t pos = alm_catver_by_name(build->next, arg->names[i]);
        if (pos < 0)
            return table_missing(cx, arg->names[i]);
        arg->ids[i] = alm_catver_at(build->next, (size_t)pos)->table.id;
    }
    return truncate_ids(cx, request, build, arg);
}

static alm_status prepare_empty(alm_ctx *cx, alm_request *request, alm_build *build)
{
    return truncate_ids(cx, request, build, request->arg);
}

alm_status alm_tables_truncate(alm_ctx *cx, alm_storage *storage, const alm_str *names, uint32_t n,
                               bool keep_symbols)
{
    named_arg arg = {.names = names, .n = n, .keep_symbols = keep_symbols};
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *arg.ids, "tables", &arg.ids));
    alm_request request = {.prepare = prepare_truncate, .arg = &arg};
    const alm_status status = alm_commit(cx, storage, &request);
    free(arg.ids);
    return status;
}

alm_status alm_table_truncate(alm_ctx *cx, alm_storage *storage, alm_str name)
{
    return alm_tables_truncate(cx, storage, &name, 1, false);
}

alm_status alm_table_empty(alm_ctx *cx, alm_storage *storage, uint64_t table_id)
{
    named_arg arg = {.ids = &table_id, .n = 1};
    alm_request request = {.prepare = prepare_empty, .arg = &arg};
    return alm_commit(cx, storage, &request);
}

static alm_status write_ddl_check_column(alm_ctx *cx, const alm_column *col)
{
    const size_t len = alm_str_of(col->name).len;
    if (len == 0 || len > NAME_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a column name must have 1 to %d bytes, not %zu",
                        NAME_BYTES_MAX, len);
    if (!alm_type_is_valid(col->type))
        return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' has no type", col->name);
    return ALM_OK;
}

alm_status alm_table_add_column(alm_ctx *cx, alm_storage *storage, alm_str name,
                                const alm_column *col)
{
    ALM_TRY(write_ddl_check_column(cx, col));
    ddl_arg arg = {.kind = ALM_OP_ADD_COLUMN, .name = name, .col = col};
    return change_table(cx, storage, &arg, NULL);
}

/* --------------------------------------------------------------- many changes together */

typedef struct edit_run {
    alm_ctx cx; /* a copy of the caller's, for the error of this one */
    create_arg create;
    ddl_arg ddl;
    alm_request *rq; /* NULL: it failed before */
} edit_run;

static alm_status edit_request(alm_storage *storage, const alm_table_edit *edit, edit_run *run,
                               alm_request *request)
{
    if (edit->create == NULL) {
        ALM_TRY(write_ddl_check_column(&run->cx, edit->col));
        run->ddl = (ddl_arg){.kind = ALM_OP_ADD_COLUMN, .name = edit->table, .col = edit->col};
        *request = (alm_request){.prepare = prepare_ddl, .arg = &run->ddl, .cx = &run->cx};
        return ALM_OK;
    }
    ALM_TRY(check_spec(&run->cx, edit->create));
    ALM_TRY(make_version(&run->cx, storage, edit->create, &run->create.v));
    run->create.replace = edit->create->replace;
    *request = (alm_request){.prepare = prepare_create,
                             .arg = &run->create,
                             .records = edit->create->records,
                             .cx = &run->cx};
    return ALM_OK;
}

static void run_edits(alm_ctx *cx, alm_storage *storage, alm_table_edit *edits, uint32_t n_edits,
                      edit_run *runs, alm_request *requests)
{
    size_t n_requests = 0;
    for (uint32_t i = 0; i < n_edits; i++) {
        runs[i].cx = *cx;
        if (edit_request(storage, &edits[i], &runs[i], &requests[n_requests]) == ALM_OK)
            runs[i].rq = &requests[n_requests++];
    }
    alm_commit_all(storage, requests, n_requests);
    for (uint32_t i = 0; i < n_edits; i++) {
        ALM_ASSERT(runs[i].rq == NULL || runs[i].rq->status == runs[i].cx.err.code);
        edits[i].err = runs[i].cx.err;
        alm_version_release(runs[i].create.v);
    }
}

alm_status alm_tables_edit(alm_ctx *cx, alm_storage *storage, alm_table_edit *edits, uint32_t n)
{
    edit_run *runs = NULL;
    alm_request *requests = NULL;
    ALM_TRY(alm_storage_writable(cx, storage));
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *runs, "changes of tables", &runs));
    memset(runs, 0, n * sizeof *runs);
    const alm_status status =
        alm_heap_bytes(cx, n * sizeof *requests, "changes of tables", &requests);
    if (status == ALM_OK)
        run_edits(cx, storage, edits, n, runs, requests);
    free(requests);
    free(runs);
    return status;
}
