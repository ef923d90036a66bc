/*
 * detach.c - DETACH and ATTACH PARTITION: the parts of a partition move between what is read of a
 * table and what is only kept. One record with their ids; no file is touched.
 *
 * Order       Parts that overlap are merged before they are detached, and attached only where the
 *             table has no rows: so they meet no others in time, and their place in the order of
 *             insertion does not matter.
 */
#include <stdlib.h>

#include "storage/log/payload.h"
#include "storage/version/touched.h"
#include "storage/version/view.h"
#include "storage/write/alter.h"
#include "storage/write/commit.h"
#include "storage/write/compact.h"

/* --------------------------------------------------------------------- change */

static bool is_one_of(const uint64_t *ids, uint32_t n_ids, uint64_t id)
{
    for (uint32_t i = 0; i < n_ids; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Parts of a set, sorted by whether they are listed: those that are not, then the others. */
static uint32_t partition_set(const alm_part_set *set, const uint64_t *ids, uint32_t n,
                              alm_part_ref **stay, uint32_t *n_stay, alm_part_ref **parts)
{
    uint32_t n_go = 0;
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        if (is_one_of(ids, n, set->parts[i]->id))
            parts[n_go++] = set->parts[i];
        else
            stay[(*n_stay)++] = set->parts[i];
    }
    return n_go;
}

static alm_status moved_sets(alm_ctx *cx, const alm_version *version, alm_partition_move move,
                             const uint64_t *ids, uint32_t n, alm_part_set **parts,
                             alm_part_set **detached)
{
    const size_t room =
        version->parts->n + (version->detached == NULL ? 0 : version->detached->n) + 1;
    const bool timed = version->table.ts_col >= 0;
    alm_part_ref **lists = NULL;
    ALM_TRY(alm_heap_bytes(cx, 3 * room * sizeof *lists, "a list of parts", &lists));
    alm_part_ref **in = lists, **out = lists + room, **refs = lists + 2 * room;
    uint32_t n_in = 0, n_out = 0, n_go = 0;
    if (move != ALM_PARTITION_ATTACH)
        n_go += partition_set(version->parts, ids, n, in, &n_in, refs);
    else
        (void)partition_set(version->parts, NULL, 0, in, &n_in, refs);
    if (move != ALM_PARTITION_DETACH)
        n_go += partition_set(version->detached, ids, n, out, &n_out, refs + n_go);
    else
        (void)partition_set(version->detached, NULL, 0, out, &n_out, refs);
    for (uint32_t i = 0; i < n_go && move == ALM_PARTITION_ATTACH; i++)
        in[n_in++] = refs[i];
    for (uint32_t i = 0; i < n_go && move == ALM_PARTITION_DETACH; i++)
        out[n_out++] = refs[i];
    alm_status status = ALM_OK;
    if (n_go != n)
        status = alm_fail(cx, ALM_E_CONFLICT, -1, "partitions were changed meanwhile [table=%s]",
                          version->table.name);
    if (status == ALM_OK)
        status = alm_part_set_new(cx, in, n_in, timed, parts);
    if (status == ALM_OK && n_out > 0)
        status = alm_part_set_new(cx, out, n_out, timed, detached);
    free((void *)lists);
    return status;
}

/* Rows that come or go, for what follows the table. */
static alm_status touch_moved(alm_ctx *cx, alm_build *build, alm_version *version,
                              const uint64_t *ids, uint32_t n)
{
    const alm_part_set *const sets[] = {version->parts, version->detached};
    for (size_t s = 0; version->touched != NULL && s < ALM_COUNT(sets); s++) {
        for (uint32_t i = 0; sets[s] != NULL && i < sets[s]->n; i++) {
            const alm_part_ref *part = sets[s]->parts[i];
            const alm_scan_range range = {part->min_ts, part->max_ts};
            if (is_one_of(ids, n, part->id))
                ALM_TRY(alm_version_touch(cx, build, version, &range, 1, NULL));
        }
    }
    return ALM_OK;
}

alm_status alm_change_move(alm_ctx *cx, alm_build *build, uint64_t table_id,
                           alm_partition_move move, const uint64_t *ids, uint32_t n)
{
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                        (unsigned long long)table_id);
    alm_part_set *parts = NULL, *detached = NULL;
    alm_version *next = NULL;
    alm_status status = moved_sets(cx, version, move, ids, n, &parts, &detached);
    if (status == ALM_OK)
        status = alm_version_copy(cx, version, 0, &next);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, table_id);
    if (status != ALM_OK) {
        alm_part_set_release(parts);
        alm_part_set_release(detached);
        alm_version_release(next);
        return status;
    }
    status = touch_moved(cx, build, next, ids, n);
    if (status != ALM_OK) {
        alm_part_set_release(parts);
        alm_part_set_release(detached);
        alm_version_release(next);
        return status;
    }
    alm_part_set_release(next->parts);
    alm_part_set_release(next->detached);
    next->parts = parts;
    next->detached = detached;
    next->lsn = build->lsn;
    alm_version_settle(next);
    alm_build_put(build, next);
    return ALM_OK;
}

