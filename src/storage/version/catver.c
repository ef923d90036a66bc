/*
 * catver.c - catalogue versions (all tables at one LSN), snapshots of them, and building the next.
 *
 * Tables are kept by ascending id in blocks of 64, so that a commit copies one block and the list of
 * blocks: 157 pointers for 10,000 tables. Names are found through a hash table that versions share
 * until a name changes.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "storage/version/records.h"

static bool last_reference(_Atomic uint32_t *refs)
{
    const uint32_t before = atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel);
    ALM_ASSERT(before > 0);
    return before == 1;
}

static size_t blocks_of(size_t n)
{
    return (n + CAT_BLOCK - 1) / CAT_BLOCK;
}

static void block_release(cat_block *block)
{
    if (block == NULL || !last_reference(&block->refs))
        return;
    for (size_t i = 0; i < CAT_BLOCK; i++)
        alm_version_release(block->versions[i]);
    free(block);
}

alm_catver *alm_catver_retain(alm_catver *cat)
{
    const uint32_t before = atomic_fetch_add_explicit(&cat->refs, 1, memory_order_relaxed);
    ALM_ASSERT(before > 0);
    return cat;
}

void alm_catver_release(alm_catver *cat)
{
    if (cat == NULL || !last_reference(&cat->refs))
        return;
    for (size_t i = 0; i < cat->n_blocks; i++)
        block_release(cat->blocks[i]);
    free((void *)cat->blocks);
    if (cat->names != NULL && last_reference(&cat->names->refs))
        free(cat->names);
    alm_records_release(cat->records);
    free(cat);
}

alm_catver *alm_catver_current(alm_storage *storage)
{
    (void)pthread_mutex_lock(&storage->publish_lock);
    alm_catver *cat = alm_catver_retain(storage->current);
    (void)pthread_mutex_unlock(&storage->publish_lock);
    return cat;
}

alm_version *alm_catver_at(const alm_catver *cat, size_t pos)
{
    ALM_ASSERT(pos < cat->n);
    return cat->blocks[pos / CAT_BLOCK]->versions[pos % CAT_BLOCK];
}

/* First position with an id not below. */
static size_t lower_bound(const alm_catver *cat, uint64_t id)
{
    size_t lo = 0, hi = cat->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (alm_catver_at(cat, mid)->table.id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int64_t alm_catver_by_id(const alm_catver *cat, uint64_t table_id)
{
    const size_t offset = lower_bound(cat, table_id);
    return offset < cat->n && alm_catver_at(cat, offset)->table.id == table_id ? (int64_t)offset
                                                                               : -1;
}

static uint32_t name_hash(alm_str name)
{
    return (uint32_t)alm_hash_str_nocase(name);
}

int64_t alm_catver_by_name(const alm_catver *cat, alm_str name)
{
    const cat_names *names = cat->names;
    const uint32_t hash = name_hash(name);
    for (uint32_t place = hash & names->mask; names->slots[place].pos_plus_1 != 0;
         place = (place + 1) & names->mask) {
        if (names->slots[place].hash != hash)
            continue;
        const uint32_t pos = names->slots[place].pos_plus_1 - 1;
        if (alm_str_ieq(alm_str_of(alm_catver_at(cat, pos)->table.name), name))
            return pos;
    }
    return -1;
}

/* ---------------------------------------------------------------------- building */

static void names_put(cat_names *names, uint32_t hash, size_t pos)
{
    uint32_t place = hash & names->mask;
    while (names->slots[place].pos_plus_1 != 0)
        place = (place + 1) & names->mask;
    names->slots[place].hash = hash;
    names->slots[place].pos_plus_1 = (uint32_t)pos + 1;
    names->n++;
}

static alm_status names_new(alm_ctx *cx, size_t n, cat_names **out)
{
    size_t cap = 64;
    while (cap < n * 2)
        cap *= 2;
    cat_names *names = NULL;
    ALM_TRY(
        alm_heap_bytes(cx, sizeof *names + cap * sizeof names->slots[0], "table names", &names));
    names->refs = 1;
    names->mask = (uint32_t)cap - 1;
    *out = names;
    return ALM_OK;
}

/* All names of the tables of `cat` afresh. */
static alm_status names_rebuild(alm_ctx *cx, alm_catver *cat)
{
    cat_names *names = NULL;
    ALM_TRY(names_new(cx, cat->n + cat->n / 4, &names));
    for (size_t i = 0; i < cat->n; i++)
        names_put(names, name_hash(alm_str_of(alm_catver_at(cat, i)->table.name)), i);
    if (cat->names != NULL && last_reference(&cat->names->refs))
        free(cat->names);
    cat->names = names;
    return ALM_OK;
}

/* Names with room for one more and owned by `cat` alone. */
static alm_status names_own(alm_ctx *cx, alm_catver *cat)
{
    if (((size_t)cat->names->n + 1) * 2 > (size_t)cat->names->mask + 1)
        return names_rebuild(cx, cat);
    if (atomic_load(&cat->names->refs) == 1)
        return ALM_OK;
    const size_t bytes =
        sizeof(cat_names) + ((size_t)cat->names->mask + 1) * sizeof cat->names->slots[0];
    cat_names *copy = NULL;
    ALM_TRY(alm_heap_bytes(cx, bytes, "table names", &copy));
    const size_t skip = offsetof(cat_names, mask); /* readers change the count of references */
    memcpy((char *)copy + skip, (const char *)cat->names + skip, bytes - skip);
    copy->refs = 1;
    if (last_reference(&cat->names->refs))
        free(cat->names);
    cat->names = copy;
    return ALM_OK;
}

alm_status alm_catver_empty(alm_ctx *cx, alm_catver **out)
{
    alm_catver *cat = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *cat, "the catalogue", &cat));
    cat->refs = 1;
    const alm_status status = names_new(cx, 0, &cat->names);
    if (status != ALM_OK) {
        free(cat);
        return status;
    }
    *out = cat;
    return ALM_OK;
}

