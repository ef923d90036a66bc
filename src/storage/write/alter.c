/*
 * alter.c - ALTER TABLE: columns and options of a table change with one log record, which holds the
 * whole new description. Readers keep the versions they have.
 *
 * Order       What takes columns away, moves them, or changes the keys of DEDUP waits for the writers
 *             and flushes the head first: chunks of rows in memory never differ from the table but by
 *             columns that were added behind. Rows that were made for the columns before are refused
 *             at their commit (alm_change_accepts).
 * DEDUP       Enabling it does not touch the rows there are, disabling it does not bring back any.
 *             Parts that overlap in time are merged before, so that no two of them have rows of one
 *             time: then only newer rows replace any, and none wait for being seen again.
 */
#include "storage/write/alter.h"

#include "storage/version/encode.h"
#include "storage/write/commit.h"
#include "storage/write/compact.h"
#include "storage/write/ddl.h"
#include "storage/write/expire.h"
#include "storage/write/flush.h"

/* ------------------------------------------------------------------ locks */

alm_status alm_table_hold(alm_ctx *cx, alm_storage *storage, alm_tab *tab, alm_held_table *held)
{
    *held = (alm_held_table){.st = storage, .tab = alm_tab_retain(tab)};
    ALM_TRY(alm_storage_writable(cx, storage));
    ALM_TRY(alm_tab_lock(cx, storage, tab, ALM_TAB_MAINT));
    held->maint = true;
    ALM_TRY(alm_tab_lock(cx, storage, tab, ALM_TAB_ALONE));
    held->alone = true;
    return alm_head_flush(cx, storage, tab->id);
}

void alm_table_let_go(alm_held_table *held)
{
    if (held->tab == NULL)
        return;
    if (held->alone)
        alm_tab_unlock(held->st, held->tab, ALM_TAB_ALONE);
    if (held->maint)
        alm_tab_unlock(held->st, held->tab, ALM_TAB_MAINT);
    alm_tab_release(held->tab);
    *held = (alm_held_table){0};
}

/* ---------------------------------------------------------------- preparing */

static bool same_options(const alm_table *a, const alm_table *b)
{
    return a->schema_version == b->schema_version && a->wal == b->wal && a->dedup == b->dedup &&
           a->ttl_hours == b->ttl_hours && a->max_uncommitted_rows == b->max_uncommitted_rows &&
           a->o3_max_lag_us == b->o3_max_lag_us;
}

alm_status alm_alter_prepare(alm_ctx *cx, alm_buf *ops, const alm_build *build,
                             const alm_alteration *alter, alm_version **out)
{
    const alm_table *was = alter->was;
    const alm_version *version = alm_build_find(build, was->id);
    if (version == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [table=%s]",
                        was->name);
    if (!same_options(&version->table, was))
        return alm_fail(cx, ALM_E_STALE, -1, "table '%s' was changed meanwhile", was->name);
    size_t n_symbols = 0;
    for (uint32_t i = 0; i < alter->to.n_cols; i++)
        n_symbols += alter->to.cols[i].id == 0 && alter->to.cols[i].type.id == ALM_T_SYMBOL;
    ALM_TRY(alm_symbols_room(cx, &build->st->symbols, n_symbols));
    alm_table to = alter->to;
    to.schema_version = version->table.schema_version + 1;
    alm_version *next = NULL;
    ALM_TRY(alm_change_alter(cx, build, version, &to, version->next_col_id, alter->made, &next));
    const alm_status status = alm_op_alter(cx, ops, next);
    if (status != ALM_OK) {
        alm_version_release(next);
        return status;
    }
    *out = next;
    return ALM_OK;
}

/* Nothing is in the head: only parts go. */
static alm_status cut_expired(alm_ctx *cx, alm_buf *ops, const alm_build *build,
                              alm_version *version)
{
    const alm_expiry expiry = alm_expiry_of(build->next, version);
    if (version->table.min_ts >= expiry.hide)
        return ALM_OK;
    ALM_TRY(alm_op_expire(cx, ops, version->table.id, expiry));
    return alm_version_cut(cx, version, expiry);
}