/* -------------------------------------------------------------------- request */

typedef struct move_arg {
    uint64_t table_id;
    alm_partition_move move;
    uint64_t *ids;
    uint32_t n;
} move_arg;

static alm_status prepare_move(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const move_arg *arg = request->arg;
    size_t mark;
    ALM_TRY(alm_op_begin(cx, &request->buf, ALM_OP_MOVE, &mark));
    ALM_TRY(alm_put_u64(cx, &request->buf, arg->table_id));
    ALM_TRY(alm_put_u32(cx, &request->buf, (uint32_t)arg->move));
    ALM_TRY(alm_put_u32(cx, &request->buf, arg->n));
    for (uint32_t i = 0; i < arg->n; i++)
        ALM_TRY(alm_put_u64(cx, &request->buf, arg->ids[i]));
    ALM_TRY(alm_op_end(cx, &request->buf, mark));
    request->pieces[0] = (alm_wal_piece){request->buf.ptr, request->buf.len};
    request->n_pieces = 1;
    return alm_change_move(cx, build, arg->table_id, arg->move, arg->ids, arg->n);
}

static uint32_t ids_of(const alm_part_set *set, int64_t start, uint64_t *ids)
{
    uint32_t count = 0;
    for (uint32_t i = 0; set != NULL && i < set->n; i++)
        if (set->parts[i]->bucket == start)
            ids[count++] = set->parts[i]->id;
    return count;
}

static alm_status detach_refuse(alm_ctx *cx, const alm_version *version, alm_partition_move move,
                                int64_t start, const char *why)
{
    char name[48];
    alm_partition_name(version->table.partition, alm_version_is_ns(version), start, name,
                       sizeof name);
    return alm_fail(cx, ALM_E_ARG, -1, "could not %s partition [table=%s, partition=%s]: %s",
                    move == ALM_PARTITION_ATTACH ? "attach" : "detach", version->table.name, name,
                    why);
}

/* The parts of one partition that move. */
static alm_status detach_collect(alm_ctx *cx, const alm_version *version, move_arg *arg,
                                 int64_t start)
{
    uint64_t *at = arg->ids + arg->n;
    const uint32_t n_in = ids_of(version->parts, start, at);
    const uint32_t n_out = ids_of(version->detached, start, at + n_in);
    if (arg->move == ALM_PARTITION_FORGET) {
        arg->n += n_in + n_out;
        return ALM_OK;
    }
    if (arg->move == ALM_PARTITION_DETACH) {
        arg->n += n_in;
        if (n_out > 0)
            return detach_refuse(cx, version, arg->move, start, "it is detached already");
        return n_in > 0 ? ALM_OK
                        : detach_refuse(cx, version, arg->move, start, "it does not exist");
    }
    if (n_in > 0)
        return detach_refuse(cx, version, arg->move, start, "the table has rows of this partition");
    arg->n += n_out;
    return n_out > 0 ? ALM_OK : detach_refuse(cx, version, arg->move, start, "it is not detached");
}

static alm_status move_held(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                            alm_partition_move move, const int64_t *starts, uint32_t n)
{
    move_arg arg = {.table_id = version->table.id, .move = move};
    const size_t room =
        version->parts->n + (version->detached == NULL ? 0 : version->detached->n) + 1;
    ALM_TRY(alm_heap_bytes(cx, room * sizeof *arg.ids, "a list of parts", &arg.ids));
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < n && status == ALM_OK; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i && !again; k++)
            again = starts[k] == starts[i];
        if (!again)
            status = detach_collect(cx, version, &arg, starts[i]);
    }
    if (status == ALM_OK && arg.n > 0) {
        alm_request request = {.prepare = prepare_move, .arg = &arg};
        status = alm_commit(cx, storage, &request);
    }
    free(arg.ids);
    return status;
}

alm_status alm_table_move_partitions(alm_ctx *cx, alm_storage *storage, const alm_table *table,
                                     alm_partition_move move, const int64_t *starts, uint32_t n)
{
    alm_held_table held;
    if (n == 0)
        return ALM_OK;
    alm_status status = alm_table_hold(cx, storage, alm_version_of(table)->tab, &held);
    if (status == ALM_OK && move == ALM_PARTITION_DETACH)
        status = alm_compact_overlaps(cx, storage, table->id);
    alm_version *version = status == ALM_OK ? alm_storage_version(storage, table->id) : NULL;
    if (version != NULL)
        status = move_held(cx, storage, version, move, starts, n);
    alm_version_release(version);
    alm_table_let_go(&held);
    return status;
}
