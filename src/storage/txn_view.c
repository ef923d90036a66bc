/*
 * txn_view.c - what a transaction sees of its own: the newest published version of everything, with its
 * rows and parts put on top; and marks to go back to.
 */
#include <stdlib.h>

#include "storage/txn.h"

/* -------------------------------------------------------------------- rows to runs */

static alm_status settle_chunks(alm_ctx *cx, alm_txn_table *t)
{
    alm_txn_run run = {0};
    ALM_TRY(alm_rows_settle(cx, &t->bare->table, t->chunks, t->rows, t->n_chunks, &run.chunk,
                            &run.rows));
    for (uint32_t i = 0; i < t->n_chunks; i++)
        alm_chunk_release(t->chunks[i]);
    t->n_chunks = 0;
    ALM_ASSERT(t->n_runs < ALM_TXN_RUNS_MAX);
    t->runs[t->n_runs++] = run;
    return alm_chunk_charge(cx, run.chunk, t->account);
}

/* The two newest runs become one. */
static alm_status merge_runs(alm_ctx *cx, alm_txn_table *t)
{
    alm_txn_run *older = &t->runs[t->n_runs - 2], *newer = &t->runs[t->n_runs - 1], merged = {0};
    alm_chunk *const chunks[] = {older->chunk, newer->chunk};
    const uint32_t rows[] = {older->rows, newer->rows};
    ALM_TRY(alm_rows_settle(cx, &t->bare->table, chunks, rows, 2, &merged.chunk, &merged.rows));
    alm_chunk_release(older->chunk);
    alm_chunk_release(newer->chunk);
    *older = merged;
    t->n_runs--;
    return alm_chunk_charge(cx, merged.chunk, t->account);
}

alm_status alm_txn_settle(alm_ctx *cx, alm_txn_table *t)
{
    if (t->n_chunks == 0 || t->rows[0] == 0)
        return ALM_OK;
    ALM_TRY(settle_chunks(cx, t));
    while (t->n_runs > 1 && t->runs[t->n_runs - 2].rows / 2 < t->runs[t->n_runs - 1].rows)
        ALM_TRY(merge_runs(cx, t));
    return ALM_OK;
}

/* ------------------------------------------------------------------------- versions */

/* Each run is a lane behind those of the version. */
static alm_status add_lanes(alm_ctx *cx, const alm_txn_table *t, alm_version *v)
{
    for (uint32_t i = 0; i < t->n_runs; i++) {
        const alm_txn_run *run = &t->runs[i];
        alm_lane_chunk *chunks = NULL;
        ALM_TRY(alm_heap_bytes(cx, sizeof *chunks, "a list of chunks", &chunks));
        chunks[0] = (alm_lane_chunk){alm_chunk_retain(run->chunk), run->rows};
        const int64_t *ts = v->table.ts_col < 0 ? NULL : run->chunk->cols[v->table.ts_col];
        v->lanes[v->n_lanes++] = (alm_lane){.chunks = chunks,
                                            .n_chunks = 1,
                                            .rows = run->rows,
                                            .min_ts = ts == NULL ? 0 : ts[0],
                                            .max_ts = ts == NULL ? 0 : ts[run->rows - 1]};
    }
    return ALM_OK;
}

static alm_status put_parts(alm_ctx *cx, const alm_txn_table *t, alm_version *v)
{
    const alm_parts_change change = {
        .add = t->add, .n_add = t->n_add, .remove = t->gone, .n_remove = t->n_gone};
    alm_part_set *parts = NULL;
    if (!alm_txn_has_parts(t))
        return ALM_OK;
    ALM_TRY(alm_change_part_set(cx, v, &change, &parts));
    alm_part_set_release(v->parts);
    v->parts = parts;
    return ALM_OK;
}

