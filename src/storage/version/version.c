/*
 * version.c - the counted objects a table version is made of: identity, schema, parts, lanes.
 */
#include "storage/version/version.h"

#include <stdlib.h>

#include "storage/dict/dict.h"
#include "storage/state.h"
#include "storage/version/comment.h"
#include "storage/version/head.h"
#include "storage/version/refs.h"
#include "storage/version/touched.h"
#include "storage/version/view.h"

/* ------------------------------------------------------------------- identity */

alm_status alm_tab_new(alm_ctx *cx, alm_storage *storage, uint64_t id, alm_tab **out)
{
    alm_tab *tab = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *tab, "a table", &tab));
    tab->refs = 1;
    tab->st = storage;
    (void)pthread_mutex_init(&tab->interning_lock, NULL);
    tab->id = id;
    *out = tab;
    return ALM_OK;
}

alm_tab *alm_tab_retain(alm_tab *tab)
{
    alm_refs_take(&tab->refs);
    return tab;
}

void alm_tab_release(alm_tab *tab)
{
    if (tab == NULL || !alm_refs_drop(&tab->refs))
        return;
    while (tab->texts != NULL) {
        tab_text *next = tab->texts->next;
        free(tab->texts);
        tab->texts = next;
    }
    ALM_ASSERT(tab->interning == 0);
    (void)pthread_mutex_destroy(&tab->interning_lock);
    alm_storage_table_dir_drop(tab->st, tab->id);
    free(tab);
}

alm_status alm_tab_text(alm_ctx *cx, alm_tab *tab, alm_str text, const char **out)
{
    tab_text *t = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *t + text.len + 1, "a name", &t));
    if (text.len > 0)
        memcpy(t->text, text.ptr, text.len);
    t->next = tab->texts;
    tab->texts = t;
    *out = t->text;
    return ALM_OK;
}

/* An empty dictionary. */
static alm_status new_symbols(alm_ctx *cx, alm_storage *storage, const alm_tab *tab,
                              uint32_t col_id, alm_symbols **out)
{
    const uint32_t id = atomic_fetch_add(&storage->next_dict_id, 1);
    ALM_TRY(alm_symbols_new(cx, id, tab->id, col_id, out));
    alm_symbols_identify(*out, storage->database_id);
    alm_symbols_join(*out, &storage->symbols, cx->symbols);
    return ALM_OK;
}

static void free_schema(alm_schema *schema)
{
    for (uint32_t i = 0; i < schema->n_cols; i++)
        alm_symbols_release(schema->symbols[i]);
    free(schema);
}

/* --------------------------------------------------------------------- schema */

/* Ids ascend but for columns whose type was changed: insertion is cheap. */
static void order_by_id(alm_schema *schema)
{
    for (uint32_t i = 0; i < schema->n_cols; i++) {
        uint32_t place = i;
        for (; place > 0 && schema->cols[schema->by_id[place - 1]].id > schema->cols[i].id; place--)
            schema->by_id[place] = schema->by_id[place - 1];
        schema->by_id[place] = i;
    }
}

alm_status alm_schema_new(alm_ctx *cx, alm_storage *storage, alm_tab *tab, const alm_column *cols,
                          uint32_t n_cols, struct alm_symbols *const *symbols,
                          const uint32_t *counts, alm_schema **out)
{
    alm_schema *schema = NULL;
    const size_t fixed = (sizeof *schema + 15) / 16 * 16;
    const size_t n = n_cols;
    ALM_TRY(alm_heap_bytes(cx,
                           fixed + n * (sizeof(alm_column) + sizeof(alm_dict) +
                                        sizeof(alm_symbols *) + sizeof(uint32_t)),
                           "the columns of a table", &schema));
    schema->refs = 1;
    schema->n_cols = n_cols;
    schema->cols = (alm_column *)((char *)schema + fixed);
    schema->dicts = (alm_dict *)(schema->cols + n);
    schema->symbols = (alm_symbols **)(schema->dicts + n);
    schema->by_id = (uint32_t *)(schema->symbols + n);
    for (uint32_t i = 0; i < n_cols; i++) {
        schema->cols[i] = cols[i];
        schema->cols[i].dict = NULL;
        schema->row_bytes += alm_type_width(cols[i].type);
        if (cols[i].type.id != ALM_T_SYMBOL)
            continue;
        if (symbols != NULL && symbols[i] != NULL) {
            schema->symbols[i] = alm_symbols_retain(symbols[i]);
        } else {
            const alm_status status =
                new_symbols(cx, storage, tab, cols[i].id, &schema->symbols[i]);
            if (status != ALM_OK) {
                free_schema(schema);
                return status;
            }
        }
        const uint32_t count = counts != NULL ? ALM_MAX(counts[i], 1U) : 1U;
        alm_symbols_view(schema->symbols[i], count, &schema->dicts[i]);
        schema->cols[i].dict = &schema->dicts[i];
        if (schema->closed == NULL)
            schema->closed = alm_symbols_lost(schema->symbols[i]);
    }
    order_by_id(schema);
    *out = schema;
    return ALM_OK;
}