alm_status alm_build_begin(alm_ctx *cx, alm_storage *storage, alm_build *build)
{
    return alm_build_on(cx, storage, storage->current, build); /* only leaders replace it */
}

alm_status alm_build_on(alm_ctx *cx, alm_storage *storage, const alm_catver *from, alm_build *build)
{
    alm_catver *next = NULL;
    *build = (alm_build){.st = storage};
    ALM_TRY(alm_heap_bytes(cx, sizeof *next, "the catalogue", &next));
    const alm_status status = alm_heap_bytes(cx, (from->n_blocks + 1) * sizeof(cat_block *),
                                             "the catalogue", &next->blocks);
    if (status != ALM_OK) {
        free(next);
        return status;
    }
    next->refs = 1;
    next->lsn = from->lsn;
    next->n = from->n;
    next->n_blocks = from->n_blocks;
    for (size_t i = 0; i < from->n_blocks; i++) {
        next->blocks[i] = from->blocks[i];
        atomic_fetch_add_explicit(&next->blocks[i]->refs, 1, memory_order_relaxed);
    }
    next->records = alm_records_retain(from->records);
    next->names = from->names;
    atomic_fetch_add_explicit(&next->names->refs, 1, memory_order_relaxed);
    build->next = next;
    return ALM_OK;
}

void alm_build_abandon(alm_build *build)
{
    alm_catver_release(build->next);
    build->next = NULL;
}

alm_version *alm_build_find(const alm_build *build, uint64_t table_id)
{
    const int64_t pos = alm_catver_by_id(build->next, table_id);
    return pos < 0 ? NULL : alm_catver_at(build->next, (size_t)pos);
}

