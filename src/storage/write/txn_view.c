/*
 * txn_view.c - what a transaction sees of its own: the newest published version of everything, with its
 * rows and parts put on top; and marks to go back to.
 */
#include <stdlib.h>

#include "storage/write/flush.h"
#include "storage/write/txn.h"

/* -------------------------------------------------------------------- rows to runs */

static alm_status settle_chunks(alm_ctx *cx, alm_txn_table *txn_table)
{
    alm_txn_run run = {0};
    ALM_TRY(alm_rows_settle(cx, &txn_table->bare->table, txn_table->chunks, txn_table->rows,
                            txn_table->n_chunks, &run.chunk, &run.rows));
    for (uint32_t i = 0; i < txn_table->n_chunks; i++)
        alm_chunk_release(txn_table->chunks[i]);
    txn_table->n_chunks = 0;
    ALM_ASSERT(txn_table->n_runs < ALM_TXN_RUNS_MAX);
    txn_table->runs[txn_table->n_runs++] = run;
    return alm_chunk_charge(cx, run.chunk, txn_table->account);
}

/* The k newest runs become one. */
static alm_status merge_runs(alm_ctx *cx, alm_txn_table *txn_table, uint32_t k)
{
    alm_txn_run *from = &txn_table->runs[txn_table->n_runs - k], merged = {0};
    alm_chunk *chunks[ALM_TXN_RUNS_MAX];
    uint32_t rows[ALM_TXN_RUNS_MAX];
    ALM_ASSERT(k >= 2 && k <= txn_table->n_runs);
    for (uint32_t i = 0; i < k; i++) {
        chunks[i] = from[i].chunk;
        rows[i] = from[i].rows;
    }
    ALM_TRY(
        alm_rows_settle(cx, &txn_table->bare->table, chunks, rows, k, &merged.chunk, &merged.rows));
    for (uint32_t i = 0; i < k; i++)
        alm_chunk_release(chunks[i]);
    *from = merged;
    txn_table->n_runs -= k - 1;
    return alm_chunk_charge(cx, merged.chunk, txn_table->account);
}

/*
 * How many of the newest runs are merged; 0: none. Two are enough, as long as their sizes do not double. Where a savepoint
 * keeps the older one, merged rows are held twice: so many of about one size are waited for that this happens seldom.
 */
static uint32_t mergeable(const alm_txn_table *txn_table)
{
    enum { KEPT_RUNS = 8 };
    const uint32_t n_runs = txn_table->n_runs;
    if (n_runs >= ALM_TXN_RUNS_MAX - 1)
        return n_runs / 2;
    if (n_runs < 2)
        return 0;
    const bool kept = atomic_load(&txn_table->runs[n_runs - 2].chunk->refs) > 1;
    const uint32_t fan = kept ? KEPT_RUNS : 2;
    uint32_t k = 1;
    while (k < n_runs &&
           txn_table->runs[n_runs - 1 - k].rows / fan < txn_table->runs[n_runs - 1].rows)
        k++;
    return k >= fan ? k : 0;
}

alm_status alm_txn_settle(alm_ctx *cx, alm_txn_table *txn_table)
{
    if (txn_table->n_chunks == 0 || txn_table->rows[0] == 0)
        return ALM_OK;
    ALM_TRY(settle_chunks(cx, txn_table));
    for (uint32_t k = mergeable(txn_table); k > 0; k = mergeable(txn_table))
        ALM_TRY(merge_runs(cx, txn_table, k));
    return ALM_OK;
}

/* ------------------------------------------------------------------------- versions */

/* Each run is a lane behind those of the version. */
static alm_status add_lanes(alm_ctx *cx, const alm_txn_table *txn_table, alm_version *version)
{
    for (uint32_t i = 0; i < txn_table->n_runs; i++) {
        const alm_txn_run *run = &txn_table->runs[i];
        alm_lane_chunk *chunks = NULL;
        ALM_TRY(alm_heap_bytes(cx, sizeof *chunks, "a list of chunks", &chunks));
        chunks[0] = (alm_lane_chunk){alm_chunk_retain(run->chunk), run->rows};
        const int64_t *ts =
            version->table.ts_col < 0 ? NULL : run->chunk->cols[version->table.ts_col];
        version->lanes[version->n_lanes++] =
            (alm_lane){.chunks = chunks,
                       .n_chunks = 1,
                       .rows = run->rows,
                       .min_ts = ts == NULL ? 0 : ts[0],
                       .max_ts = ts == NULL ? 0 : ts[run->rows - 1]};
        version->n_open++;
    }
    return ALM_OK;
}