bool alm_schema_has_more(const alm_schema *schema)
{
    bool any = false;
    for (uint32_t col = 0; col < schema->n_cols && !any; col++)
        any = schema->symbols[col] != NULL &&
              alm_symbols_count(schema->symbols[col]) > schema->dicts[col].count;
    return any;
}

alm_schema *alm_schema_retain(alm_schema *schema)
{
    alm_refs_take(&schema->refs);
    return schema;
}

void alm_schema_release(alm_schema *schema)
{
    if (schema != NULL && alm_refs_drop(&schema->refs))
        free_schema(schema);
}

int32_t alm_schema_find(const alm_schema *schema, uint32_t col_id)
{
    uint32_t lo = 0, hi = schema->n_cols;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (schema->cols[schema->by_id[mid]].id < col_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == schema->n_cols || schema->cols[schema->by_id[lo]].id != col_id)
        return -1;
    return (int32_t)schema->by_id[lo];
}

/* ---------------------------------------------------------------------- parts */

alm_status alm_part_ref_new(alm_ctx *cx, alm_storage *storage, const alm_part_ref *part,
                            alm_part_ref **out)
{
    alm_part_ref *ref = NULL;
    ALM_ASSERT(part->file != NULL && part->rows > 0);
    ALM_TRY(alm_heap_bytes(cx, sizeof *ref + part->n_overlays * sizeof(alm_overlay),
                           "the description of a part", &ref));
    *ref = *part;
    ref->refs = 1;
    ref->overlays = (alm_overlay *)(ref + 1);
    if (part->n_overlays > 0)
        memcpy(ref->overlays, part->overlays, part->n_overlays * sizeof *ref->overlays);
    if (ref->id == 0)
        ref->id = atomic_fetch_add(&storage->next_part_id, 1);
    if (ref->seq == 0)
        ref->seq = atomic_fetch_add(&storage->next_seq, 1);
    (void)alm_file_retain(ref->file);
    for (uint32_t i = 0; i < ref->n_overlays; i++)
        (void)alm_file_retain(ref->overlays[i].file);
    *out = ref;
    return ALM_OK;
}

alm_part_ref *alm_part_ref_retain(alm_part_ref *part)
{
    alm_refs_take(&part->refs);
    return part;
}

void alm_part_ref_release(alm_part_ref *part)
{
    if (part == NULL || !alm_refs_drop(&part->refs))
        return;
    for (uint32_t i = 0; i < part->n_overlays; i++)
        alm_file_release(part->overlays[i].file);
    alm_file_release(part->file);
    free(part);
}

alm_file *alm_part_ref_file(const alm_part_ref *part, uint32_t col_id)
{
    for (uint32_t i = 0; i < part->n_overlays; i++)
        if (part->overlays[i].col_id == col_id)
            return part->overlays[i].file;
    return part->file;
}