static alm_status prepare_alter(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const alm_alteration *alter = request->arg;
    alm_version *next = NULL;
    ALM_TRY(alm_alter_prepare(cx, &request->buf, build, alter, &next));
    alm_status status = alter->held ? cut_expired(cx, &request->buf, build, next) : ALM_OK;
    if (status == ALM_OK)
        status = alm_build_own(cx, build, alter->was->id);
    if (status != ALM_OK) {
        alm_version_release(next);
        return status;
    }
    alm_build_put(build, next);
    request->pieces[0] = (alm_wal_piece){request->buf.ptr, request->buf.len};
    request->n_pieces = 1;
    return ALM_OK;
}

static alm_status commit_alter(alm_ctx *cx, alm_storage *storage, alm_alteration *alter)
{
    alm_request request = {.prepare = prepare_alter, .arg = alter, .records = alter->records};
    return alm_commit(cx, storage, &request);
}

/* -------------------------------------------------------------------- alter */

static bool write_alter_same_keys(const alm_table *was, const alm_table_spec *spec)
{
    if (was->dedup != spec->dedup)
        return false;
    for (uint32_t i = 0; was->dedup && i < was->n_cols && i < spec->n_cols; i++)
        if (was->cols[i].dedup_key != spec->cols[i].dedup_key)
            return false;
    return true;
}

/* Do all columns stay where they are? */
static bool columns_stay(const alm_table *was, const alm_table_spec *spec)
{
    bool stay = spec->n_cols >= was->n_cols;
    for (uint32_t i = 0; i < was->n_cols && stay; i++)
        stay = spec->cols[i].id == was->cols[i].id;
    return stay;
}

static alm_status alter_held(alm_ctx *cx, alm_storage *storage, alm_alteration *alter,
                             bool new_keys)
{
    alm_held_table held;
    alm_status status = alm_table_hold(cx, storage, alm_version_of(alter->was)->tab, &held);
    if (status == ALM_OK && new_keys)
        status = alm_compact_overlaps(cx, storage, alter->was->id);
    alter->held = true;
    if (status == ALM_OK)
        status = commit_alter(cx, storage, alter);
    alm_table_let_go(&held);
    return status;
}

alm_status alm_table_alter(alm_ctx *cx, alm_storage *storage, const alm_table *was,
                           const alm_table_spec *spec)
{
    ALM_TRY(alm_columns_check(cx, spec->cols, spec->n_cols));
    const bool had_ts = was->ts_col >= 0, has_ts = spec->ts_col >= 0;
    if (had_ts != has_ts || spec->ts_col >= (int32_t)spec->n_cols ||
        (has_ts && spec->cols[spec->ts_col].id != was->cols[was->ts_col].id))
        return alm_fail(cx, ALM_E_ARG, -1,
                        "cannot remove designated timestamp column [table=%s, column=%s]",
                        was->name, had_ts ? was->cols[was->ts_col].name : "");
    alm_alteration alter = {.was = was, .to = *was, .records = spec->records};
    alter.to.cols = spec->cols;
    alter.to.n_cols = spec->n_cols;
    alter.to.ts_col = spec->ts_col;
    alter.to.wal = spec->wal;
    alter.to.dedup = spec->dedup;
    alter.to.ttl_hours = spec->ttl_hours;
    alter.to.max_uncommitted_rows = spec->max_uncommitted_rows;
    alter.to.o3_max_lag_us = spec->o3_max_lag_us;
    const bool keys_stay = write_alter_same_keys(was, spec);
    const int64_t least = alm_oldest_kept(was, spec->ttl_hours);
    const bool hidden =
        was->hides && spec->ttl_hours == was->ttl_hours && was->visible_from >= least;
    const bool expires = was->min_ts < least && !hidden;
    return columns_stay(was, spec) && keys_stay && !expires
               ? commit_alter(cx, storage, &alter)
               : alter_held(cx, storage, &alter, !keys_stay);
}
