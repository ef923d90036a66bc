/*
 * compact_pick.c - see compact_pick.h; the invariant of the groups is in compact.h.
 */
#include "storage/write/compact_pick.h"

#include <stdlib.h>

#include "storage/part/pack.h"

#define WHOLE_BYTES (INT64_C(256) << 20)
enum { COLD_SHARE = 8 }; /* a Parquet part is written anew for an eighth of its rows */

static int compact_pick_by_seq(const void *a, const void *b)
{
    const alm_part_ref *x, *y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static int64_t compact_pick_part_bytes(const alm_part_ref *part)
{
    int64_t bytes = part->file->bytes;
    for (uint32_t i = 0; i < part->n_overlays; i++)
        bytes += i == 0 || part->overlays[i].file != part->overlays[i - 1].file
                     ? part->overlays[i].file->bytes
                     : 0;
    return bytes;
}

/* Does `part`, which does not begin before `before` does, need a merge with it? */
static bool overlaps(const alm_part_ref *before, const alm_part_ref *part, bool dedup)
{
    if (part->min_ts != before->max_ts)
        return part->min_ts < before->max_ts;
    return dedup || before->seq > part->seq;
}

static bool compact_pick_touches(const alm_part_ref *a, const alm_part_ref *b)
{
    return a->min_ts <= b->max_ts && b->min_ts <= a->max_ts;
}

static bool in_group(const alm_part_ref *const *group, uint32_t n, const alm_part_ref *part)
{
    for (uint32_t i = 0; i < n; i++)
        if (group[i] == part)
            return true;
    return false;
}

/* Takes in parts that meet the group in time and whose seq lies between those of the group: their
 * place among rows of equal time would change. */
static uint32_t close_group(const alm_part_set *set, const alm_part_ref **group, uint32_t n)
{
    for (bool grown = true; grown;) {
        grown = false;
        uint64_t lo = UINT64_MAX, hi = 0;
        for (uint32_t i = 0; i < n; i++) {
            lo = ALM_MIN(lo, group[i]->seq);
            hi = ALM_MAX(hi, group[i]->seq);
        }
        for (uint32_t p = 0; p < set->n; p++) {
            const alm_part_ref *part = set->parts[p];
            if (part->seq < lo || part->seq > hi || in_group(group, n, part))
                continue;
            bool meets = false;
            for (uint32_t i = 0; i < n && !meets; i++)
                meets = compact_pick_touches(group[i], part);
            if (meets) {
                group[n++] = part;
                grown = true;
            }
        }
    }
    qsort(group, n, sizeof(*group), compact_pick_by_seq);
    return n;
}

/* The newest parts of a cluster (by seq), as long as each is at most twice what is newer and all fit
 * one part: their number falls with each merge. */
static uint32_t newest_run(const alm_part_ref **cluster, uint32_t n, int64_t rows_max)
{
    uint32_t run = 0;
    int64_t rows = 0;
    while (run < n) {
        const int64_t more = cluster[n - 1 - run]->rows;
        if ((run > 0 && more > 2 * rows) || rows + more > rows_max)
            break;
        rows += more;
        run++;
    }
    if (run < ALM_COMPACT_SMALL_MIN)
        return 0;
    memmove(cluster, cluster + n - run, run * sizeof(*cluster));
    return run;
}

uint32_t alm_compact_pick_overlap(const alm_part_set *set, bool dedup, const alm_storage_conf *conf,
                                  const alm_part_ref **group)
{
    for (uint32_t i = 0; i < set->n;) {
        uint32_t end = i + 1;
        const alm_part_ref *latest = set->parts[i]; /* that ends last */
        int64_t bytes = compact_pick_part_bytes(set->parts[i]);
        int64_t rows = set->parts[i]->rows;
        int64_t cold = alm_part_ref_is_parquet(set->parts[i]) ? rows : 0; /* rows in Parquet */
        for (; end < set->n && set->parts[end]->bucket == set->parts[i]->bucket &&
               overlaps(latest, set->parts[end], dedup);
             end++) {
            bytes += compact_pick_part_bytes(set->parts[end]);
            rows += set->parts[end]->rows;
            cold += alm_part_ref_is_parquet(set->parts[end]) ? set->parts[end]->rows : 0;
            if (set->parts[end]->max_ts >= latest->max_ts)
                latest = set->parts[end];
        }
        uint32_t count = 0;
        if (end - i > 1) {
            for (uint32_t k = i; k < end; k++)
                group[count++] = set->parts[k];
            qsort(group, count, sizeof(*group), compact_pick_by_seq);
            if (conf != NULL && (bytes > WHOLE_BYTES || rows - cold < cold / COLD_SHARE) &&
                (int64_t)set->overlap < ALM_MAX(conf->overlap_max / 2, 2))
                count = newest_run(group, count, conf->part_rows_max);
        }
        if (count > 0)
            return close_group(set, group, count);
        i = end;
    }
    return 0;
}

static uint32_t pick_small(const alm_part_set *set, bool timed, const alm_storage_conf *conf,
                           const alm_part_ref **group)
{
    const int64_t small = ALM_MAX(conf->part_rows_max / 4, 1);
    for (uint32_t i = 0; i < set->n; i++) {
        int64_t rows = 0, largest = 0;
        uint32_t count = 0;
        for (uint32_t k = i; k < set->n && set->parts[k]->rows <= small; k++) {
            const alm_part_ref *part = set->parts[k];
            if (alm_part_ref_is_parquet(part))
                break;
            if (timed && part->bucket != set->parts[i]->bucket)
                break;
            if (rows + part->rows > conf->part_rows_max)
                break;
            rows += part->rows;
            largest = ALM_MAX(largest, part->rows);
            group[count++] = part;
        }
        if (count < ALM_COMPACT_SMALL_MIN || largest > rows - largest)
            continue;
        if (!timed)
            return count; /* neighbours by seq */
        return close_group(set, group, count);
    }
    return 0;
}

uint32_t alm_compact_pick(const alm_part_set *set, bool timed, bool dedup,
                          const alm_storage_conf *conf, const alm_part_ref **group)
{
    const uint32_t n = timed ? alm_compact_pick_overlap(set, dedup, conf, group) : 0;
    return n > 0 ? n : pick_small(set, timed, conf, group);
}

/* Has a partition this part alone, and is it a file of its own, native and as it was written? */
static bool may_move(const alm_part_set *set, uint32_t i, const alm_storage_conf *conf)
{
    const alm_part_ref *part = set->parts[i];
    if (i + 1 == set->n || set->parts[i + 1]->bucket == part->bucket)
        return false;
    return (i == 0 || set->parts[i - 1]->bucket != part->bucket) &&
           !alm_part_ref_is_parquet(part) && part->n_overlays == 0 && part->file->pack == NULL &&
           part->file->bytes <= conf->shared_part_bytes_max;
}

uint32_t alm_compact_pick_lone(const alm_part_set *set, const alm_storage_conf *conf,
                               const alm_part_ref **group)
{
    uint32_t count = 0;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < set->n && bytes < ALM_PACK_BYTES_MAX; i++) {
        if (!may_move(set, i, conf))
            continue;
        bytes += set->parts[i]->file->bytes;
        group[count++] = set->parts[i];
    }
    return count >= (uint32_t)conf->shared_parts_min ? count : 0;
}