static alm_status txn_view_put_parts(alm_ctx *cx, const alm_txn_table *txn_table,
                                     alm_version *version)
{
    const alm_parts_change change = {.add = txn_table->add,
                                     .n_add = txn_table->n_add,
                                     .remove = txn_table->gone,
                                     .n_remove = txn_table->n_gone};
    alm_part_set *parts = NULL;
    if (!alm_txn_has_parts(txn_table))
        return ALM_OK;
    ALM_TRY(alm_change_part_set(cx, version, &change, &parts));
    alm_part_set_release(version->parts);
    version->parts = parts;
    return ALM_OK;
}

alm_status alm_txn_version(alm_ctx *cx, alm_storage *storage, const alm_version *base,
                           const alm_txn_table *txn_table, alm_version **out)
{
    alm_version *version = NULL;
    alm_schema *schema = NULL;
    ALM_TRY(alm_change_accepts(cx, base, txn_table->bare));
    ALM_TRY(alm_version_copy(cx, base, txn_table->n_runs, &version));
    alm_status status = txn_view_put_parts(cx, txn_table, version);
    if (status == ALM_OK)
        status = add_lanes(cx, txn_table, version);
    if (status == ALM_OK)
        status =
            alm_change_dicts(cx, storage, base, NULL, 0, NULL, &schema); /* values it interned */
    if (status != ALM_OK) {
        alm_version_release(version);
        return status;
    }
    if (schema != NULL) {
        alm_schema_release(version->schema);
        version->schema = schema;
    }
    alm_version_settle(version);
    *out = version;
    return ALM_OK;
}

static alm_status txn_view_put_table(alm_ctx *cx, alm_storage *storage, alm_build *build,
                                     alm_txn_table *txn_table)
{
    const alm_version *base = alm_build_find(build, txn_table->id);
    alm_version *version = NULL;
    if (base == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [table=%s]",
                        txn_table->bare->table.name);
    ALM_TRY(alm_txn_settle(cx, txn_table));
    ALM_TRY(alm_txn_make(cx, storage, txn_table));
    ALM_TRY(alm_txn_version(cx, storage, base, txn_table, &version));
    const alm_status status = alm_build_own(cx, build, txn_table->id);
    if (status == ALM_OK)
        alm_build_put(build, version);
    else
        alm_version_release(version);
    return status;
}

int64_t alm_txn_snapshot_bytes(const alm_txn *txn)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < txn->n; i++) {
        const alm_txn_table *txn_table = txn->tables[i];
        bytes += (int64_t)(sizeof(alm_version) +
                           txn_table->n_runs * (sizeof(alm_lane) + sizeof(alm_lane_chunk)) +
                           txn_table->n_add * sizeof(alm_part_ref *));
    }
    return bytes;
}

alm_status alm_txn_snapshot(alm_ctx *cx, alm_txn *txn, alm_snapshot **out)
{
    alm_storage *storage = txn->st;
    alm_catver *cat = alm_catver_current(storage);
    alm_build build;
    alm_status status = alm_build_on(cx, storage, cat, &build);
    alm_catver_release(cat);
    ALM_TRY(status);
    for (size_t i = 0; i < txn->n && status == ALM_OK; i++)
        if (alm_txn_has_rows(txn->tables[i]) || alm_txn_has_parts(txn->tables[i]))
            status = txn_view_put_table(cx, storage, &build, txn->tables[i]);
    if (status != ALM_OK) {
        alm_build_abandon(&build);
        return status;
    }
    return alm_snapshot_new(cx, storage, build.next, out);
}

/* ---------------------------------------------------------------------------- parts */

