/*
 * op_sample.c - SAMPLE BY: runs rounds of morsels, combines them in order, hands out rows. sample.h.
 *
 * Combining   The groups of the last bucket of a morsel are copied into `carry`. The first bucket of
 *             the next morsel, if it is the same, is merged into it; else carry is complete.
 * Backward    Rounds, morsels and buckets come newest first, so that who wants the newest few reads
 *             little. There are no keys then: carry is one group, the first of a morsel, and is
 *             merged into the last one of the morsel before.
 */
#include "exec/group/sample.h"
#include "exec/run/op_make.h"

alm_status alm_sample_bucketer(alm_ctx *cx, alm_sample *s, int64_t first_ts)
{
    const alm_sample_spec *p = s->spec;
    const alm_zone *zone = NULL;
    if (p->zone != NULL)
        ALM_TRY(alm_zone_find(cx, alm_str_of(p->zone), s->op.plan->pos, &zone));
    alm_bucket_spec spec = alm_sample_buckets(p, s->op.plan->cols[0].type, zone);
    if (p->first_observation) {
        spec.has_origin = true;
        spec.origin = first_ts;
    }
    ALM_TRY(alm_bucketer_init(cx, s->op.plan->pos, &spec, &s->bucketer));
    s->have_bucketer = true;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- preparation */

static alm_status choose_keys(alm_ctx *cx, alm_sample *s)
{
    const uint32_t n = s->spec->n_keys;
    uint64_t product = 1;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &s->card));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &s->dict));
    for (uint32_t k = 0; k < n && product <= ALM_SAMPLE_DIRECT_MAX; k++) {
        s->card[k] = alm_group_card(s->op.plan->child[0], s->spec->keys[k], &s->dict[k]);
        product *= s->card[k];
        if (product == 0)
            return ALM_OK;
    }
    s->direct = n > 0 && product <= ALM_SAMPLE_DIRECT_MAX;
    s->n_codes = (uint32_t)ALM_MIN(product, (uint64_t)ALM_SAMPLE_DIRECT_MAX);
    return ALM_OK;
}

static alm_status prepare(alm_ctx *cx, alm_sample *s)
{
    const alm_plan *input = s->op.plan->child[0];
    ALM_TRY(alm_sample_slot_ready(cx, s, &s->own));
    ALM_TRY(choose_keys(cx, s));
    s->sorted = input->op == ALM_P_SCAN && input->order == ALM_ORDER_ASC &&
                input->ts_col == (int32_t)s->spec->ts_col;
    ALM_TRY(alm_pipe_new(cx, s->op.run, input, s->op.plan, &s->pipe));
    s->n_slots = alm_pipe_slots(s->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_slots, &s->slot));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_SAMPLE_ROUND, &s->round));
    for (uint32_t m = 0; m < ALM_SAMPLE_ROUND; m++)
        alm_pool_init(&s->round[m].pool, cx->mem, "sample by");
    alm_pool_init(&s->carry.pool, cx->mem, "sample by");
    alm_pool_init(&s->closed.pool, cx->mem, "sample by");
    ALM_TRY(alm_sample_part_ready(cx, s, &s->own, &s->carry));
    ALM_TRY(alm_sample_part_ready(cx, s, &s->own, &s->closed));
    if (s->direct)
        ALM_TRY(alm_pool_zero(cx, &s->own.pool, (size_t)s->n_codes * 4, &s->own.last));
    if (!s->spec->first_observation)
        ALM_TRY(alm_sample_bucketer(cx, s, 0));
    for (uint32_t m = 0; alm_pipe_parallel(s->pipe) && !s->have_bucketer; m++) {
        if (m == alm_pipe_morsels(s->pipe))
            break; /* no rows at all */
        ALM_TRY(alm_pipe_run(cx, s->pipe, m, m + 1, alm_sample_first, s));
    }
    /* somebody who wants a few rows gets them from a small first round */
    s->round_size = s->hint < ALM_BATCH_ROWS ? ALM_MAX(s->n_slots, 1U) : ALM_SAMPLE_ROUND;
    s->round_size = ALM_MIN(s->round_size, (uint32_t)ALM_SAMPLE_ROUND);
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ combine */