static int by_time_then_seq(const void *a, const void *b)
{
    const alm_part_ref *x = *(alm_part_ref *const *)a;
    const alm_part_ref *y = *(alm_part_ref *const *)b;
    if (x->min_ts != y->min_ts)
        return x->min_ts < y->min_ts ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int version_by_seq(const void *a, const void *b)
{
    const alm_part_ref *x = *(alm_part_ref *const *)a;
    const alm_part_ref *y = *(alm_part_ref *const *)b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int version_by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Most parts that are open at one time: sweep over the starts (sorted already) and the ends. */
static alm_status count_overlap(alm_ctx *cx, alm_part_set *set)
{
    int64_t *ends = NULL;
    ALM_TRY(alm_heap_bytes(cx, set->n * sizeof *ends, "a list of parts", &ends));
    for (uint32_t i = 0; i < set->n; i++)
        ends[i] = set->parts[i]->max_ts;
    qsort(ends, set->n, sizeof *ends, version_by_number);
    uint32_t open = 0, ended = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        while (ended < i && ends[ended] < set->parts[i]->min_ts) {
            ended++;
            open--;
        }
        open++;
        set->overlap = ALM_MAX(set->overlap, open);
    }
    free(ends);
    return ALM_OK;
}

alm_status alm_part_set_new(alm_ctx *cx, alm_part_ref *const *parts, uint32_t n_parts, bool by_time,
                            alm_part_set **out)
{
    alm_part_set *set = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *set + n_parts * sizeof(alm_part_ref *), "a list of parts",
                           &set));
    set->refs = 1;
    set->n = n_parts;
    set->min_ts = INT64_MAX;
    set->max_ts = INT64_MIN;
    for (uint32_t i = 0; i < n_parts; i++)
        set->parts[i] = parts[i];
    qsort((void *)set->parts, n_parts, sizeof(alm_part_ref *),
          by_time ? by_time_then_seq : version_by_seq);
    for (uint32_t i = 0; i < n_parts; i++) {
        const alm_part_ref *part = set->parts[i];
        set->rows += part->rows;
        set->min_ts = ALM_MIN(set->min_ts, part->min_ts);
        set->max_ts = ALM_MAX(set->max_ts, part->max_ts);
        set->bytes += part->file->bytes;
        for (uint32_t j = 0; j < part->n_overlays; j++)
            set->bytes += part->overlays[j].file->bytes;
    }
    const alm_status status = by_time ? count_overlap(cx, set) : ALM_OK;
    if (status != ALM_OK) {
        free(set);
        return status;
    }
    for (uint32_t i = 0; i < n_parts; i++)
        (void)alm_part_ref_retain(set->parts[i]);
    *out = set;
    return ALM_OK;
}

alm_part_set *alm_part_set_retain(alm_part_set *set)
{
    alm_refs_take(&set->refs);
    return set;
}

void alm_part_set_release(alm_part_set *set)
{
    if (set == NULL || !alm_refs_drop(&set->refs))
        return;
    for (uint32_t i = 0; i < set->n; i++)
        alm_part_ref_release(set->parts[i]);
    free(set);
}

/* -------------------------------------------------------------------- version */

void alm_lanes_clear(alm_lane *lanes, uint32_t n_lanes)
{
    for (uint32_t i = 0; i < n_lanes; i++) {
        for (uint32_t j = 0; j < lanes[i].n_chunks; j++)
            alm_chunk_release(lanes[i].chunks[j].chunk);
        free(lanes[i].chunks);
        lanes[i] = (alm_lane){0};
    }
}

alm_status alm_lane_copy(alm_ctx *cx, const alm_lane *lane, uint32_t more_chunks, alm_lane *out)
{
    alm_lane_chunk *chunks = NULL;
    ALM_TRY(alm_heap_bytes(cx, (lane->n_chunks + more_chunks) * sizeof *chunks, "a list of chunks",
                           &chunks));
    *out = *lane;
    out->chunks = chunks;
    for (uint32_t i = 0; i < lane->n_chunks; i++) {
        chunks[i] = lane->chunks[i];
        (void)alm_chunk_retain(chunks[i].chunk);
    }
    return ALM_OK;
}

static uint64_t storage_next_version(alm_tab *tab)
{
    return atomic_fetch_add_explicit(&tab->versions, 1, memory_order_relaxed) + 1;
}

/* All but the count of references, which other threads change. */
static void copy_fields(alm_version *to, const alm_version *from)
{
    const size_t skip = offsetof(alm_version, table);
    memcpy((char *)to + skip, (const char *)from + skip, sizeof *to - skip);
    to->refs = 1;
    to->table.version = storage_next_version(to->tab);
}