/* Room for n more parts on each side. */
static alm_status parts_room(alm_ctx *cx, alm_txn_table *txn_table, uint32_t n)
{
    alm_txn_part **parts =
        realloc((void *)txn_table->parts, (txn_table->n_add + n + 1) * sizeof *parts);
    if (parts != NULL)
        txn_table->parts = parts;
    alm_part_ref **add = realloc((void *)txn_table->add, (txn_table->n_add + n + 1) * sizeof *add);
    if (add != NULL)
        txn_table->add = add;
    alm_part_ref **gone =
        realloc((void *)txn_table->gone, (txn_table->n_gone + n + 1) * sizeof *gone);
    if (gone != NULL)
        txn_table->gone = gone;
    bool *own = realloc(txn_table->own, txn_table->n_add + n + 1);
    if (own != NULL)
        txn_table->own = own;
    alm_scan_range *touch = realloc(txn_table->touch, (txn_table->n_touch + n + 1) * sizeof *touch);
    if (touch != NULL)
        txn_table->touch = touch;
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
static void merge_touches(alm_txn_table *txn_table)
{
    enum { FEW = 64 };
    uint32_t count = 0;
    if (txn_table->n_touch < ALM_MAX(txn_table->merge_at, (uint32_t)FEW))
        return;
    qsort(txn_table->touch, txn_table->n_touch, sizeof *txn_table->touch, by_start);
    for (uint32_t i = 0; i < txn_table->n_touch; i++) {
        const alm_scan_range range = txn_table->touch[i];
        if (count > 0 && range.lo <= txn_table->touch[count - 1].hi)
            txn_table->touch[count - 1].hi = ALM_MAX(txn_table->touch[count - 1].hi, range.hi);
        else
            txn_table->touch[count++] = range;
    }
    txn_table->n_touch = count;
    txn_table->merge_at = 2 * count;
}

void alm_txn_claim(alm_txn_table *txn_table)
{
    if (!txn_table->claims)
        atomic_fetch_add(&txn_table->bare->tab->claims, 1);
    txn_table->claims = true;
}

/* Takes the part over. */
static void put_part(alm_txn_table *txn_table, alm_txn_part *part, bool own)
{
    txn_table->parts[txn_table->n_add] = part;
    txn_table->add[txn_table->n_add] = part->ref;
    txn_table->own[txn_table->n_add++] = own;
}

static uint32_t txn_view_find_part(const alm_txn_table *txn_table, const alm_part_ref *part)
{
    uint32_t i = 0;
    while (i < txn_table->n_add &&
           (txn_table->parts[i]->ref == NULL || txn_table->parts[i]->ref->id != part->id))
        i++;
    return i;
}

bool alm_txn_is_marked(const alm_txn_table *txn_table, const alm_part_ref *part)
{
    const uint32_t i = txn_view_find_part(txn_table, part);
    return i < txn_table->n_add && alm_txn_part_is_shared(txn_table->parts[i]);
}

alm_status alm_txn_make(alm_ctx *cx, alm_storage *storage, alm_txn_table *txn_table)
{
    alm_version *version = NULL;
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < txn_table->n_add && status == ALM_OK; i++) {
        if (txn_table->parts[i]->ref == NULL && version == NULL) {
            const alm_txn_table none = {.bare = txn_table->bare}; /* the newest symbols */
            status = alm_txn_version(cx, storage, txn_table->bare, &none, &version);
        }
        if (status == ALM_OK)
            status = alm_txn_part_make(cx, storage, version, txn_table->parts[i]);
        txn_table->add[i] = txn_table->parts[i]->ref;
    }
    alm_version_release(version);
    return status;
}

/* One change of parts as the lists see it. */
typedef struct list_change {
    alm_txn_part *was; /* NULL: it is published */
    alm_txn_part *now; /* NULL: nothing is left; owned */
} list_change;

/* The part of the transaction just goes. */
static bool drop_part(alm_txn_table *txn_table, alm_txn_part *part)
{
    uint32_t i = 0;
    while (txn_table->parts[i] != part)
        i++;
    const bool own = txn_table->own[i];
    alm_txn_part_release(part);
    txn_table->n_add--;
    txn_table->parts[i] = txn_table->parts[txn_table->n_add];
    txn_table->add[i] = txn_table->add[txn_table->n_add];
    txn_table->own[i] = txn_table->own[txn_table->n_add];
    return own;
}