/* Numbers of the first groups of a part that share its first bucket. */
static uint32_t first_bucket_end(const alm_sample_part *p)
{
    uint32_t lo = 0, hi = p->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (p->bucket[mid] <= p->bucket[0])
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t last_bucket_begin(const alm_sample_part *p)
{
    const int64_t bucket = p->bucket[p->n - 1];
    uint32_t lo = 0, hi = p->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (p->bucket[mid] < bucket)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Group of carry for each of groups [lo, hi) of a part; new ones are added. */
static alm_status carry_groups(alm_ctx *cx, alm_sample *s, const alm_sample_part *p, uint32_t lo,
                               uint32_t hi, uint32_t *group)
{
    alm_sample_part *c = &s->carry;
    const uint32_t n = hi - lo;
    if (c->n + n > c->cap) {
        const uint32_t cap = ALM_MAX(c->n + n, 2 * c->cap);
        ALM_TRY(alm_pool_grow(cx, &c->pool, &c->bucket, (size_t)c->n * 8, (size_t)cap * 8));
        ALM_TRY(alm_pool_grow(cx, &c->pool, &c->key, (size_t)c->n * 4, (size_t)cap * 4));
        c->cap = cap;
    }
    if (s->spec->n_keys > 0 && !s->direct)
        ALM_TRY(alm_keymap_add_from(cx, c->map, p->map, p->key + lo, n, group));
    for (uint32_t i = 0; i < n; i++) {
        if (s->direct) {
            uint32_t *last = &s->own.last[p->key[lo + i]];
            *last = *last == 0 ? c->n + 1 : *last;
            group[i] = *last - 1;
        } else if (s->spec->n_keys == 0) {
            group[i] = 0;
        }
        if (group[i] == c->n) {
            c->key[c->n] = s->direct ? p->key[lo + i] : group[i];
            c->bucket[c->n++] = p->bucket[lo];
        }
    }
    return ALM_OK;
}

/* Groups [lo, hi) of a part, all of one bucket, into carry. */
static alm_status add_to_carry(alm_ctx *cx, alm_sample *s, const alm_sample_part *p, uint32_t lo,
                               uint32_t hi)
{
    uint32_t *group = NULL;
    alm_arena_reset(&s->own.scratch);
    ALM_TRY(alm_arena_bytes(cx, &s->own.scratch, ((size_t)hi - lo + 1) * sizeof *group, &group));
    ALM_TRY(carry_groups(cx, s, p, lo, hi, group));
    ALM_TRY(alm_states_reserve(cx, s->own.aggs, &s->carry.states, &s->carry.pool, s->carry.n));
    return alm_aggs_merge(cx, s->own.aggs, &s->carry.states, 0, group, &p->states, lo, hi - lo);
}

/* carry is complete: it becomes `closed`, to be handed out; an empty one takes its place. */
static alm_status close_carry(alm_ctx *cx, alm_sample *s)
{
    for (uint32_t i = 0; s->direct && i < s->carry.n; i++)
        s->own.last[s->carry.key[i]] = 0;
    const alm_sample_part swap = s->closed;
    s->closed = s->carry;
    s->carry = swap;
    ALM_TRY(alm_sample_part_ready(cx, s, &s->own, &s->carry));
    s->handing = &s->closed;
    s->group_at = 0;
    s->group_end = s->closed.n;
    return ALM_OK;
}

/* One step through the parts of the round; s->handing is set when there are rows to hand out. */
static alm_status step(alm_ctx *cx, alm_sample *s, const alm_sample_part *p)
{
    if (s->stage == ALM_SAMPLE_HEAD) {
        const bool same = p->n > 0 && s->carry.n > 0 && s->carry.bucket[0] == p->bucket[0];
        s->body = same ? first_bucket_end(p) : 0;
        if (same)
            ALM_TRY(add_to_carry(cx, s, p, 0, s->body));
        if (s->body == p->n) { /* nothing, or one bucket all along, which may go on */
            s->part_at++;
            return ALM_OK;
        }
        s->stage = ALM_SAMPLE_BODY;
        return s->carry.n > 0 ? close_carry(cx, s) : ALM_OK;
    }
    const uint32_t last = last_bucket_begin(p);
    if (s->stage == ALM_SAMPLE_BODY) {
        s->handing = p;
        s->group_at = s->body;
        s->group_end = ALM_MAX(last, s->body);
        s->stage = ALM_SAMPLE_TAIL;
        return ALM_OK;
    }
    s->stage = ALM_SAMPLE_HEAD;
    s->part_at++;
    return add_to_carry(cx, s, p, ALM_MAX(last, s->body), p->n);
}

/* The part at hand, backward: its last group may be that of carry, its first may go on. */
static alm_status step_back(alm_ctx *cx, alm_sample *s, const alm_sample_part *p)
{
    if (s->stage == ALM_SAMPLE_HEAD) {
        if (p->n == 0) {
            s->part_at++;
            return ALM_OK;
        }
        const bool same = s->carry.n > 0 && s->carry.bucket[0] == p->bucket[p->n - 1];
        s->body = p->n;
        if (same) {
            const alm_sample_part later = s->carry;
            s->carry = s->closed; /* handed out, if ever it was */
            s->closed = later;
            s->body--;
            ALM_TRY(alm_sample_part_ready(cx, s, &s->own, &s->carry));
            ALM_TRY(add_to_carry(cx, s, p, s->body, p->n));
            ALM_TRY(add_to_carry(cx, s, &s->closed, 0, 1));
        }
        if (s->body == 0) { /* one bucket all along, which may go on */
            s->part_at++;
            return ALM_OK;
        }
        s->stage = ALM_SAMPLE_BODY;
        return s->carry.n > 0 ? close_carry(cx, s) : ALM_OK;
    }
    if (s->stage == ALM_SAMPLE_BODY) {
        s->handing = p;
        s->group_at = 1;
        s->group_end = s->body;
        s->stage = ALM_SAMPLE_TAIL;
        return ALM_OK;
    }
    s->stage = ALM_SAMPLE_HEAD;
    s->part_at++;
    return add_to_carry(cx, s, p, 0, 1);
}

static alm_status run_round(alm_ctx *cx, alm_sample *s)
{
    const uint32_t left = alm_pipe_morsels(s->pipe) - s->next_morsel;
    s->round_n = ALM_MIN(s->round_size, left);
    s->round_lo = s->spec->backward ? left - s->round_n : s->next_morsel;
    s->next_morsel += s->round_n;
    s->round_size = ALM_SAMPLE_ROUND;
    s->part_at = 0;
    s->stage = ALM_SAMPLE_HEAD;
    return alm_pipe_run(cx, s->pipe, s->round_lo, s->round_lo + s->round_n, alm_sample_collect, s);
}

/* Groups ready to be handed out in s->handing; NULL: the end. */
static alm_status find_groups(alm_ctx *cx, alm_sample *s)
{
    while (s->handing == NULL || s->group_at == s->group_end) {
        s->handing = NULL;
        if (s->part_at < s->round_n && s->spec->backward)
            ALM_TRY(step_back(cx, s, &s->round[s->round_n - 1 - s->part_at]));
        else if (s->part_at < s->round_n)
            ALM_TRY(step(cx, s, &s->round[s->part_at]));
        else if (s->next_morsel < alm_pipe_morsels(s->pipe))
            ALM_TRY(run_round(cx, s));
        else if (s->carry.n > 0)
            ALM_TRY(close_carry(cx, s));
        else
            return ALM_OK;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- handing out */

/* Key column k of n groups from their codes. */
static alm_status code_column(alm_ctx *cx, alm_sample *s, uint32_t k, const uint32_t *code,
                              uint32_t n, alm_vec *out)
{
    uint32_t below = 1;
    const bool symbol = s->dict[k] != NULL;
    void *data = NULL;
    for (uint32_t i = k + 1; i < s->spec->n_keys; i++)
        below *= s->card[i];
    ALM_TRY(alm_arena_bytes(cx, &s->op.batch, (size_t)n * 4, &data));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t one = s->spec->n_keys == 1 ? code[i] : code[i] / below % s->card[k];
        if (symbol)
            ((uint32_t *)data)[i] = one;
        else
            ((uint8_t *)data)[i] = (uint8_t)one;
    }
    *out = (alm_vec){
        .type = s->spec->keys[k]->type, .width = symbol ? 4 : 1, .dict = s->dict[k], .data = data};
    return ALM_OK;
}

/* The rows at hand, last one first. */
static alm_status turn_columns(alm_ctx *cx, alm_sample *s, uint32_t n)
{
    uint32_t *from = NULL;
    ALM_TRY(alm_arena_bytes(cx, &s->op.batch, (size_t)n * sizeof *from, &from));
    for (uint32_t i = 0; i < n; i++)
        from[i] = n - 1 - i;
    for (uint32_t c = 0; c < s->op.out.n_cols; c++) {
        const alm_vec v = s->op.out.cols[c];
        if (!v.is_const)
            ALM_TRY(alm_vec_gather(cx, &s->op.batch, &v, from, n, &s->op.out.cols[c]));
    }
    return ALM_OK;
}

static alm_status raw_next(alm_ctx *cx, alm_sample *s, alm_batch **out)
{
    *out = NULL;
    ALM_TRY(find_groups(cx, s));
    if (s->handing == NULL)
        return ALM_OK;
    const alm_sample_part *p = s->handing;
    const bool backward = s->spec->backward;
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, s->group_end - s->group_at);
    const uint32_t at = backward ? s->group_end - n : s->group_at, n_keys = s->spec->n_keys;
    alm_vec *cols = s->op.out.cols;
    alm_arena_reset(&s->op.batch);
    cols[0] = (alm_vec){.type = s->op.plan->cols[0].type, .width = 8, .data = p->bucket + at};
    for (uint32_t k = 0; k < n_keys; k++) {
        if (s->direct)
            ALM_TRY(code_column(cx, s, k, p->key + at, n, &cols[1 + k]));
        else
            ALM_TRY(
                alm_keymap_values(cx, p->map, &s->op.batch, k, 0, p->key + at, n, &cols[1 + k]));
    }
    for (uint32_t i = 0; i < s->spec->n_aggs; i++)
        ALM_TRY(alm_aggs_finish(cx, s->own.aggs, &p->states, i, at, n, &s->op.batch,
                                &cols[1 + n_keys + i]));
    s->op.out.rows = n;
    s->group_at += backward ? 0 : n;
    s->group_end -= backward ? n : 0;
    if (backward)
        ALM_TRY(turn_columns(cx, s, n));
    *out = &s->op.out;
    return ALM_OK;
}

static bool fills(const alm_sample_spec *spec)
{
    bool any = spec->fill != NULL && spec->n_aggs == 0;
    for (uint32_t i = 0; spec->fill != NULL && i < spec->n_aggs; i++)
        any |= spec->fill[i].kind != 'n';
    return any;
}

static alm_status sample_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    alm_sample *s = (alm_sample *)op;
    *out = NULL;
    if (!s->prepared) {
        ALM_TRY(prepare(cx, s));
        s->prepared = true;
        if (fills(s->spec))
            ALM_TRY(alm_sample_fill_new(cx, s, &s->fill));
    }
    if (s->fill != NULL)
        return alm_sample_fill_next(cx, s, raw_next, out);
    return raw_next(cx, s, out);
}

static void slot_close(alm_sample_slot *slot)
{
    if (!slot->ready)
        return;
    alm_aggs_free(slot->aggs);
    alm_pool_deinit(&slot->pool);
    alm_arena_deinit(&slot->lasting);
    alm_arena_deinit(&slot->scratch);
}

static void sample_close(alm_op *op)
{
    alm_sample *s = (alm_sample *)op;
    alm_sample_fill_close(s->fill);
    for (uint32_t m = 0; s->round != NULL && m < ALM_SAMPLE_ROUND; m++)
        alm_pool_deinit(&s->round[m].pool);
    alm_pool_deinit(&s->carry.pool);
    alm_pool_deinit(&s->closed.pool);
    for (uint32_t i = 0; s->slot != NULL && i < s->n_slots; i++)
        slot_close(&s->slot[i]);
    slot_close(&s->own);
    alm_pipe_free(s->pipe); /* last: the slots live in its arenas */
}

static void sample_hint(alm_op *op, int64_t rows)
{
    ((alm_sample *)op)->hint = rows;
}

static const alm_op_vt sample_vt = {
    .name = "sample by", .next = sample_next, .close = sample_close, .hint = sample_hint};

alm_status alm_op_sample_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    alm_sample *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(alm_op_init(cx, &s->op, &sample_vt, run, plan, pipe));
    s->spec = &plan->sample;
    s->hint = INT64_MAX;
    ALM_ASSERT(plan->n_cols == 1 + s->spec->n_keys + s->spec->n_aggs);
    *out = &s->op;
    return ALM_OK;
}
