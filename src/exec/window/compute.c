/*
 * compute.c - window functions over rows in memory. See window.h.
 *
 * Calls with one PARTITION BY and ORDER BY are computed together: rows are dealt to partitions, the
 * partitions put in order, then call by call. Partitions are cut into ranges of about the same number
 * of rows, which threads take; the work on a partition is that of one thread, so that results do not
 * depend on how many there are.
 */
#include "exec/data/keymap.h"
#include "exec/data/wide.h"
#include "exec/window/window.h"
#include "type/value.h"

/* Enough for all threads, none too small to be worth it. */
enum { RANGE_ROWS_MIN = 16384, RANGES_MAX = 64 };

typedef struct window_slot {
    alm_pool pool;     /* of one range of partitions */
    alm_arena scratch; /* the same */
    alm_arena lasting; /* texts of results */
    bool ready;
} window_slot;

struct alm_window_slots {
    window_slot *slot;
    uint32_t n;
    alm_arena lasting; /* texts of results of the calling thread */
};

/* One order, and the call under way. */
typedef struct window_run {
    alm_pool *pool;
    alm_pipe *pipe;
    alm_workers *workers;
    const alm_rows *rows;
    uint32_t n;
    window_slot *slot;
    alm_window_order o;
    uint32_t lo[RANGES_MAX + 1], n_ranges; /* first partition of each range */
    alm_window_result *r;
    uint8_t *first; /* DISTINCT: rows, by position, that count */
    uint32_t *prev; /* the same where frames leave rows behind: as alm_window_rows has it */
    char *out;      /* in input order */
} window_run;

/* ----------------------------------------------------------------------------------- ranges */

static void cut_ranges(window_run *w)
{
    const alm_window_order *o = &w->o;
    const uint32_t least = ALM_MAX((uint32_t)RANGE_ROWS_MIN, w->n / (RANGES_MAX - 1) + 1);
    w->n_ranges = 0;
    for (uint32_t p = 0; p < o->n_parts;) {
        const uint32_t from = o->start[p];
        w->lo[w->n_ranges++] = p;
        while (p < o->n_parts && o->start[p] - from < least)
            p++;
    }
    w->lo[w->n_ranges] = o->n_parts;
}

/* Range i for a thread, whose scratch memory is as new. */
static alm_status range_open(alm_ctx *cx, window_run *w, uint32_t slot_no, uint32_t i,
                             alm_window_slice *out)
{
    window_slot *s = &w->slot[slot_no];
    if (!s->ready) {
        alm_pool_init(&s->pool, cx->mem, w->pool->who);
        alm_arena_init(&s->scratch, cx->mem);
        alm_arena_init(&s->lasting, cx->mem);
        s->ready = true;
    }
    alm_arena_reset(&s->scratch);
    *out = (alm_window_slice){.rows = w->rows,
                              .order = &w->o,
                              .lo = w->lo[i],
                              .hi = w->lo[i + 1],
                              .from = w->o.start[w->lo[i]],
                              .to = w->o.start[w->lo[i + 1]],
                              .arena = &s->scratch};
    return alm_check(cx);
}

static alm_status arrange_range(alm_ctx *cx, void *arg, uint32_t slot_no, uint32_t i)
{
    alm_window_slice s;
    ALM_TRY(range_open(cx, arg, slot_no, i, &s));
    return alm_window_arrange(cx, &s);
}

/* ------------------------------------------------------------------------- input of a call */

static bool needs_frames(const alm_window_call *call)
{
    return call->fn->kind == ALM_FN_AGGREGATE || call->fn->window->frame;
}

static bool needs_peers(const alm_window_call *call)
{
    if (!needs_frames(call))
        return call->fn->window->ties;
    return call->frame != ALM_FRAME_ROWS || call->exclude == ALM_EXCLUDE_GROUP ||
           call->exclude == ALM_EXCLUDE_TIES;
}

/* What a call needs of the positions of a range. */
typedef struct range_input {
    uint32_t *lo, *hi; /* frames */
    alm_vec *arg;
    const uint8_t *pass;     /* rows that count: FILTER, DISTINCT; NULL: all */
    uint32_t *some, *before; /* the same for value functions: room for a partition, NULL: all */
} range_input;