/* All of the change that can fail. */
static alm_status prepare_change(alm_ctx *cx, alm_storage *storage, const alm_txn_table *txn_table,
                                 const alm_version *version, alm_txn_change *change,
                                 list_change *out)
{
    const uint32_t place = txn_view_find_part(txn_table, change->was);
    const bool is_own = place < txn_table->n_add;
    alm_part_ref *published = is_own ? txn_table->parts[place]->published : change->was;
    if (change->now != NULL)
        ALM_TRY(alm_txn_part_new(cx, change->now, published, &out->now));
    if (!is_own)
        return ALM_OK;
    out->was = txn_table->parts[place];
    return alm_txn_part_replace(cx, storage, version, out->was, out->now, &change->undo);
}

static void take_change(alm_txn_table *txn_table, const alm_txn_change *change,
                        const list_change *list)
{
    bool own = false;
    if (list->was != NULL)
        own = drop_part(txn_table, list->was);
    else
        txn_table->gone[txn_table->n_gone++] = alm_part_ref_retain(change->was);
    txn_table->touch[txn_table->n_touch++] = change->touch;
    if (list->now != NULL)
        put_part(txn_table, list->now, own);
}

alm_status alm_txn_take_parts(alm_ctx *cx, alm_storage *storage, alm_txn_table *txn_table,
                              const alm_version *version, alm_txn_change *changes,
                              uint32_t n_changes)
{
    list_change *list = NULL;
    merge_touches(txn_table);
    ALM_TRY(parts_room(cx, txn_table, n_changes));
    ALM_TRY(alm_heap_bytes(cx, (n_changes + 1u) * sizeof *list, "a transaction", &list));
    alm_txn_claim(txn_table);
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < n_changes && status == ALM_OK; i++)
        status = prepare_change(cx, storage, txn_table, version, &changes[i], &list[i]);
    for (uint32_t i = 0; i < n_changes; i++)
        if (status == ALM_OK)
            take_change(txn_table, &changes[i], &list[i]);
        else
            alm_txn_part_release(list[i].now);
    free(list);
    return status;
}

static alm_status put_own(alm_ctx *cx, alm_txn_table *txn_table, alm_part_ref *const *parts,
                          uint32_t n_parts)
{
    alm_txn_part **own = NULL;
    alm_status status = ALM_OK;
    merge_touches(txn_table);
    ALM_TRY(parts_room(cx, txn_table, n_parts));
    ALM_TRY(alm_heap_bytes(cx, (n_parts + 1u) * sizeof *own, "a transaction", (void *)&own));
    for (uint32_t i = 0; i < n_parts && status == ALM_OK; i++)
        status = alm_txn_part_new(cx, parts[i], NULL, &own[i]);
    for (uint32_t i = 0; i < n_parts; i++) { /* all of them, or none */
        if (status != ALM_OK) {
            alm_txn_part_release(own[i]);
            continue;
        }
        parts[i]->seq |= ALM_SEQ_OPEN; /* nobody else has them yet */
        txn_table->touch[txn_table->n_touch++] =
            (alm_scan_range){parts[i]->min_ts, parts[i]->max_ts};
        put_part(txn_table, own[i], true);
    }
    free((void *)own);
    return status;
}

alm_status alm_txn_put_load(alm_ctx *cx, alm_txn *txn, const alm_table *table,
                            alm_part_ref *const *parts, uint32_t n_parts)
{
    alm_txn_table *txn_table = NULL;
    ALM_TRY(alm_txn_table_of(cx, txn, table, &txn_table));
    ALM_TRY(alm_txn_rows_to_parts(cx, txn->st, txn_table)); /* they are older */
    for (uint32_t i = 0; i < n_parts; i++)
        parts[i]->seq = atomic_fetch_add(&txn->st->next_seq, 1);
    return put_own(cx, txn_table, parts, n_parts);
}