alm_status alm_build_own(alm_ctx *cx, alm_build *build, uint64_t table_id)
{
    const int64_t pos = alm_catver_by_id(build->next, table_id);
    ALM_ASSERT(pos >= 0);
    cat_block **block = &build->next->blocks[pos / CAT_BLOCK];
    if (atomic_load(&(*block)->refs) == 1)
        return ALM_OK;
    cat_block *copy = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *copy, "the catalogue", &copy));
    copy->refs = 1;
    for (size_t i = 0; i < CAT_BLOCK; i++)
        if ((*block)->versions[i] != NULL)
            copy->versions[i] = alm_version_retain((*block)->versions[i]);
    block_release(*block);
    *block = copy;
    return ALM_OK;
}

void alm_build_put(alm_build *build, alm_version *version)
{
    const int64_t pos = alm_catver_by_id(build->next, version->table.id);
    ALM_ASSERT(pos >= 0);
    cat_block *block = build->next->blocks[pos / CAT_BLOCK];
    ALM_ASSERT(atomic_load(&block->refs) == 1);
    alm_version **slot = &block->versions[pos % CAT_BLOCK];
    build->head_delta += version->head_bytes - (*slot)->head_bytes;
    alm_version_release(*slot);
    *slot = version;
}

/* Blocks afresh with one table more (version at `pos`) or less (version NULL). */
static alm_status rebuild_blocks(alm_ctx *cx, alm_catver *cat, size_t pos, alm_version *version)
{
    const size_t n = version != NULL ? cat->n + 1 : cat->n - 1;
    cat_block **blocks = NULL;
    ALM_TRY(alm_heap_bytes(cx, (blocks_of(n) + 1) * sizeof *blocks, "the catalogue", &blocks));
    alm_status status = ALM_OK;
    for (size_t i = 0; i < blocks_of(n) && status == ALM_OK; i++) {
        status = alm_heap_bytes(cx, sizeof **blocks, "the catalogue", &blocks[i]);
        if (status == ALM_OK)
            blocks[i]->refs = 1;
    }
    if (status != ALM_OK) {
        for (size_t i = 0; i < blocks_of(n); i++)
            free(blocks[i]);
        free((void *)blocks);
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t from = version != NULL ? i - (i > pos) : i + (i >= pos);
        alm_version *one =
            version != NULL && i == pos ? version : alm_version_retain(alm_catver_at(cat, from));
        blocks[i / CAT_BLOCK]->versions[i % CAT_BLOCK] = one;
    }
    for (size_t i = 0; i < cat->n_blocks; i++)
        block_release(cat->blocks[i]);
    free((void *)cat->blocks);
    cat->blocks = blocks;
    cat->n_blocks = blocks_of(n);
    cat->n = n;
    return ALM_OK;
}

