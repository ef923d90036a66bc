/*
 * txn_view.c - what a transaction sees of its own: the newest published version of everything, with its
 * rows and parts put on top; and marks to go back to.
 */
#include <stdlib.h>

#include "storage/write/flush.h"
#include "storage/write/txn.h"

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

/* The k newest runs become one. */
static alm_status merge_runs(alm_ctx *cx, alm_txn_table *t, uint32_t k)
{
    alm_txn_run *from = &t->runs[t->n_runs - k], merged = {0};
    alm_chunk *chunks[ALM_TXN_RUNS_MAX];
    uint32_t rows[ALM_TXN_RUNS_MAX];
    ALM_ASSERT(k >= 2 && k <= t->n_runs);
    for (uint32_t i = 0; i < k; i++) {
        chunks[i] = from[i].chunk;
        rows[i] = from[i].rows;
    }
    ALM_TRY(alm_rows_settle(cx, &t->bare->table, chunks, rows, k, &merged.chunk, &merged.rows));
    for (uint32_t i = 0; i < k; i++)
        alm_chunk_release(chunks[i]);
    *from = merged;
    t->n_runs -= k - 1;
    return alm_chunk_charge(cx, merged.chunk, t->account);
}

/*
 * How many of the newest runs are merged; 0: none. Two are enough, as long as their sizes do not double. Where a savepoint
 * keeps the older one, merged rows are held twice: so many of about one size are waited for that this happens seldom.
 */
static uint32_t mergeable(const alm_txn_table *t)
{
    enum { KEPT_RUNS = 8 };
    const uint32_t n = t->n_runs;
    if (n >= ALM_TXN_RUNS_MAX - 1)
        return n / 2;
    if (n < 2)
        return 0;
    const bool kept = atomic_load(&t->runs[n - 2].chunk->refs) > 1;
    const uint32_t fan = kept ? KEPT_RUNS : 2;
    uint32_t k = 1;
    while (k < n && t->runs[n - 1 - k].rows / fan < t->runs[n - 1].rows)
        k++;
    return k >= fan ? k : 0;
}