alm_status alm_txn_version(alm_ctx *cx, alm_storage *st, const alm_version *base,
                           const alm_txn_table *t, alm_version **out)
{
    alm_version *v = NULL;
    alm_schema *schema = NULL;
    ALM_TRY(alm_change_accepts(cx, base, t->bare));
    ALM_TRY(alm_version_copy(cx, base, t->n_runs, &v));
    alm_status e = put_parts(cx, t, v);
    if (e == ALM_OK)
        e = add_lanes(cx, t, v);
    if (e == ALM_OK)
        e = alm_change_dicts(cx, st, base, NULL, 0, NULL, &schema); /* values it interned */
    if (e != ALM_OK) {
        alm_version_release(v);
        return e;
    }
    if (schema != NULL) {
        alm_schema_release(v->schema);
        v->schema = schema;
    }
    alm_version_settle(v);
    *out = v;
    return ALM_OK;
}

static alm_status put_table(alm_ctx *cx, alm_storage *st, alm_build *b, alm_txn_table *t)
{
    const alm_version *base = alm_build_find(b, t->id);
    alm_version *v = NULL;
    if (base == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [table=%s]",
                        t->bare->table.name);
    ALM_TRY(alm_txn_settle(cx, t));
    ALM_TRY(alm_txn_version(cx, st, base, t, &v));
    const alm_status e = alm_build_own(cx, b, t->id);
    if (e == ALM_OK)
        alm_build_put(b, v);
    else
        alm_version_release(v);
    return e;
}

int64_t alm_txn_snapshot_bytes(const alm_txn *txn)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < txn->n; i++) {
        const alm_txn_table *t = txn->tables[i];
        bytes += (int64_t)(sizeof(alm_version) +
                           t->n_runs * (sizeof(alm_lane) + sizeof(alm_lane_chunk)) +
                           t->n_add * sizeof(alm_part_ref *));
    }
    return bytes;
}

alm_status alm_txn_snapshot(alm_ctx *cx, alm_txn *txn, alm_snapshot **out)
{
    alm_storage *st = txn->st;
    alm_catver *cat = alm_catver_current(st);
    alm_build b;
    alm_status e = alm_build_on(cx, st, cat, &b);
    alm_catver_release(cat);
    ALM_TRY(e);
    for (size_t i = 0; i < txn->n && e == ALM_OK; i++)
        if (alm_txn_has_rows(txn->tables[i]) || alm_txn_has_parts(txn->tables[i]))
            e = put_table(cx, st, &b, txn->tables[i]);
    if (e != ALM_OK) {
        alm_build_abandon(&b);
        return e;
    }
    return alm_snapshot_new(cx, st, b.next, out);
}

/* ---------------------------------------------------------------------------- parts */

