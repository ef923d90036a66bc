/*
 * ingest.c - rows that do not come as SQL: one bulk load into a table that is found or made.
 *
 * Memory      A load lives outside any statement: it has a context of its own, bounded like a query.
 */
#include <stdlib.h>

#include "session/session_state.h"

struct alm_ingest {
    alm_cursor c; /* context, arena and account; never executed */
    alm_bulk *bulk;
    const alm_table *table;
};

static alm_status find_or_create(alm_ingest *in, const alm_table_spec *spec, bool overwrite)
{
    alm_ctx *cx = &in->c.cx;
    alm_storage *st = in->c.session->db->storage;
    ALM_TRY(alm_snapshot_acquire(cx, st, &in->c.snapshot));
    in->table = alm_snapshot_find(in->c.snapshot, spec->name);
    if (in->table != NULL && !overwrite)
        return ALM_OK;
    if (in->table != NULL)
        ALM_TRY(alm_table_drop(cx, st, spec->name));
    ALM_TRY(alm_table_create(cx, st, spec, NULL));
    alm_snapshot_release(in->c.snapshot);
    in->c.snapshot = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, st, &in->c.snapshot));
    in->table = alm_snapshot_find(in->c.snapshot, spec->name);
    if (in->table == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table '%.*s' was dropped at the same time",
                        (int)spec->name.len, spec->name.ptr);
    return ALM_OK;
}

static void ingest_free(alm_ingest *in)
{
    if (in->c.snapshot != NULL)
        alm_snapshot_release(in->c.snapshot);
    uint64_t mine = in->c.statement;
    (void)atomic_compare_exchange_strong(&in->c.session->statement, &mine, 0);
    alm_arena_deinit(&in->c.arena);
    free(in);
}

alm_status alm_ingest_begin(alm_session *s, const alm_table_spec *create_if_missing, bool overwrite,
                            alm_ingest **out)
{
    alm_ingest *in = calloc(1, sizeof(*in));
    if (in == NULL) {
        s->err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return ALM_E_MEMORY;
    }
    in->c.session = s;
    atomic_store(&s->cancel, atomic_load(&s->db->stopping));
    in->c.statement = atomic_fetch_add(&s->db->next_statement, 1) + 1;
    atomic_store(&s->statement, in->c.statement);
    alm_cursor_context(&in->c);
    in->c.cx.deadline_ns = 0; /* as long as the client sends */
    alm_status st = ALM_OK;
    if (s->read_only)
        st = alm_fail(&in->c.cx, ALM_E_DENIED, -1, "Write permission denied");
    if (st == ALM_OK)
        st = find_or_create(in, create_if_missing, overwrite);
    if (st == ALM_OK)
        st = alm_bulk_begin(&in->c.cx, s->db->storage, in->table, &in->bulk);
    if (st != ALM_OK) {
        st = alm_session_failed(s, &in->c.cx);
        ingest_free(in);
        return st;
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
    const alm_status st = alm_bulk_append(&in->c.cx, in->bulk, rows);
    return st == ALM_OK ? ALM_OK : alm_session_failed(in->c.session, &in->c.cx);
}

alm_status alm_ingest_commit(alm_ingest *in, int64_t *rows)
{
    alm_status st = alm_bulk_commit(&in->c.cx, in->bulk, rows);
    if (st != ALM_OK)
        st = alm_session_failed(in->c.session, &in->c.cx);
    ingest_free(in);
    return st;
}

void alm_ingest_rollback(alm_ingest *in)
{
    alm_bulk_rollback(in->bulk);
    ingest_free(in);
}
