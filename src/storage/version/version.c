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

alm_status alm_tab_new(alm_ctx *cx, alm_storage *st, uint64_t id, alm_tab **out)
{
    alm_tab *tab = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *tab, "a table", &tab));
    tab->refs = 1;
    tab->st = st;
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
static alm_status new_symbols(alm_ctx *cx, alm_storage *st, const alm_tab *tab, uint32_t col_id,
                              alm_symbols **out)
{
    const uint32_t id = atomic_fetch_add(&st->next_dict_id, 1);
    ALM_TRY(alm_symbols_new(cx, id, tab->id, col_id, out));
    alm_symbols_identify(*out, st->database_id);
    alm_symbols_join(*out, &st->symbols, cx->symbols);
    return ALM_OK;
}

static void free_schema(alm_schema *s)
{
    for (uint32_t i = 0; i < s->n_cols; i++)
        alm_symbols_release(s->symbols[i]);
    free(s);
}

/* --------------------------------------------------------------------- schema */

/* Ids ascend but for columns whose type was changed: insertion is cheap. */
static void order_by_id(alm_schema *s)
{
    for (uint32_t i = 0; i < s->n_cols; i++) {
        uint32_t at = i;
        for (; at > 0 && s->cols[s->by_id[at - 1]].id > s->cols[i].id; at--)
            s->by_id[at] = s->by_id[at - 1];
        s->by_id[at] = i;
    }
}

alm_status alm_schema_new(alm_ctx *cx, alm_storage *st, alm_tab *tab, const alm_column *cols,
                          uint32_t n_cols, struct alm_symbols *const *symbols,
                          const uint32_t *counts, alm_schema **out)
{
    alm_schema *s = NULL;
    const size_t fixed = (sizeof *s + 15) / 16 * 16;
    const size_t n = n_cols;
    ALM_TRY(alm_heap_bytes(cx,
                           fixed + n * (sizeof(alm_column) + sizeof(alm_dict) +
                                        sizeof(alm_symbols *) + sizeof(uint32_t)),
                           "the columns of a table", &s));
    s->refs = 1;
    s->n_cols = n_cols;
    s->cols = (alm_column *)((char *)s + fixed);
    s->dicts = (alm_dict *)(s->cols + n);
    s->symbols = (alm_symbols **)(s->dicts + n);
    s->by_id = (uint32_t *)(s->symbols + n);
    for (uint32_t i = 0; i < n_cols; i++) {
        s->cols[i] = cols[i];
        s->cols[i].dict = NULL;
        s->row_bytes += alm_type_width(cols[i].type);
        if (cols[i].type.id != ALM_T_SYMBOL)
            continue;
        if (symbols != NULL && symbols[i] != NULL) {
            s->symbols[i] = alm_symbols_retain(symbols[i]);
        } else {
            const alm_status e = new_symbols(cx, st, tab, cols[i].id, &s->symbols[i]);
            if (e != ALM_OK) {
                free_schema(s);
                return e;
            }
        }
        const uint32_t count = counts != NULL ? ALM_MAX(counts[i], 1U) : 1U;
        alm_symbols_view(s->symbols[i], count, &s->dicts[i]);
        s->cols[i].dict = &s->dicts[i];
        if (s->closed == NULL)
            s->closed = alm_symbols_lost(s->symbols[i]);
    }
    order_by_id(s);
    *out = s;
    return ALM_OK;
}