/* Room for n more parts on each side. */
static alm_status parts_room(alm_ctx *cx, alm_txn_table *t, uint32_t n)
{
    alm_part_ref **add = realloc((void *)t->add, (t->n_add + n + 1) * sizeof *add);
    if (add != NULL)
        t->add = add;
    alm_part_ref **gone = realloc((void *)t->gone, (t->n_gone + n + 1) * sizeof *gone);
    if (gone != NULL)
        t->gone = gone;
    bool *own = realloc(t->own, t->n_add + n + 1);
    if (own != NULL)
        t->own = own;
    alm_scan_range *touch = realloc(t->touch, (t->n_touch + n + 1) * sizeof *touch);
    if (touch != NULL)
        t->touch = touch;
    if (add == NULL || gone == NULL || own == NULL || touch == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a transaction");
    return ALM_OK;
}

void alm_txn_claim(alm_txn_table *t)
{
    if (!t->claims)
        atomic_fetch_add(&t->bare->tab->claims, 1);
    t->claims = true;
}

static void put_part(alm_txn_table *t, alm_part_ref *part, bool own)
{
    t->add[t->n_add] = alm_part_ref_retain(part);
    t->own[t->n_add++] = own;
}

/* Was the part the transaction's? Then it just goes. */
static bool drop_part(alm_txn_table *t, const alm_part_ref *part, bool *own)
{
    for (uint32_t i = 0; i < t->n_add; i++) {
        if (t->add[i]->id != part->id)
            continue;
        *own = t->own[i];
        alm_part_ref_release(t->add[i]);
        t->add[i] = t->add[--t->n_add];
        t->own[i] = t->own[t->n_add];
        return true;
    }
    return false;
}

alm_status alm_txn_take_parts(alm_ctx *cx, alm_txn_table *t, const alm_txn_change *changes,
                              uint32_t n)
{
    ALM_TRY(parts_room(cx, t, n));
    alm_txn_claim(t);
    for (uint32_t i = 0; i < n; i++) {
        bool own = false;
        if (!drop_part(t, changes[i].was, &own))
            t->gone[t->n_gone++] = alm_part_ref_retain(changes[i].was);
        t->touch[t->n_touch++] = changes[i].touch;
        if (changes[i].now != NULL)
            put_part(t, changes[i].now, own);
    }
    return ALM_OK;
}

static alm_status put_own(alm_ctx *cx, alm_txn_table *t, alm_part_ref *const *parts, uint32_t n)
{
    ALM_TRY(parts_room(cx, t, n));
    for (uint32_t i = 0; i < n; i++) {
        t->touch[t->n_touch++] = (alm_scan_range){parts[i]->min_ts, parts[i]->max_ts};
        put_part(t, parts[i], true);
    }
    return ALM_OK;
}

alm_status alm_txn_put_load(alm_ctx *cx, alm_txn *txn, const alm_table *table,
                            alm_part_ref *const *parts, uint32_t n)
{
    alm_txn_table *t = NULL;
    ALM_TRY(alm_txn_table_of(cx, txn, table, &t));
    ALM_TRY(alm_txn_rows_to_parts(cx, txn->st, t)); /* they are older */
    for (uint32_t i = 0; i < n; i++)                /* nobody else has them yet */
        parts[i]->seq = atomic_fetch_add(&txn->st->next_seq, 1);
    return put_own(cx, t, parts, n);
}

alm_status alm_txn_rows_to_parts(alm_ctx *cx, alm_storage *st, alm_txn_table *t)
{
    alm_version *v = NULL;
    alm_part_ref **parts = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_txn_settle(cx, t));
    if (t->n_runs == 0)
        return ALM_OK;
    alm_txn_table rows = {.bare = t->bare, .n_runs = t->n_runs}; /* without the parts */
    memcpy(rows.runs, t->runs, sizeof rows.runs);
    ALM_TRY(alm_txn_version(cx, st, t->bare, &rows, &v));
    v->n_frozen = v->n_lanes;
    alm_status e = alm_lanes_to_parts(cx, st, v, &parts, &n);
    alm_version_release(v);
    ALM_TRY(e);
    e = put_own(cx, t, parts, n);
    for (uint32_t i = 0; i < n; i++)
        alm_part_ref_release(parts[i]);
    free((void *)parts);
    ALM_TRY(e);
    for (uint32_t i = 0; i < t->n_runs; i++)
        alm_chunk_release(t->runs[i].chunk);
    t->n_runs = 0;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- marks */

static alm_status copy_table(alm_ctx *cx, const alm_txn_table *from, alm_txn_table **out)
{
    alm_txn_table *t = NULL;
    ALM_ASSERT(from->n_chunks == 0);
    ALM_TRY(alm_heap_bytes(cx, sizeof *t, "a savepoint", &t));
    t->id = from->id;
    t->account = from->account;
    t->bare = alm_version_retain(from->bare);
    const alm_status e =
        parts_room(cx, t, ALM_MAX(ALM_MAX(from->n_add, from->n_gone), from->n_touch));
    *out = t; /* the caller frees it, whole or not */
    ALM_TRY(e);
    for (; t->n_runs < from->n_runs; t->n_runs++) {
        t->runs[t->n_runs] = from->runs[t->n_runs];
        (void)alm_chunk_retain(t->runs[t->n_runs].chunk);
    }
    for (uint32_t i = 0; i < from->n_add; i++)
        put_part(t, from->add[i], from->own[i]);
    for (; t->n_gone < from->n_gone; t->n_gone++)
        t->gone[t->n_gone] = alm_part_ref_retain(from->gone[t->n_gone]);
    if (from->n_touch > 0)
        memcpy(t->touch, from->touch, from->n_touch * sizeof *t->touch);
    t->n_touch = from->n_touch;
    if (from->claims)
        alm_txn_claim(t);
    return ALM_OK;
}

static void free_tables(alm_storage *st, alm_txn_table **tables, size_t n)
{
    for (size_t i = 0; i < n; i++)
        alm_txn_table_free(st, tables[i]);
    free((void *)tables);
}

static alm_status copy_tables(alm_ctx *cx, alm_storage *st, alm_txn_table *const *from, size_t n,
                              alm_txn_table ***out)
{
    alm_txn_table **tables = NULL;
    ALM_TRY(alm_heap_bytes(cx, (n + 1) * sizeof *tables, "a savepoint", &tables));
    for (size_t i = 0; i < n; i++) {
        const alm_status e = copy_table(cx, from[i], &tables[i]);
        if (e != ALM_OK) {
            free_tables(st, tables, tables[i] != NULL ? i + 1 : i);
            return e;
        }
    }
    *out = tables;
    return ALM_OK;
}

/* As copy_table takes it. */
static int64_t mark_bytes(const alm_txn *txn)
{
    int64_t bytes = sizeof(alm_txn_mark);
    for (size_t i = 0; i < txn->n; i++) {
        const alm_txn_table *t = txn->tables[i];
        const size_t room = 2U * ALM_MAX(ALM_MAX(t->n_add, t->n_gone), t->n_touch) + 1;
        bytes += (int64_t)(sizeof *t + room * (2 * sizeof(void *) + sizeof(alm_scan_range) + 1));
    }
    return bytes;
}

alm_status alm_txn_mark_new(alm_ctx *cx, alm_txn *txn, alm_txn_mark **out)
{
    alm_txn_mark *mark = NULL;
    for (size_t i = 0; i < txn->n; i++)
        ALM_TRY(alm_txn_settle(cx, txn->tables[i]));
    ALM_TRY(alm_heap_bytes(cx, sizeof *mark, "a savepoint", &mark));
    mark->st = txn->st;
    mark->account = txn->account;
    const int64_t bytes = mark_bytes(txn);
    alm_status e = ALM_OK;
    if (txn->account != NULL)
        e = alm_mem_charge(cx, txn->account, bytes, "savepoint");
    if (e == ALM_OK && txn->account != NULL)
        mark->charged = bytes;
    if (e == ALM_OK)
        e = copy_tables(cx, txn->st, txn->tables, txn->n, &mark->tables);
    if (e != ALM_OK) {
        alm_txn_mark_free(mark);
        return e;
    }
    mark->n = txn->n;
    *out = mark;
    return ALM_OK;
}

alm_status alm_txn_back_to(alm_ctx *cx, alm_txn *txn, const alm_txn_mark *mark)
{
    alm_txn_table **tables = NULL;
    ALM_TRY(copy_tables(cx, txn->st, mark->tables, mark->n, &tables));
    free_tables(txn->st, txn->tables, txn->n);
    txn->tables = tables;
    txn->n = mark->n;
    txn->cap = mark->n + 1;
    return ALM_OK;
}

void alm_txn_mark_free(alm_txn_mark *mark)
{
    if (mark == NULL)
        return;
    if (mark->charged > 0)
        alm_mem_release(mark->account, mark->charged);
    free_tables(mark->st, mark->tables, mark->n);
    free(mark);
}