/* IGNORE NULLS: rows with a value, of those that pass. */
static alm_status pass_values(alm_ctx *cx, const window_run *w, const alm_window_slice *s,
                              range_input *in)
{
    const uint32_t n = s->to - s->from;
    alm_vec v;
    uint8_t *some = NULL;
    ALM_TRY(alm_window_column(cx, s, w->r->cols.arg[0], &v));
    ALM_TRY(alm_arena_bytes(cx, s->arena, (size_t)n + 1, &some));
    (void)alm_vec_null_mask(&v, n, some);
    for (uint32_t i = 0; i < n; i++)
        some[i] = !some[i] && (in->pass == NULL || in->pass[i]);
    in->pass = some;
    return ALM_OK;
}

static alm_status read_range(alm_ctx *cx, const window_run *w, const alm_window_slice *s,
                             range_input *in)
{
    const alm_window_call *call = w->r->call;
    const bool agg = call->fn->kind == ALM_FN_AGGREGATE;
    const size_t n = (size_t)(s->to - s->from) + 1;
    if (needs_frames(call)) {
        ALM_TRY(alm_arena_bytes(cx, s->arena, n * sizeof *in->lo, &in->lo));
        ALM_TRY(alm_arena_bytes(cx, s->arena, n * sizeof *in->hi, &in->hi));
        ALM_TRY(alm_window_frames(cx, s, call, &w->r->cols, in->lo, in->hi));
    }
    ALM_TRY(ALM_NEWN(cx, s->arena, call->n_args + 1, &in->arg));
    for (uint32_t i = 0; agg && i < call->n_args; i++)
        ALM_TRY(alm_window_column(cx, s, w->r->cols.arg[i], &in->arg[i]));
    if (w->first != NULL) {
        in->pass = w->first + s->from;
    } else if (w->r->cols.filter >= 0) {
        alm_vec v;
        ALM_TRY(alm_window_column(cx, s, (uint32_t)w->r->cols.filter, &v));
        in->pass = v.data;
    }
    if (!agg && call->ignore_nulls && call->n_args > 0)
        ALM_TRY(pass_values(cx, w, s, in));
    if (agg || in->pass == NULL)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, s->arena, n * sizeof *in->some, &in->some));
    return alm_arena_bytes(cx, s->arena, n * sizeof *in->before, &in->before);
}

/* -------------------------------------------------------------------------------- computing */

/* Which rows of a partition count, and where they are. */
static void list_some(const uint8_t *pass, uint32_t n, uint32_t *some, uint32_t *before)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        before[i] = k;
        some[k] = i;
        k += pass[i] != 0;
    }
    before[n] = k;
}

static void compute_values(const alm_call *call, const alm_window_rows *part, const window_run *w,
                           uint32_t start, char *out)
{
    const alm_window_ops *ops = call->fn->window;
    const uint32_t *perm = w->o.perm;
    if (ops->rank != NULL) {
        ops->rank(call, part, out);
        return;
    }
    uint32_t *at = (uint32_t *)(void *)out;
    ops->pick(call, part, at);
    for (uint32_t i = 0; i < part->n; i++) {
        const uint32_t pos = start + at[i];
        at[i] = at[i] == ALM_WINDOW_NONE ? w->n : perm != NULL ? perm[pos] : pos;
    }
}

/* Results of the partitions of a range, in window order. */
static alm_status compute_partitions(alm_ctx *cx, const window_run *w, const alm_window_slice *s,
                                     const range_input *in, alm_window_agg *agg, char *out)
{
    const alm_window_call *c = w->r->call;
    const alm_window_order *o = &w->o;
    const alm_call call = {.cx = cx,
                           .fn = c->fn,
                           .data = c->data,
                           .result = c->type,
                           .pos = c->pos,
                           .argc = c->n_args};
    alm_vec *args = NULL;
    ALM_TRY(ALM_NEWN(cx, s->arena, c->n_args + 1, &args));
    for (uint32_t p = s->lo; p < s->hi; p++) {
        const uint32_t start = o->start[p], at = start - s->from;
        const alm_window_rows part = {.n = o->start[p + 1] - start,
                                      .lo = in->lo != NULL ? in->lo + at : NULL,
                                      .hi = in->hi != NULL ? in->hi + at : NULL,
                                      .peer_lo = o->peer_lo != NULL ? o->peer_lo + start : NULL,
                                      .peer_hi = o->peer_hi != NULL ? o->peer_hi + start : NULL,
                                      .exclude = c->exclude,
                                      .some = in->some,
                                      .before = in->before,
                                      .prev = w->prev != NULL ? w->prev + start : NULL};
        const uint8_t *pass = in->pass != NULL ? in->pass + at : NULL;
        char *to = out + (size_t)at * w->r->width;
        if (part.n == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (agg == NULL) {
            if (in->some != NULL)
                list_some(pass, part.n, in->some, in->before);
            compute_values(&call, &part, w, start, to);
            continue;
        }
        for (uint32_t i = 0; i < c->n_args; i++) {
            args[i] = in->arg[i];
            args[i].data = (char *)in->arg[i].data + (size_t)at * in->arg[i].width;
        }
        ALM_TRY(alm_window_agg_run(cx, agg, &part, pass, args, to));
    }
    return ALM_OK;
}

#define DEFINE_SPREAD(bits, type)                                                                  \
    static void spread_##bits(const type *restrict from, const uint32_t *restrict perm,            \
                              uint32_t n, type *restrict to)                                       \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to[perm[i]] = from[i];                                                                 \
    }