alm_status alm_version_copy(alm_ctx *cx, const alm_version *version, uint32_t more_lanes,
                            alm_version **out)
{
    alm_version *c = NULL;
    alm_lane *lanes = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *c, "a table version", &c));
    alm_status status = alm_heap_bytes(cx, (version->n_lanes + more_lanes) * sizeof *lanes,
                                       "a table version", &lanes);
    if (status != ALM_OK) {
        free(c);
        return status;
    }
    copy_fields(c, version);
    c->lanes = lanes;
    c->n_lanes = 0;
    (void)alm_tab_retain(c->tab);
    (void)alm_schema_retain(c->schema);
    (void)alm_part_set_retain(c->parts);
    if (c->detached != NULL)
        (void)alm_part_set_retain(c->detached);
    (void)alm_view_obj_retain(c->view);
    (void)alm_touched_retain(c->touched);
    (void)alm_comments_retain(c->comments);
    for (uint32_t i = 0; i < version->n_lanes && status == ALM_OK; i++) {
        status = alm_lane_copy(cx, &version->lanes[i], 0, &lanes[i]);
        c->n_lanes += status == ALM_OK;
    }
    if (status != ALM_OK) {
        alm_version_release(c);
        return status;
    }
    *out = c;
    return ALM_OK;
}

alm_status alm_version_bare(alm_ctx *cx, const alm_version *version, alm_version **out)
{
    alm_version *c = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *c, "a table version", &c));
    copy_fields(c, version);
    c->lanes = NULL;
    c->n_lanes = c->n_frozen = 0;
    const alm_status status = alm_part_set_new(cx, NULL, 0, true, &c->parts);
    if (status != ALM_OK) {
        free(c);
        return status;
    }
    (void)alm_tab_retain(c->tab);
    (void)alm_schema_retain(c->schema);
    if (c->detached != NULL)
        (void)alm_part_set_retain(c->detached);
    (void)alm_view_obj_retain(c->view);
    (void)alm_touched_retain(c->touched);
    (void)alm_comments_retain(c->comments);
    alm_version_settle(c);
    *out = c;
    return ALM_OK;
}

alm_version *alm_version_retain(alm_version *version)
{
    alm_refs_take(&version->refs);
    return version;
}

void alm_version_release(alm_version *version)
{
    if (version == NULL || !alm_refs_drop(&version->refs))
        return;
    alm_lanes_clear(version->lanes, version->n_lanes);
    free(version->lanes);
    alm_part_set_release(version->parts);
    alm_part_set_release(version->detached);
    alm_schema_release(version->schema);
    alm_tab_release(version->tab);
    alm_view_obj_release(version->view);
    alm_touched_release(version->touched);
    alm_comments_release(version->comments);
    free(version);
}

void alm_version_settle(alm_version *version)
{
    alm_table *table = &version->table;
    table->handle = (uint64_t)(uintptr_t)version;
    table->id = version->tab->id;
    table->version = storage_next_version(version->tab);
    table->cols = version->schema->cols;
    table->n_cols = version->schema->n_cols;
    table->closed = version->schema->closed;
    table->view = version->view == NULL ? NULL : &version->view->v;
    table->min_ts = version->parts->min_ts;
    table->max_ts = version->parts->max_ts;
    version->head_rows = version->head_bytes = 0;
    for (uint32_t i = 0; i < version->n_lanes; i++) {
        const alm_lane *lane = &version->lanes[i];
        version->head_rows += lane->rows;
        table->min_ts = ALM_MIN(table->min_ts, lane->min_ts);
        table->max_ts = ALM_MAX(table->max_ts, lane->max_ts);
        for (uint32_t j = 0; j < lane->n_chunks; j++) {
            ALM_ASSERT(!lane->chunks[j].chunk->borrowed);
            version->head_bytes +=
                atomic_load_explicit(&lane->chunks[j].chunk->bytes, memory_order_relaxed);
        }
    }
    table->row_count = version->parts->rows + version->head_rows;
    if (table->ts_col < 0 && table->row_count > 0)
        table->min_ts = table->max_ts = 0;
}

uint64_t alm_table_lsn(const alm_table *table)
{
    return alm_version_of(table)->lsn;
}