/* The usual case: a new table has the highest id. */
static alm_status catver_append_table(alm_ctx *cx, alm_build *build, alm_version *version)
{
    alm_catver *cat = build->next;
    if (cat->n % CAT_BLOCK == 0) {
        cat_block **bigger = realloc((void *)cat->blocks, (cat->n_blocks + 1) * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the catalogue");
        cat->blocks = bigger;
        ALM_TRY(alm_heap_bytes(cx, sizeof **bigger, "the catalogue", &bigger[cat->n_blocks]));
        bigger[cat->n_blocks++]->refs = 1;
    } else {
        ALM_TRY(alm_build_own(cx, build, alm_catver_at(cat, cat->n - 1)->table.id));
    }
    cat->blocks[cat->n / CAT_BLOCK]->versions[cat->n % CAT_BLOCK] = version;
    cat->n++;
    return ALM_OK;
}

alm_status alm_build_add(alm_ctx *cx, alm_build *build, alm_version *version)
{
    alm_catver *cat = build->next;
    const size_t pos = lower_bound(cat, version->table.id);
    if (cat->n >= UINT32_MAX / 4)
        return alm_fail(cx, ALM_E_LIMIT, -1, "too many tables");
    ALM_TRY(names_own(cx, cat));
    if (pos == cat->n) {
        ALM_TRY(catver_append_table(cx, build, version));
        names_put(cat->names, name_hash(alm_str_of(version->table.name)), pos);
    } else {
        cat_names *names = NULL; /* positions shift: all names afresh, taken before the change */
        ALM_TRY(names_new(cx, cat->n + cat->n / 4, &names));
        const alm_status status = rebuild_blocks(cx, cat, pos, version);
        if (status != ALM_OK) {
            free(names);
            return status;
        }
        for (size_t i = 0; i < cat->n; i++)
            names_put(names, name_hash(alm_str_of(alm_catver_at(cat, i)->table.name)), i);
        free(cat->names); /* owned alone, see names_own */
        cat->names = names;
    }
    build->head_delta += version->head_bytes;
    return ALM_OK;
}

alm_status alm_build_remove(alm_ctx *cx, alm_build *build, uint64_t table_id)
{
    alm_catver *cat = build->next;
    const int64_t pos = alm_catver_by_id(cat, table_id);
    ALM_ASSERT(pos >= 0);
    const int64_t head_bytes = alm_catver_at(cat, (size_t)pos)->head_bytes;
    cat_names *names = NULL;
    ALM_TRY(names_new(cx, cat->n + cat->n / 4, &names));
    const alm_status status = rebuild_blocks(cx, cat, (size_t)pos, NULL);
    if (status != ALM_OK) {
        free(names);
        return status;
    }
    for (size_t i = 0; i < cat->n; i++)
        names_put(names, name_hash(alm_str_of(alm_catver_at(cat, i)->table.name)), i);
    if (last_reference(&cat->names->refs))
        free(cat->names);
    cat->names = names;
    build->head_delta -= head_bytes;
    return ALM_OK;
}

alm_status alm_build_clear(alm_ctx *cx, alm_build *build)
{
    alm_catver *cat = build->next;
    cat_names *names = NULL;
    ALM_TRY(names_new(cx, 0, &names));
    for (size_t i = 0; i < cat->n; i++)
        build->head_delta -= alm_catver_at(cat, i)->head_bytes;
    for (size_t i = 0; i < cat->n_blocks; i++)
        block_release(cat->blocks[i]);
    cat->n = cat->n_blocks = 0;
    if (last_reference(&cat->names->refs))
        free(cat->names);
    cat->names = names;
    return ALM_OK;
}

alm_status alm_build_rename(alm_ctx *cx, alm_build *build, alm_version *version)
{
    cat_names *names = NULL;
    ALM_TRY(alm_build_own(cx, build, version->table.id));
    ALM_TRY(names_new(cx, build->next->n + build->next->n / 4, &names));
    alm_build_put(build, version);
    for (size_t i = 0; i < build->next->n; i++)
        names_put(names, name_hash(alm_str_of(alm_catver_at(build->next, i)->table.name)), i);
    if (last_reference(&build->next->names->refs))
        free(build->next->names);
    build->next->names = names;
    return ALM_OK;
}

void alm_build_publish(alm_build *build)
{
    alm_storage *storage = build->st;
    (void)pthread_mutex_lock(&storage->publish_lock);
    alm_catver *old = storage->current;
    storage->current = build->next;
    /* behind the swap: who reads it finds the records by then */
    atomic_store(&storage->records_lsn,
                 storage->current->records == NULL ? 0 : storage->current->records->lsn);
    (void)pthread_mutex_unlock(&storage->publish_lock);
    atomic_fetch_add(&storage->head_bytes, build->head_delta);
    if (build->touched)
        alm_touch_wake(storage);
    build->next = NULL;
    alm_catver_release(old);
}

/* --------------------------------------------------------------------- snapshots */

alm_status alm_snapshot_acquire(alm_ctx *cx, alm_storage *storage, alm_snapshot **out)
{
    return alm_snapshot_new(cx, storage, alm_catver_current(storage), out);
}

alm_status alm_snapshot_new(alm_ctx *cx, alm_storage *storage, alm_catver *cat, alm_snapshot **out)
{
    alm_snapshot *snap = NULL;
    const alm_status status = alm_heap_bytes(cx, sizeof *snap, "a snapshot", &snap);
    if (status != ALM_OK) {
        alm_catver_release(cat);
        return status;
    }
    snap->refs = 1;
    snap->st = storage;
    snap->cat = cat;
    snap->acquired_ns = storage->io->mono_ns(storage->io);
    alm_reading_begin(&storage->decoded, &snap->reading);
    atomic_fetch_add(&storage->n_snapshots, 1);
    *out = snap;
    return ALM_OK;
}

alm_status alm_snapshot_narrow(alm_ctx *cx, const alm_snapshot *snap, const alm_table *table,
                               alm_snapshot **out)
{
    alm_catver *none = NULL;
    alm_version *bare = NULL;
    alm_build build;
    ALM_TRY(alm_catver_empty(cx, &none));
    none->lsn = snap->cat->lsn;
    none->records = alm_records_retain(snap->cat->records);
    alm_status status = alm_build_on(cx, snap->st, none, &build);
    alm_catver_release(none);
    ALM_TRY(status);
    if (table != NULL)
        status = alm_version_bare(cx, alm_version_of(table), &bare);
    if (bare != NULL && bare->detached != NULL) {
        alm_part_set_release(bare->detached);
        bare->detached = NULL;
    }
    if (bare != NULL) {
        status = alm_build_add(cx, &build, bare);
        if (status != ALM_OK)
            alm_version_release(bare);
    }
    if (status != ALM_OK) {
        alm_build_abandon(&build);
        return status;
    }
    return alm_snapshot_new(cx, snap->st, build.next, out);
}

alm_snapshot *alm_snapshot_retain(alm_snapshot *snap)
{
    const uint32_t before = atomic_fetch_add_explicit(&snap->refs, 1, memory_order_relaxed);
    ALM_ASSERT(before > 0);
    return snap;
}

void alm_snapshot_release(alm_snapshot *snap)
{
    if (snap == NULL || !last_reference(&snap->refs))
        return;
    alm_storage *storage = snap->st;
    alm_reading_end(&storage->decoded, &snap->reading);
    alm_catver_release(snap->cat);
    free(snap);
    atomic_fetch_sub(&storage->n_snapshots, 1);
}

uint64_t alm_snapshot_lsn(const alm_snapshot *snap)
{
    return snap->cat->lsn;
}

const alm_table *alm_snapshot_find(const alm_snapshot *snap, alm_str name)
{
    const int64_t pos = alm_catver_by_name(snap->cat, name);
    return pos < 0 ? NULL : &alm_catver_at(snap->cat, (size_t)pos)->table;
}

size_t alm_snapshot_count(const alm_snapshot *snap)
{
    return snap->cat->n;
}

const alm_table *alm_snapshot_at(const alm_snapshot *snap, size_t i)
{
    return &alm_catver_at(snap->cat, i)->table;
}

int32_t alm_table_col(const alm_table *table, alm_str name)
{
    const char first = name.len > 0 ? name.ptr[0] : 0;
    for (uint32_t i = 0; i < table->n_cols; i++) {
        /* All but the bit that tells small letters from capitals; most names differ here already. */
        if (((table->cols[i].name[0] ^ first) & 0xdf) == 0 &&
            alm_str_ieq(alm_str_of(table->cols[i].name), name))
            return (int32_t)i;
    }
    return -1;
}

alm_version *alm_storage_version(alm_storage *storage, uint64_t table_id)
{
    alm_catver *cat = alm_catver_current(storage);
    const int64_t pos = alm_catver_by_id(cat, table_id);
    alm_version *version = pos < 0 ? NULL : alm_version_retain(alm_catver_at(cat, (size_t)pos));
    alm_catver_release(cat);
    return version;
}