bool alm_schema_has_more(const alm_schema *s)
{
    bool any = false;
    for (uint32_t c = 0; c < s->n_cols && !any; c++)
        any = s->symbols[c] != NULL && alm_symbols_count(s->symbols[c]) > s->dicts[c].count;
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

alm_status alm_part_ref_new(alm_ctx *cx, alm_storage *st, const alm_part_ref *part,
                            alm_part_ref **out)
{
    alm_part_ref *p = NULL;
    ALM_ASSERT(part->file != NULL && part->rows > 0);
    ALM_TRY(alm_heap_bytes(cx, sizeof *p + part->n_overlays * sizeof(alm_overlay),
                           "the description of a part", &p));
    *p = *part;
    p->refs = 1;
    p->overlays = (alm_overlay *)(p + 1);
    if (part->n_overlays > 0)
        memcpy(p->overlays, part->overlays, part->n_overlays * sizeof *p->overlays);
    if (p->id == 0)
        p->id = atomic_fetch_add(&st->next_part_id, 1);
    if (p->seq == 0)
        p->seq = atomic_fetch_add(&st->next_seq, 1);
    (void)alm_file_retain(p->file);
    for (uint32_t i = 0; i < p->n_overlays; i++)
        (void)alm_file_retain(p->overlays[i].file);
    *out = p;
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

static int by_seq(const void *a, const void *b)
{
    const alm_part_ref *x = *(alm_part_ref *const *)a;
    const alm_part_ref *y = *(alm_part_ref *const *)b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_number(const void *a, const void *b)
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
    qsort(ends, set->n, sizeof *ends, by_number);
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

alm_status alm_part_set_new(alm_ctx *cx, alm_part_ref *const *parts, uint32_t n, bool by_time,
                            alm_part_set **out)
{
    alm_part_set *set = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *set + n * sizeof(alm_part_ref *), "a list of parts", &set));
    set->refs = 1;
    set->n = n;
    set->min_ts = INT64_MAX;
    set->max_ts = INT64_MIN;
    for (uint32_t i = 0; i < n; i++)
        set->parts[i] = parts[i];
    qsort((void *)set->parts, n, sizeof(alm_part_ref *), by_time ? by_time_then_seq : by_seq);
    for (uint32_t i = 0; i < n; i++) {
        const alm_part_ref *p = set->parts[i];
        set->rows += p->rows;
        set->min_ts = ALM_MIN(set->min_ts, p->min_ts);
        set->max_ts = ALM_MAX(set->max_ts, p->max_ts);
        set->bytes += p->file->bytes;
        for (uint32_t j = 0; j < p->n_overlays; j++)
            set->bytes += p->overlays[j].file->bytes;
    }
    const alm_status st = by_time ? count_overlap(cx, set) : ALM_OK;
    if (st != ALM_OK) {
        free(set);
        return st;
    }
    for (uint32_t i = 0; i < n; i++)
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

void alm_lanes_clear(alm_lane *lanes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
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

static uint64_t next_version(alm_tab *tab)
{
    return atomic_fetch_add_explicit(&tab->versions, 1, memory_order_relaxed) + 1;
}

/* All but the count of references, which other threads change. */
static void copy_fields(alm_version *to, const alm_version *from)
{
    const size_t skip = offsetof(alm_version, table);
    memcpy((char *)to + skip, (const char *)from + skip, sizeof *to - skip);
    to->refs = 1;
    to->table.version = next_version(to->tab);
}

alm_status alm_version_copy(alm_ctx *cx, const alm_version *v, uint32_t more_lanes,
                            alm_version **out)
{
    alm_version *c = NULL;
    alm_lane *lanes = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *c, "a table version", &c));
    alm_status st =
        alm_heap_bytes(cx, (v->n_lanes + more_lanes) * sizeof *lanes, "a table version", &lanes);
    if (st != ALM_OK) {
        free(c);
        return st;
    }
    copy_fields(c, v);
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
    for (uint32_t i = 0; i < v->n_lanes && st == ALM_OK; i++) {
        st = alm_lane_copy(cx, &v->lanes[i], 0, &lanes[i]);
        c->n_lanes += st == ALM_OK;
    }
    if (st != ALM_OK) {
        alm_version_release(c);
        return st;
    }
    *out = c;
    return ALM_OK;
}

alm_status alm_version_bare(alm_ctx *cx, const alm_version *v, alm_version **out)
{
    alm_version *c = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *c, "a table version", &c));
    copy_fields(c, v);
    c->lanes = NULL;
    c->n_lanes = c->n_frozen = 0;
    const alm_status st = alm_part_set_new(cx, NULL, 0, true, &c->parts);
    if (st != ALM_OK) {
        free(c);
        return st;
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

alm_version *alm_version_retain(alm_version *v)
{
    alm_refs_take(&v->refs);
    return v;
}

void alm_version_release(alm_version *v)
{
    if (v == NULL || !alm_refs_drop(&v->refs))
        return;
    alm_lanes_clear(v->lanes, v->n_lanes);
    free(v->lanes);
    alm_part_set_release(v->parts);
    alm_part_set_release(v->detached);
    alm_schema_release(v->schema);
    alm_tab_release(v->tab);
    alm_view_obj_release(v->view);
    alm_touched_release(v->touched);
    alm_comments_release(v->comments);
    free(v);
}

void alm_version_settle(alm_version *v)
{
    alm_table *t = &v->table;
    t->handle = (uint64_t)(uintptr_t)v;
    t->id = v->tab->id;
    t->version = next_version(v->tab);
    t->cols = v->schema->cols;
    t->n_cols = v->schema->n_cols;
    t->closed = v->schema->closed;
    t->view = v->view == NULL ? NULL : &v->view->v;
    t->min_ts = v->parts->min_ts;
    t->max_ts = v->parts->max_ts;
    v->head_rows = v->head_bytes = 0;
    for (uint32_t i = 0; i < v->n_lanes; i++) {
        const alm_lane *lane = &v->lanes[i];
        v->head_rows += lane->rows;
        t->min_ts = ALM_MIN(t->min_ts, lane->min_ts);
        t->max_ts = ALM_MAX(t->max_ts, lane->max_ts);
        for (uint32_t j = 0; j < lane->n_chunks; j++) {
            ALM_ASSERT(!lane->chunks[j].chunk->borrowed);
            v->head_bytes +=
                atomic_load_explicit(&lane->chunks[j].chunk->bytes, memory_order_relaxed);
        }
    }
    t->row_count = v->parts->rows + v->head_rows;
    if (t->ts_col < 0 && t->row_count > 0)
        t->min_ts = t->max_ts = 0;
}

uint64_t alm_table_lsn(const alm_table *table)
{
    return alm_version_of(table)->lsn;
}
