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

static void cut_ranges(window_run *run)
{
    const alm_window_order *order = &run->o;
    const uint32_t least = ALM_MAX((uint32_t)RANGE_ROWS_MIN, run->n / (RANGES_MAX - 1) + 1);
    run->n_ranges = 0;
    for (uint32_t part = 0; part < order->n_parts;) {
        const uint32_t from = order->start[part];
        run->lo[run->n_ranges++] = part;
        while (part < order->n_parts && order->start[part] - from < least)
            part++;
    }
    run->lo[run->n_ranges] = order->n_parts;
}

/* Range i for a thread, whose scratch memory is as new. */
static alm_status range_open(alm_ctx *cx, window_run *run, uint32_t slot_no, uint32_t i,
                             alm_window_slice *out)
{
    window_slot *s = &run->slot[slot_no];
    if (!s->ready) {
        alm_pool_init(&s->pool, cx->mem, run->pool->who);
        alm_arena_init(&s->scratch, cx->mem);
        alm_arena_init(&s->lasting, cx->mem);
        s->ready = true;
    }
    alm_arena_reset(&s->scratch);
    *out = (alm_window_slice){.rows = run->rows,
                              .order = &run->o,
                              .lo = run->lo[i],
                              .hi = run->lo[i + 1],
                              .from = run->o.start[run->lo[i]],
                              .to = run->o.start[run->lo[i + 1]],
                              .arena = &s->scratch};
    return alm_check(cx);
}

static alm_status arrange_range(alm_ctx *cx, void *arg, uint32_t slot_no, uint32_t i)
{
    alm_window_slice slice;
    ALM_TRY(range_open(cx, arg, slot_no, i, &slice));
    return alm_window_arrange(cx, &slice);
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
static alm_status pass_values(alm_ctx *cx, const window_run *run, const alm_window_slice *slice,
                              range_input *in)
{
    const uint32_t n_somes = slice->to - slice->from;
    alm_vec vec;
    uint8_t *some = NULL;
    ALM_TRY(alm_window_column(cx, slice, run->r->cols.arg[0], &vec));
    ALM_TRY(alm_arena_bytes(cx, slice->arena, (size_t)n_somes + 1, &some));
    (void)alm_vec_null_mask(&vec, n_somes, some);
    for (uint32_t i = 0; i < n_somes; i++)
        some[i] = !some[i] && (in->pass == NULL || in->pass[i]);
    in->pass = some;
    return ALM_OK;
}

static alm_status window_compute_read_range(alm_ctx *cx, const window_run *run,
                                            const alm_window_slice *slice, range_input *in)
{
    const alm_window_call *call = run->r->call;
    const bool agg = call->fn->kind == ALM_FN_AGGREGATE;
    const size_t n = (size_t)(slice->to - slice->from) + 1;
    if (needs_frames(call)) {
        ALM_TRY(alm_arena_bytes(cx, slice->arena, n * sizeof *in->lo, &in->lo));
        ALM_TRY(alm_arena_bytes(cx, slice->arena, n * sizeof *in->hi, &in->hi));
        ALM_TRY(alm_window_frames(cx, slice, call, &run->r->cols, in->lo, in->hi));
    }
    ALM_TRY(ALM_NEWN(cx, slice->arena, call->n_args + 1, &in->arg));
    for (uint32_t i = 0; agg && i < call->n_args; i++)
        ALM_TRY(alm_window_column(cx, slice, run->r->cols.arg[i], &in->arg[i]));
    if (run->first != NULL) {
        in->pass = run->first + slice->from;
    } else if (run->r->cols.filter >= 0) {
        alm_vec vec;
        ALM_TRY(alm_window_column(cx, slice, (uint32_t)run->r->cols.filter, &vec));
        in->pass = vec.data;
    }
    if (!agg && call->ignore_nulls && call->n_args > 0)
        ALM_TRY(pass_values(cx, run, slice, in));
    if (agg || in->pass == NULL)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, slice->arena, n * sizeof *in->some, &in->some));
    return alm_arena_bytes(cx, slice->arena, n * sizeof *in->before, &in->before);
}

/* -------------------------------------------------------------------------------- computing */

/* Which rows of a partition count, and where they are. */
static void list_some(const uint8_t *pass, uint32_t n_befores, uint32_t *some, uint32_t *before)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n_befores; i++) {
        before[i] = k;
        some[k] = i;
        k += pass[i] != 0;
    }
    before[n_befores] = k;
}