alm_status alm_txn_rows_to_parts(alm_ctx *cx, alm_storage *storage, alm_txn_table *txn_table)
{
    alm_version *version = NULL;
    alm_part_ref **parts = NULL;
    uint32_t n_parts = 0;
    ALM_TRY(alm_txn_settle(cx, txn_table));
    if (txn_table->n_runs == 0)
        return ALM_OK;
    alm_txn_table rows = {.bare = txn_table->bare,
                          .n_runs = txn_table->n_runs}; /* without the parts */
    memcpy(rows.runs, txn_table->runs, sizeof rows.runs);
    ALM_TRY(alm_txn_version(cx, storage, txn_table->bare, &rows, &version));
    version->n_frozen = version->n_lanes;
    alm_status status = alm_lanes_to_parts(cx, storage, version, &parts, &n_parts);
    alm_version_release(version);
    ALM_TRY(status);
    status = put_own(cx, txn_table, parts, n_parts);
    for (uint32_t i = 0; i < n_parts; i++)
        alm_part_ref_release(parts[i]);
    free((void *)parts);
    ALM_TRY(status);
    for (uint32_t i = 0; i < txn_table->n_runs; i++)
        alm_chunk_release(txn_table->runs[i].chunk);
    txn_table->n_runs = 0;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- marks */

static alm_status copy_table(alm_ctx *cx, const alm_txn_table *from, alm_txn_table **out)
{
    alm_txn_table *txn_table = NULL;
    ALM_ASSERT(from->n_chunks == 0);
    ALM_TRY(alm_heap_bytes(cx, sizeof *txn_table, "a savepoint", &txn_table));
    txn_table->id = from->id;
    txn_table->account = from->account;
    txn_table->bare = alm_version_retain(from->bare);
    txn_table->interning = alm_interning_share(&from->interning); /* the rows have its codes */
    const alm_status status =
        parts_room(cx, txn_table, ALM_MAX(ALM_MAX(from->n_add, from->n_gone), from->n_touch));
    *out = txn_table; /* the caller frees it, whole or not */
    ALM_TRY(status);
    for (; txn_table->n_runs < from->n_runs; txn_table->n_runs++) {
        txn_table->runs[txn_table->n_runs] = from->runs[txn_table->n_runs];
        (void)alm_chunk_retain(txn_table->runs[txn_table->n_runs].chunk);
    }
    for (uint32_t i = 0; i < from->n_add; i++)
        put_part(txn_table, alm_txn_part_retain(from->parts[i]), from->own[i]);
    for (; txn_table->n_gone < from->n_gone; txn_table->n_gone++)
        txn_table->gone[txn_table->n_gone] = alm_part_ref_retain(from->gone[txn_table->n_gone]);
    if (from->n_touch > 0)
        memcpy(txn_table->touch, from->touch, from->n_touch * sizeof *txn_table->touch);
    txn_table->n_touch = from->n_touch;
    txn_table->merge_at = from->merge_at;
    if (from->claims)
        alm_txn_claim(txn_table);
    return ALM_OK;
}

static void free_tables(alm_storage *storage, alm_txn_table **tables, size_t n_tables)
{
    for (size_t i = 0; i < n_tables; i++)
        alm_txn_table_free(storage, tables[i]);
    free((void *)tables);
}

static alm_status copy_tables(alm_ctx *cx, alm_storage *storage, alm_txn_table *const *from,
                              size_t n, alm_txn_table ***out)
{
    alm_txn_table **tables = NULL;
    ALM_TRY(alm_heap_bytes(cx, (n + 1) * sizeof *tables, "a savepoint", &tables));
    for (size_t i = 0; i < n; i++) {
        const alm_status status = copy_table(cx, from[i], &tables[i]);
        if (status != ALM_OK) {
            free_tables(storage, tables, tables[i] != NULL ? i + 1 : i);
            return status;
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
        const alm_txn_table *txn_table = txn->tables[i];
        const size_t room =
            2U * ALM_MAX(ALM_MAX(txn_table->n_add, txn_table->n_gone), txn_table->n_touch) + 1;
        bytes +=
            (int64_t)(sizeof *txn_table + room * (3 * sizeof(void *) + sizeof(alm_scan_range) + 1));
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
    alm_status status = ALM_OK;
    if (txn->account != NULL)
        status = alm_mem_charge(cx, txn->account, bytes, "savepoint");
    if (status == ALM_OK && txn->account != NULL)
        mark->charged = bytes;
    if (status == ALM_OK)
        status = copy_tables(cx, txn->st, txn->tables, txn->n, &mark->tables);
    if (status != ALM_OK) {
        alm_txn_mark_free(mark);
        return status;
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