alm_status alm_txn_settle(alm_ctx *cx, alm_txn_table *t)
{
    if (t->n_chunks == 0 || t->rows[0] == 0)
        return ALM_OK;
    ALM_TRY(settle_chunks(cx, t));
    for (uint32_t k = mergeable(t); k > 0; k = mergeable(t))
        ALM_TRY(merge_runs(cx, t, k));
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
        v->n_open++;
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
    ALM_TRY(alm_txn_make(cx, st, t));
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
    alm_txn_part **parts = realloc((void *)t->parts, (t->n_add + n + 1) * sizeof *parts);
    if (parts != NULL)
        t->parts = parts;
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
    if (parts == NULL || add == NULL || gone == NULL || own == NULL || touch == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a transaction");
    return ALM_OK;
}

static int by_start(const void *a, const void *b)
{
    const int64_t x = ((const alm_scan_range *)a)->lo, y = ((const alm_scan_range *)b)->lo;
    return (x > y) - (x < y);
}

/* Ranges that overlap become one. */
static void merge_touches(alm_txn_table *t)
{
    enum { FEW = 64 };
    uint32_t n = 0;
    if (t->n_touch < ALM_MAX(t->merge_at, (uint32_t)FEW))
        return;
    qsort(t->touch, t->n_touch, sizeof *t->touch, by_start);
    for (uint32_t i = 0; i < t->n_touch; i++) {
        const alm_scan_range range = t->touch[i];
        if (n > 0 && range.lo <= t->touch[n - 1].hi)
            t->touch[n - 1].hi = ALM_MAX(t->touch[n - 1].hi, range.hi);
        else
            t->touch[n++] = range;
    }
    t->n_touch = n;
    t->merge_at = 2 * n;
}

void alm_txn_claim(alm_txn_table *t)
{
    if (!t->claims)
        atomic_fetch_add(&t->bare->tab->claims, 1);
    t->claims = true;
}

/* Takes the part over. */
static void put_part(alm_txn_table *t, alm_txn_part *part, bool own)
{
    t->parts[t->n_add] = part;
    t->add[t->n_add] = part->ref;
    t->own[t->n_add++] = own;
}

static uint32_t find_part(const alm_txn_table *t, const alm_part_ref *part)
{
    uint32_t i = 0;
    while (i < t->n_add && (t->parts[i]->ref == NULL || t->parts[i]->ref->id != part->id))
        i++;
    return i;
}

bool alm_txn_is_marked(const alm_txn_table *t, const alm_part_ref *part)
{
    const uint32_t i = find_part(t, part);
    return i < t->n_add && alm_txn_part_is_shared(t->parts[i]);
}

alm_status alm_txn_make(alm_ctx *cx, alm_storage *st, alm_txn_table *t)
{
    alm_version *v = NULL;
    alm_status e = ALM_OK;
    for (uint32_t i = 0; i < t->n_add && e == ALM_OK; i++) {
        if (t->parts[i]->ref == NULL && v == NULL) {
            const alm_txn_table none = {.bare = t->bare}; /* the newest symbols */
            e = alm_txn_version(cx, st, t->bare, &none, &v);
        }
        if (e == ALM_OK)
            e = alm_txn_part_make(cx, st, v, t->parts[i]);
        t->add[i] = t->parts[i]->ref;
    }
    alm_version_release(v);
    return e;
}

/* One change of parts as the lists see it. */
typedef struct list_change {
    alm_txn_part *was; /* NULL: it is published */
    alm_txn_part *now; /* NULL: nothing is left; owned */
} list_change;

/* The part of the transaction just goes. */
static bool drop_part(alm_txn_table *t, alm_txn_part *part)
{
    uint32_t i = 0;
    while (t->parts[i] != part)
        i++;
    const bool own = t->own[i];
    alm_txn_part_release(part);
    t->n_add--;
    t->parts[i] = t->parts[t->n_add];
    t->add[i] = t->add[t->n_add];
    t->own[i] = t->own[t->n_add];
    return own;
}

/* All of the change that can fail. */
static alm_status prepare_change(alm_ctx *cx, alm_storage *st, const alm_txn_table *t,
                                 const alm_version *v, alm_txn_change *change, list_change *out)
{
    const uint32_t at = find_part(t, change->was);
    const bool is_own = at < t->n_add;
    alm_part_ref *published = is_own ? t->parts[at]->published : change->was;
    if (change->now != NULL)
        ALM_TRY(alm_txn_part_new(cx, change->now, published, &out->now));
    if (!is_own)
        return ALM_OK;
    out->was = t->parts[at];
    return alm_txn_part_replace(cx, st, v, out->was, out->now, &change->undo);
}

static void take_change(alm_txn_table *t, const alm_txn_change *change, const list_change *list)
{
    bool own = false;
    if (list->was != NULL)
        own = drop_part(t, list->was);
    else
        t->gone[t->n_gone++] = alm_part_ref_retain(change->was);
    t->touch[t->n_touch++] = change->touch;
    if (list->now != NULL)
        put_part(t, list->now, own);
}

alm_status alm_txn_take_parts(alm_ctx *cx, alm_storage *st, alm_txn_table *t, const alm_version *v,
                              alm_txn_change *changes, uint32_t n)
{
    list_change *list = NULL;
    merge_touches(t);
    ALM_TRY(parts_room(cx, t, n));
    ALM_TRY(alm_heap_bytes(cx, (n + 1u) * sizeof *list, "a transaction", &list));
    alm_txn_claim(t);
    alm_status e = ALM_OK;
    for (uint32_t i = 0; i < n && e == ALM_OK; i++)
        e = prepare_change(cx, st, t, v, &changes[i], &list[i]);
    for (uint32_t i = 0; i < n; i++)
        if (e == ALM_OK)
            take_change(t, &changes[i], &list[i]);
        else
            alm_txn_part_release(list[i].now);
    free(list);
    return e;
}

static alm_status put_own(alm_ctx *cx, alm_txn_table *t, alm_part_ref *const *parts, uint32_t n)
{
    alm_txn_part **own = NULL;
    alm_status e = ALM_OK;
    merge_touches(t);
    ALM_TRY(parts_room(cx, t, n));
    ALM_TRY(alm_heap_bytes(cx, (n + 1u) * sizeof *own, "a transaction", (void *)&own));
    for (uint32_t i = 0; i < n && e == ALM_OK; i++)
        e = alm_txn_part_new(cx, parts[i], NULL, &own[i]);
    for (uint32_t i = 0; i < n; i++) { /* all of them, or none */
        if (e != ALM_OK) {
            alm_txn_part_release(own[i]);
            continue;
        }
        parts[i]->seq |= ALM_SEQ_OPEN; /* nobody else has them yet */
        t->touch[t->n_touch++] = (alm_scan_range){parts[i]->min_ts, parts[i]->max_ts};
        put_part(t, own[i], true);
    }
    free((void *)own);
    return e;
}

alm_status alm_txn_put_load(alm_ctx *cx, alm_txn *txn, const alm_table *table,
                            alm_part_ref *const *parts, uint32_t n)
{
    alm_txn_table *t = NULL;
    ALM_TRY(alm_txn_table_of(cx, txn, table, &t));
    ALM_TRY(alm_txn_rows_to_parts(cx, txn->st, t)); /* they are older */
    for (uint32_t i = 0; i < n; i++)
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
    t->interning = alm_interning_share(&from->interning); /* the rows have its codes */
    const alm_status e =
        parts_room(cx, t, ALM_MAX(ALM_MAX(from->n_add, from->n_gone), from->n_touch));
    *out = t; /* the caller frees it, whole or not */
    ALM_TRY(e);
    for (; t->n_runs < from->n_runs; t->n_runs++) {
        t->runs[t->n_runs] = from->runs[t->n_runs];
        (void)alm_chunk_retain(t->runs[t->n_runs].chunk);
    }
    for (uint32_t i = 0; i < from->n_add; i++)
        put_part(t, alm_txn_part_retain(from->parts[i]), from->own[i]);
    for (; t->n_gone < from->n_gone; t->n_gone++)
        t->gone[t->n_gone] = alm_part_ref_retain(from->gone[t->n_gone]);
    if (from->n_touch > 0)
        memcpy(t->touch, from->touch, from->n_touch * sizeof *t->touch);
    t->n_touch = from->n_touch;
    t->merge_at = from->merge_at;
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
        bytes += (int64_t)(sizeof *t + room * (3 * sizeof(void *) + sizeof(alm_scan_range) + 1));
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
    for (size_t i = 0; i < mark->n; i++)
        for (uint32_t j = 0; j < tables[i]->n_add; j++)
            alm_txn_part_is_back(tables[i]->parts[j]);
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
