/*
 * ingest.c - rows that do not come as SQL: one bulk load into a table that is found or made.
 *
 * Memory      A load lives outside any statement: it has a context of its own, bounded like a query.
 */
#include <stdlib.h>

#include "session/access/standing.h"
#include "session/statement/statement.h"
#include "session/transfer/transfer.h"

struct alm_ingest {
    alm_cursor c; /* context, arena and account; never executed */
    alm_bulk *bulk;
    const alm_table *table;
    alm_table made; /* a table that comes into being with the commit */
    bool part;      /* of work that began before: alm_session_work_begin */
};

/* A new table, or one in the place of another: it is made, and the old one dropped, by the record
 * that commits the rows; a load that fails changes nothing. */
static alm_status begin_new(alm_ingest *in, const alm_table_spec *spec, bool overwrite, alm_str who)
{
    alm_ctx *cx = &in->c.cx;
    alm_table_spec replacing = *spec;
    alm_column *cols = NULL;
    replacing.replace = overwrite;
    ALM_TRY(ALM_NEWN(cx, cx->arena, spec->n_cols, &cols));
    (void)memcpy(cols, spec->cols, spec->n_cols * sizeof(*cols));
    in->made = (alm_table){
        .cols = cols, .n_cols = spec->n_cols, .ts_col = spec->ts_col, .partition = spec->partition};
    ALM_TRY(alm_arena_zstr(cx, cx->arena, spec->name, &in->made.name));
    in->table = &in->made;
    const alm_stmt as_if = {.owner = who, .owner_pos = -1, .end = -1}; /* OWNED BY who */
    alm_acl_edit owner;
    ALM_TRY(alm_own_table(&in->c, &as_if, in->made.name, &owner));
    ALM_TRY(alm_acl_with(cx, &owner, true, &replacing.records));
    const alm_table *none = NULL;
    ALM_TRY(alm_cursor_keeps_table(&in->c, &none));
    return alm_table_create(cx, in->c.session->db->storage, &replacing, &in->bulk);
}

/* The table, and whether the user may load into it, or make it. */
static alm_status ingest_find_table(alm_ingest *in, alm_str name, bool overwrite)
{
    alm_ctx *cx = &in->c.cx;
    ALM_TRY(alm_session_may_write(cx, in->c.session, -1));
    ALM_TRY(alm_snapshot_acquire(cx, in->c.session->db->storage, &in->c.snapshot));
    in->table = alm_snapshot_find(in->c.snapshot, name);
    ALM_TRY(alm_cursor_access(&in->c));
    const alm_access_ask into_or_make = {
        .permission = overwrite ? "DROP TABLE" : "INSERT", .instead = "CREATE TABLE", .pos = -1};
    ALM_TRY(alm_access_gate(cx, &into_or_make, name, NULL, 0));
    if (in->table != NULL)
        ALM_TRY(alm_refuse_view(cx, in->table, -1));
    if (in->table != NULL)
        ALM_TRY(alm_access_may(cx, overwrite ? "DROP TABLE" : "INSERT", in->table->name, -1));
    if (in->table == NULL || overwrite)
        ALM_TRY(alm_access_may(cx, "CREATE TABLE", NULL, -1));
    return ALM_OK;
}

static alm_status begin_load(alm_ingest *in, const alm_table_spec *spec, bool overwrite,
                             alm_str owner)
{
    alm_ctx *cx = &in->c.cx;
    ALM_TRY(ingest_find_table(in, spec->name, overwrite));
    if (in->table == NULL || overwrite)
        return begin_new(in, spec, overwrite, owner);
    ALM_TRY(alm_cursor_keeps_table(&in->c, &in->table));
    return alm_bulk_begin(cx, in->c.session->db->storage, in->table, &in->bulk);
}

static void ingest_free(alm_ingest *in)
{
    if (in->c.snapshot != NULL)
        alm_snapshot_release(in->c.snapshot);
    if (in->part)
        in->c.statement = 0; /* that goes on */
    alm_cursor_over(&in->c);
    free(in);
}

static alm_status ingest_new(alm_session *session, alm_ingest **out)
{
    alm_ingest *in = *out = calloc(1, sizeof(*in));
    if (in == NULL) {
        session->err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return ALM_E_MEMORY;
    }
    in->c.session = session;
    in->c.statement = atomic_load(&session->statement);
    in->part = in->c.statement != 0;
    if (!in->part) {
        atomic_store(&session->cancel, atomic_load(&session->db->stopping));
        in->c.statement = atomic_fetch_add(&session->db->next_statement, 1) + 1;
        atomic_store(&session->statement, in->c.statement);
    }
    alm_cursor_context(&in->c);
    alm_cursor_lookup(&in->c);
    in->c.cx.deadline_ns = 0; /* as long as the client sends */
    return ALM_OK;
}

alm_status alm_ingest_may(alm_session *session, alm_str table, bool overwrite)
{
    alm_ingest *in = NULL;
    ALM_TRY(ingest_new(session, &in));
    alm_status status = ingest_find_table(in, table, overwrite);
    if (status != ALM_OK)
        status = alm_session_failed(session, &in->c.cx);
    ingest_free(in);
    return status;
}

alm_status alm_ingest_begin(alm_session *session, const alm_table_spec *create_if_missing,
                            bool overwrite, alm_str owner, alm_ingest **out)
{
    alm_ingest *in = NULL;
    ALM_TRY(ingest_new(session, &in));
    alm_status status = begin_load(in, create_if_missing, overwrite, owner);
    if (status != ALM_OK) {
        status = alm_session_failed(session, &in->c.cx);
        ingest_free(in);
        return status;
    }
    *out = in;
    return ALM_OK;
}

const alm_table *alm_ingest_table(const alm_ingest *in)
{
    return in->table;
}

alm_status alm_ingest_append(alm_ingest *in, const alm_batch *rows)
{
    alm_status status = alm_cursor_check(&in->c);
    if (status == ALM_OK)
        status = alm_bulk_append(&in->c.cx, in->bulk, rows);
    return status == ALM_OK ? ALM_OK : alm_session_failed(in->c.session, &in->c.cx);
}

alm_status alm_ingest_commit(alm_ingest *in, int64_t *rows)
{
    alm_status status = alm_cursor_check(&in->c);
    if (status == ALM_OK)
        status = alm_bulk_commit(&in->c.cx, in->bulk, rows);
    else
        alm_bulk_rollback(in->bulk);
    if (status == ALM_OK && in->table == &in->made)
        alm_audit_made(in->c.session, "CREATE TABLE", alm_str_of(in->made.name), (alm_str){0});
    if (status != ALM_OK)
        status = alm_session_failed(in->c.session, &in->c.cx);
    ingest_free(in);
    return status;
}

void alm_ingest_rollback(alm_ingest *in)
{
    alm_bulk_rollback(in->bulk);
    ingest_free(in);
}