DEFINE_SPREAD(8, uint8_t)
DEFINE_SPREAD(16, uint16_t)
DEFINE_SPREAD(32, uint32_t)
DEFINE_SPREAD(64, uint64_t)
DEFINE_SPREAD(128, alm_wide16)
DEFINE_SPREAD(256, alm_wide32)

/* From window order to input order. */
static void spread(const void *from, uint8_t width, const uint32_t *perm, uint32_t n, void *to)
{
    if (width == 1)
        spread_8(from, perm, n, to);
    else if (width == 2)
        spread_16(from, perm, n, to);
    else if (width == 4)
        spread_32(from, perm, n, to);
    else if (width == 8)
        spread_64(from, perm, n, to);
    else if (width == 16)
        spread_128(from, perm, n, to);
    else
        spread_256(from, perm, n, to);
}

static alm_status compute_range(alm_ctx *cx, void *arg, uint32_t slot_no, uint32_t i)
{
    window_run *w = arg;
    window_slot *slot = &w->slot[slot_no];
    alm_window_slice s;
    alm_window_agg *agg = NULL;
    range_input in = {0};
    char *out = NULL;
    ALM_TRY(range_open(cx, w, slot_no, i, &s));
    if (w->r->call->fn->kind == ALM_FN_AGGREGATE)
        ALM_TRY(alm_window_agg_new(cx, &slot->pool, w->r->call, &slot->lasting, w->r->width, &agg));
    const uint32_t n = s.to - s.from;
    alm_status st = read_range(cx, w, &s, &in);
    if (st == ALM_OK && w->o.perm != NULL)
        st = alm_arena_bytes(cx, s.arena, ((size_t)n + 1) * w->r->width, &out);
    else
        out = w->out + (size_t)s.from * w->r->width;
    if (st == ALM_OK)
        st = compute_partitions(cx, w, &s, &in, agg, out);
    if (st == ALM_OK && w->o.perm != NULL)
        spread(out, w->r->width, w->o.perm + s.from, n, w->out);
    alm_window_agg_free(agg);
    alm_pool_deinit(&slot->pool);
    return st;
}

/* --------------------------------------------------------------------------------- distinct */

/* The values met: by their number, the position of the last one in its partition. */
typedef struct values_met {
    alm_pool *pool;
    alm_keymap *map;
    uint32_t n, cap, *last;
} values_met;

/* Row i, the next one with value `number`. */
static alm_status link_row(alm_ctx *cx, window_run *w, values_met *met, uint32_t number, uint32_t i,
                           uint32_t part)
{
    const bool fresh = number >= met->n; /* numbers count up */
    if (fresh)
        met->n = number + 1;
    if (w->first != NULL) {
        w->first[i] = fresh;
        return ALM_OK;
    }
    if (met->n > met->cap) {
        const uint32_t cap = ALM_MAX(met->n, 2 * met->cap);
        ALM_TRY(alm_pool_grow(cx, met->pool, &met->last, met->cap * sizeof *met->last,
                              (size_t)cap * sizeof *met->last));
        met->cap = cap;
    }
    w->prev[i] = fresh ? ALM_WINDOW_NONE : met->last[number];
    met->last[number] = i - w->o.start[part];
    return ALM_OK;
}