static void compute_values(const alm_call *call, const alm_window_rows *part, const window_run *run,
                           uint32_t start, char *out)
{
    const alm_window_ops *ops = call->fn->window;
    const uint32_t *perm = run->o.perm;
    if (ops->rank != NULL) {
        ops->rank(call, part, out);
        return;
    }
    uint32_t *at = (uint32_t *)(void *)out;
    ops->pick(call, part, at);
    for (uint32_t i = 0; i < part->n; i++) {
        const uint32_t pos = start + at[i];
        at[i] = at[i] == ALM_WINDOW_NONE ? run->n : perm != NULL ? perm[pos] : pos;
    }
}

/* Results of the partitions of a range, in window order. */
static alm_status compute_partitions(alm_ctx *cx, const window_run *run,
                                     const alm_window_slice *slice, const range_input *in,
                                     alm_window_agg *agg, char *out)
{
    const alm_window_call *window_call = run->r->call;
    const alm_window_order *order = &run->o;
    const alm_call call = {.cx = cx,
                           .fn = window_call->fn,
                           .data = window_call->data,
                           .result = window_call->type,
                           .pos = window_call->pos,
                           .argc = window_call->n_args};
    alm_vec *args = NULL;
    ALM_TRY(ALM_NEWN(cx, slice->arena, window_call->n_args + 1, &args));
    for (uint32_t partition = slice->lo; partition < slice->hi; partition++) {
        const uint32_t start = order->start[partition], place = start - slice->from;
        const alm_window_rows part = {
            .n = order->start[partition + 1] - start,
            .lo = in->lo != NULL ? in->lo + place : NULL,
            .hi = in->hi != NULL ? in->hi + place : NULL,
            .peer_lo = order->peer_lo != NULL ? order->peer_lo + start : NULL,
            .peer_hi = order->peer_hi != NULL ? order->peer_hi + start : NULL,
            .exclude = window_call->exclude,
            .some = in->some,
            .before = in->before,
            .prev = run->prev != NULL ? run->prev + start : NULL};
        const uint8_t *pass = in->pass != NULL ? in->pass + place : NULL;
        char *dest = out + (size_t)place * run->r->width;
        if (part.n == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (agg == NULL) {
            if (in->some != NULL)
                list_some(pass, part.n, in->some, in->before);
            compute_values(&call, &part, run, start, dest);
            continue;
        }
        for (uint32_t i = 0; i < window_call->n_args; i++) {
            args[i] = in->arg[i];
            args[i].data = (char *)in->arg[i].data + (size_t)place * in->arg[i].width;
        }
        ALM_TRY(alm_window_agg_run(cx, agg, &part, pass, args, dest));
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
static void window_compute_spread(const void *from, uint8_t width, const uint32_t *perm, uint32_t n,
                                  void *dest)
{
    if (width == 1)
        spread_8(from, perm, n, dest);
    else if (width == 2)
        spread_16(from, perm, n, dest);
    else if (width == 4)
        spread_32(from, perm, n, dest);
    else if (width == 8)
        spread_64(from, perm, n, dest);
    else if (width == 16)
        spread_128(from, perm, n, dest);
    else
        spread_256(from, perm, n, dest);
}

static alm_status compute_range(alm_ctx *cx, void *arg, uint32_t slot_no, uint32_t i)
{
    window_run *run = arg;
    window_slot *slot = &run->slot[slot_no];
    alm_window_slice slice;
    alm_window_agg *agg = NULL;
    range_input in = {0};
    char *out = NULL;
    ALM_TRY(range_open(cx, run, slot_no, i, &slice));
    if (run->r->call->fn->kind == ALM_FN_AGGREGATE)
        ALM_TRY(
            alm_window_agg_new(cx, &slot->pool, run->r->call, &slot->lasting, run->r->width, &agg));
    const uint32_t n = slice.to - slice.from;
    alm_status status = window_compute_read_range(cx, run, &slice, &in);
    if (status == ALM_OK && run->o.perm != NULL)
        status = alm_arena_bytes(cx, slice.arena, ((size_t)n + 1) * run->r->width, &out);
    else
        out = run->out + (size_t)slice.from * run->r->width;
    if (status == ALM_OK)
        status = compute_partitions(cx, run, &slice, &in, agg, out);
    if (status == ALM_OK && run->o.perm != NULL)
        window_compute_spread(out, run->r->width, run->o.perm + slice.from, n, run->out);
    alm_window_agg_free(agg);
    alm_pool_deinit(&slot->pool);
    return status;
}

/* --------------------------------------------------------------------------------- distinct */

/* The values met: by their number, the position of the last one in its partition. */
typedef struct values_met {
    alm_pool *pool;
    alm_keymap *map;
    uint32_t n, cap, *last;
} values_met;

/* Row i, the next one with value `number`. */
static alm_status link_row(alm_ctx *cx, window_run *run, values_met *met, uint32_t number,
                           uint32_t i, uint32_t part)
{
    const bool fresh = number >= met->n; /* numbers count up */
    if (fresh)
        met->n = number + 1;
    if (run->first != NULL) {
        run->first[i] = fresh;
        return ALM_OK;
    }
    if (met->n > met->cap) {
        const uint32_t cap = ALM_MAX(met->n, 2 * met->cap);
        ALM_TRY(alm_pool_grow(cx, met->pool, &met->last, met->cap * sizeof *met->last,
                              (size_t)cap * sizeof *met->last));
        met->cap = cap;
    }
    run->prev[i] = fresh ? ALM_WINDOW_NONE : met->last[number];
    met->last[number] = i - run->o.start[part];
    return ALM_OK;
}

/* Positions [from, to) that pass the filter: which of them are new in their partition, or what stands before. */
static alm_status mark_new(alm_ctx *cx, window_run *run, values_met *met, alm_window_slice *slice,
                           const uint32_t *part)
{
    const alm_window_call *call = run->r->call;
    const uint32_t n = slice->to - slice->from;
    alm_vec *key = NULL, vec;
    uint32_t *number = NULL, *pick = NULL, m = 0;
    const uint8_t *pass = NULL;
    ALM_TRY(ALM_NEWN(cx, slice->arena, call->n_args + 1, &key));
    ALM_TRY(alm_arena_bytes(cx, slice->arena, n * sizeof *number, &number));
    ALM_TRY(alm_arena_bytes(cx, slice->arena, n * sizeof *pick, &pick));
    if (run->r->cols.filter >= 0) {
        ALM_TRY(alm_window_column(cx, slice, (uint32_t)run->r->cols.filter, &vec));
        pass = vec.data;
    }
    for (uint32_t i = 0; i < n; i++) {
        pick[m] = i;
        m += pass == NULL || pass[i];
    }
    vec = (alm_vec){.type = ALM_TY(INT), .width = 4, .data = (void *)(uintptr_t)part};
    ALM_TRY(alm_vec_gather(cx, slice->arena, &vec, pick, m, &key[0]));
    for (uint32_t arg = 0; arg < call->n_args; arg++) {
        ALM_TRY(alm_window_column(cx, slice, run->r->cols.arg[arg], &vec));
        ALM_TRY(alm_vec_gather(cx, slice->arena, &vec, pick, m, &key[arg + 1]));
    }
    ALM_TRY(alm_keymap_add(cx, met->map, key, m, number));
    if (run->first != NULL)
        memset(run->first + slice->from, 0, n);
    for (uint32_t i = 0; i < m; i++)
        ALM_TRY(link_row(cx, run, met, number[i], slice->from + pick[i], part[pick[i]]));
    return ALM_OK;
}

/* A frame that starts with the partition: a value counts where it is met first. Others ask each row for the one
 * before with its value. */
static alm_status mark_distinct(alm_ctx *cx, window_run *run)
{
    const alm_window_call *call = run->r->call;
    alm_type *types = NULL;
    alm_arena scratch;
    alm_pool pool;
    values_met met = {.pool = &pool};
    uint32_t part[ALM_BATCH_ROWS], partition = 0;
    if (alm_window_moves(call))
        ALM_TRY(
            alm_pool_alloc(cx, run->pool, ((size_t)run->n + 1) * sizeof *run->prev, &run->prev));
    else
        ALM_TRY(alm_pool_alloc(cx, run->pool, (size_t)run->n + 1, &run->first));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &types));
    types[0] = ALM_TY(INT);
    for (uint32_t arg = 0; arg < call->n_args; arg++)
        types[arg + 1] = call->args[arg]->type;
    alm_pool_init(&pool, cx->mem, run->pool->who);
    alm_arena_init(&scratch, cx->mem);
    alm_status status = alm_keymap_new(cx, &pool, types, call->n_args + 1, &met.map);
    for (uint32_t place = 0; place < run->n && status == ALM_OK; place += ALM_BATCH_ROWS) {
        alm_window_slice slice = {.rows = run->rows,
                                  .order = &run->o,
                                  .from = place,
                                  .to = ALM_MIN(run->n, place + ALM_BATCH_ROWS),
                                  .arena = &scratch};
        for (uint32_t i = place; i < slice.to; i++) {
            while (run->o.start[partition + 1] <= i)
                partition++;
            part[i - place] = partition;
        }
        alm_arena_reset(&scratch);
        status = alm_check(cx);
        if (status == ALM_OK)
            status = mark_new(cx, run, &met, &slice, part);
    }
    alm_arena_deinit(&scratch);
    alm_pool_deinit(&pool);
    return status;
}

/* -------------------------------------------------------------------------------------- all */

static alm_status compute_call(alm_ctx *cx, window_run *run, alm_window_result *result)
{
    const alm_window_call *call = result->call;
    const bool pick = call->fn->kind == ALM_FN_WINDOW && call->fn->window->pick != NULL;
    run->r = result;
    result->width = pick                            ? (uint8_t)sizeof(uint32_t)
                    : call->type.id == ALM_T_SYMBOL ? (uint8_t)sizeof(alm_view)
                                                    : (uint8_t)alm_type_width(call->type);
    ALM_TRY(alm_pool_alloc(cx, run->pool, ((size_t)run->n + 1) * result->width, &run->out));
    if (call->distinct)
        ALM_TRY(mark_distinct(cx, run));
    ALM_TRY(alm_pipe_each(cx, run->pipe, run->n_ranges, compute_range, run));
    alm_pool_free(run->pool, run->first);
    alm_pool_free(run->pool, run->prev);
    run->first = NULL;
    run->prev = NULL;
    result->result = run->out;
    result->pick = pick ? (uint32_t *)(void *)run->out : NULL;
    result->done = true;
    return ALM_OK;
}

/* A call is like itself, also where its expressions give another value each time. */
static bool window_compute_same_partition(const alm_window_call *a, const alm_window_call *b)
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
    if (!window_compute_same_partition(a, b) || a->n_order != b->n_order)
        return false;
    for (uint32_t i = 0; i < a->n_order; i++)
        if (a->order[i].desc != b->order[i].desc ||
            a->order[i].nulls_first != b->order[i].nulls_first ||
            !alm_eval_expr_equal(a->order[i].expr, b->order[i].expr))
            return false;
    return true;
}