/* Positions [from, to) that pass the filter: which of them are new in their partition, or what stands before. */
static alm_status mark_new(alm_ctx *cx, window_run *w, values_met *met, alm_window_slice *s,
                           const uint32_t *part)
{
    const alm_window_call *c = w->r->call;
    const uint32_t n = s->to - s->from;
    alm_vec *key = NULL, v;
    uint32_t *number = NULL, *pick = NULL, m = 0;
    const uint8_t *pass = NULL;
    ALM_TRY(ALM_NEWN(cx, s->arena, c->n_args + 1, &key));
    ALM_TRY(alm_arena_bytes(cx, s->arena, n * sizeof *number, &number));
    ALM_TRY(alm_arena_bytes(cx, s->arena, n * sizeof *pick, &pick));
    if (w->r->cols.filter >= 0) {
        ALM_TRY(alm_window_column(cx, s, (uint32_t)w->r->cols.filter, &v));
        pass = v.data;
    }
    for (uint32_t i = 0; i < n; i++) {
        pick[m] = i;
        m += pass == NULL || pass[i];
    }
    v = (alm_vec){.type = ALM_TY(INT), .width = 4, .data = (void *)(uintptr_t)part};
    ALM_TRY(alm_vec_gather(cx, s->arena, &v, pick, m, &key[0]));
    for (uint32_t k = 0; k < c->n_args; k++) {
        ALM_TRY(alm_window_column(cx, s, w->r->cols.arg[k], &v));
        ALM_TRY(alm_vec_gather(cx, s->arena, &v, pick, m, &key[k + 1]));
    }
    ALM_TRY(alm_keymap_add(cx, met->map, key, m, number));
    if (w->first != NULL)
        memset(w->first + s->from, 0, n);
    for (uint32_t i = 0; i < m; i++)
        ALM_TRY(link_row(cx, w, met, number[i], s->from + pick[i], part[pick[i]]));
    return ALM_OK;
}

/* A frame that starts with the partition: a value counts where it is met first. Others ask each row for the one
 * before with its value. */
static alm_status mark_distinct(alm_ctx *cx, window_run *w)
{
    const alm_window_call *c = w->r->call;
    alm_type *types = NULL;
    alm_arena scratch;
    alm_pool pool;
    values_met met = {.pool = &pool};
    uint32_t part[ALM_BATCH_ROWS], p = 0;
    if (alm_window_moves(c))
        ALM_TRY(alm_pool_alloc(cx, w->pool, ((size_t)w->n + 1) * sizeof *w->prev, &w->prev));
    else
        ALM_TRY(alm_pool_alloc(cx, w->pool, (size_t)w->n + 1, &w->first));
    ALM_TRY(ALM_NEWN(cx, cx->arena, c->n_args + 1, &types));
    types[0] = ALM_TY(INT);
    for (uint32_t k = 0; k < c->n_args; k++)
        types[k + 1] = c->args[k]->type;
    alm_pool_init(&pool, cx->mem, w->pool->who);
    alm_arena_init(&scratch, cx->mem);
    alm_status st = alm_keymap_new(cx, &pool, types, c->n_args + 1, &met.map);
    for (uint32_t at = 0; at < w->n && st == ALM_OK; at += ALM_BATCH_ROWS) {
        alm_window_slice s = {.rows = w->rows,
                              .order = &w->o,
                              .from = at,
                              .to = ALM_MIN(w->n, at + ALM_BATCH_ROWS),
                              .arena = &scratch};
        for (uint32_t i = at; i < s.to; i++) {
            while (w->o.start[p + 1] <= i)
                p++;
            part[i - at] = p;
        }
        alm_arena_reset(&scratch);
        st = alm_check(cx);
        if (st == ALM_OK)
            st = mark_new(cx, w, &met, &s, part);
    }
    alm_arena_deinit(&scratch);
    alm_pool_deinit(&pool);
    return st;
}

/* -------------------------------------------------------------------------------------- all */

static alm_status compute_call(alm_ctx *cx, window_run *w, alm_window_result *r)
{
    const alm_window_call *call = r->call;
    const bool pick = call->fn->kind == ALM_FN_WINDOW && call->fn->window->pick != NULL;
    w->r = r;
    r->width = pick                            ? (uint8_t)sizeof(uint32_t)
               : call->type.id == ALM_T_SYMBOL ? (uint8_t)sizeof(alm_view)
                                               : (uint8_t)alm_type_width(call->type);
    ALM_TRY(alm_pool_alloc(cx, w->pool, ((size_t)w->n + 1) * r->width, &w->out));
    if (call->distinct)
        ALM_TRY(mark_distinct(cx, w));
    ALM_TRY(alm_pipe_each(cx, w->pipe, w->n_ranges, compute_range, w));
    alm_pool_free(w->pool, w->first);
    alm_pool_free(w->pool, w->prev);
    w->first = NULL;
    w->prev = NULL;
    r->result = w->out;
    r->pick = pick ? (uint32_t *)(void *)w->out : NULL;
    r->done = true;
    return ALM_OK;
}

/* A call is like itself, also where its expressions give another value each time. */
static bool same_partition(const alm_window_call *a, const alm_window_call *b)
{
    if (a == b)
        return true;
    if (a->n_partition != b->n_partition)
        return false;
    for (uint32_t i = 0; i < a->n_partition; i++)
        if (!alm_eval_expr_equal(a->partition[i], b->partition[i]))
            return false;
    return true;
}

static bool same_order(const alm_window_call *a, const alm_window_call *b)
{
    if (a == b)
        return true;
    if (!same_partition(a, b) || a->n_order != b->n_order)
        return false;
    for (uint32_t i = 0; i < a->n_order; i++)
        if (a->order[i].desc != b->order[i].desc ||
            a->order[i].nulls_first != b->order[i].nulls_first ||
            !alm_eval_expr_equal(a->order[i].expr, b->order[i].expr))
            return false;
    return true;
}

/* The calls with the order of the first of them. */
static alm_status compute_order(alm_ctx *cx, window_run *w, alm_window_result *r, uint32_t n)
{
    const alm_window_call *first = r[0].call;
    bool peers = false;
    for (uint32_t k = 0; k < n; k++)
        peers |= !r[k].done && same_order(first, r[k].call) && needs_peers(r[k].call);
    ALM_TRY(alm_window_deal(cx, w->pool, w->rows, w->n, first, &r[0].cols, peers, &w->o));
    cut_ranges(w);
    ALM_TRY(alm_window_sort_large(cx, w->pool, w->workers, &w->o));
    if (peers || !w->o.as_it_comes)
        ALM_TRY(alm_pipe_each(cx, w->pipe, w->n_ranges, arrange_range, w));
    for (uint32_t k = 0; k < n; k++)
        if (!r[k].done && same_order(first, r[k].call))
            ALM_TRY(compute_call(cx, w, &r[k]));
    alm_window_order_free(w->pool, &w->o);
    return ALM_OK;
}

/* The calls with the partitions of the first of them that need no other order than the rows have. */
static alm_status compute_passes(alm_ctx *cx, window_run *w, alm_window_slots *slots,
                                 alm_window_result *r, uint32_t n)
{
    uint32_t *number = NULL;
    alm_window_pass p = {.pool = w->pool, .rows = w->rows, .n = w->n, .lasting = &slots->lasting};
    ALM_TRY(alm_pool_alloc(cx, w->pool, ((size_t)w->n + 1) * sizeof *number, &number));
    ALM_TRY(
        alm_window_numbers(cx, w->pool, w->rows, w->n, r[0].call, &r[0].cols, number, &p.n_parts));
    p.number = number;
    for (uint32_t k = 0; k < n; k++)
        if (!r[k].done && alm_window_passes(r[k].call) && same_partition(r[0].call, r[k].call))
            ALM_TRY(alm_window_run_pass(cx, &p, &r[k]));
    alm_pool_free(w->pool, number);
    return ALM_OK;
}

alm_status alm_window_compute(alm_ctx *cx, const alm_window_input *in, alm_window_result *results,
                              uint32_t n_calls, alm_window_slots **slots)
{
    alm_window_slots *all = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &all));
    all->n = alm_pipe_slots(in->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, all->n, &all->slot));
    alm_arena_init(&all->lasting, cx->mem);
    *slots = all;
    window_run w = {.pool = in->pool,
                    .pipe = in->pipe,
                    .workers = in->workers,
                    .rows = in->rows,
                    .n = in->n,
                    .slot = all->slot};
    for (uint32_t i = 0; i < n_calls; i++) {
        ALM_TRY(alm_steps_add(cx, n_calls - i)); /* each is compared with those behind it */
        if (!results[i].done && alm_window_passes(results[i].call))
            ALM_TRY(compute_passes(cx, &w, all, results + i, n_calls - i));
    }
    for (uint32_t i = 0; i < n_calls; i++) {
        ALM_TRY(alm_steps_add(cx, n_calls - i));
        if (!results[i].done)
            ALM_TRY(compute_order(cx, &w, results + i, n_calls - i));
    }
    return ALM_OK;
}

void alm_window_slots_free(alm_window_slots *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!s->slot[i].ready)
            continue;
        alm_pool_deinit(&s->slot[i].pool);
        alm_arena_deinit(&s->slot[i].scratch);
        alm_arena_deinit(&s->slot[i].lasting);
    }
    alm_arena_deinit(&s->lasting);
}