/* The calls with the order of the first of them. */
static alm_status compute_order(alm_ctx *cx, window_run *run, alm_window_result *results,
                                uint32_t n)
{
    const alm_window_call *first = results[0].call;
    bool peers = false;
    for (uint32_t k = 0; k < n; k++)
        peers |=
            !results[k].done && same_order(first, results[k].call) && needs_peers(results[k].call);
    ALM_TRY(
        alm_window_deal(cx, run->pool, run->rows, run->n, first, &results[0].cols, peers, &run->o));
    cut_ranges(run);
    ALM_TRY(alm_window_sort_large(cx, run->pool, run->workers, &run->o));
    if (peers || !run->o.as_it_comes)
        ALM_TRY(alm_pipe_each(cx, run->pipe, run->n_ranges, arrange_range, run));
    for (uint32_t k = 0; k < n; k++)
        if (!results[k].done && same_order(first, results[k].call))
            ALM_TRY(compute_call(cx, run, &results[k]));
    alm_window_order_free(run->pool, &run->o);
    return ALM_OK;
}

/* The calls with the partitions of the first of them that need no other order than the rows have. */
static alm_status compute_passes(alm_ctx *cx, window_run *run, alm_window_slots *slots,
                                 alm_window_result *results, uint32_t n)
{
    uint32_t *number = NULL;
    alm_window_pass pass = {
        .pool = run->pool, .rows = run->rows, .n = run->n, .lasting = &slots->lasting};
    ALM_TRY(alm_pool_alloc(cx, run->pool, ((size_t)run->n + 1) * sizeof *number, &number));
    ALM_TRY(alm_window_numbers(cx, run->pool, run->rows, run->n, results[0].call, &results[0].cols,
                               number, &pass.n_parts));
    pass.number = number;
    for (uint32_t k = 0; k < n; k++)
        if (!results[k].done && alm_window_passes(results[k].call) &&
            window_compute_same_partition(results[0].call, results[k].call))
            ALM_TRY(alm_window_run_pass(cx, &pass, &results[k]));
    alm_pool_free(run->pool, number);
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
    window_run run = {.pool = in->pool,
                      .pipe = in->pipe,
                      .workers = in->workers,
                      .rows = in->rows,
                      .n = in->n,
                      .slot = all->slot};
    for (uint32_t i = 0; i < n_calls; i++) {
        ALM_TRY(alm_steps_add(cx, n_calls - i)); /* each is compared with those behind it */
        if (!results[i].done && alm_window_passes(results[i].call))
            ALM_TRY(compute_passes(cx, &run, all, results + i, n_calls - i));
    }
    for (uint32_t i = 0; i < n_calls; i++) {
        ALM_TRY(alm_steps_add(cx, n_calls - i));
        if (!results[i].done)
            ALM_TRY(compute_order(cx, &run, results + i, n_calls - i));
    }
    return ALM_OK;
}

void alm_window_slots_free(alm_window_slots *slots)
{
    if (slots == NULL)
        return;
    for (uint32_t i = 0; i < slots->n; i++) {
        if (!slots->slot[i].ready)
            continue;
        alm_pool_deinit(&slots->slot[i].pool);
        alm_arena_deinit(&slots->slot[i].scratch);
        alm_arena_deinit(&slots->slot[i].lasting);
    }
    alm_arena_deinit(&slots->lasting);
}
