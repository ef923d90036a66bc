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

alm_status alm_sample_bucketer(alm_ctx *cx, alm_sample *sample, int64_t first_ts)
{
    const alm_sample_spec *sample_spec = sample->spec;
    const alm_zone *zone = NULL;
    if (sample_spec->zone != NULL)
        ALM_TRY(alm_zone_find(cx, alm_str_of(sample_spec->zone), sample->op.plan->pos, &zone));
    alm_bucket_spec spec = alm_sample_buckets(sample_spec, sample->op.plan->cols[0].type, zone);
    if (sample_spec->first_observation) {
        spec.has_origin = true;
        spec.origin = first_ts;
    }
    ALM_TRY(alm_bucketer_init(cx, sample->op.plan->pos, &spec, &sample->bucketer));
    sample->have_bucketer = true;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- preparation */

static alm_status choose_keys(alm_ctx *cx, alm_sample *sample)
{
    const uint32_t n_keys = sample->spec->n_keys;
    uint64_t product = 1;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &sample->card));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &sample->dict));
    for (uint32_t k = 0; k < n_keys && product <= ALM_SAMPLE_DIRECT_MAX; k++) {
        sample->card[k] =
            alm_group_card(sample->op.plan->child[0], sample->spec->keys[k], &sample->dict[k]);
        product *= sample->card[k];
        if (product == 0)
            return ALM_OK;
    }
    sample->direct = n_keys > 0 && product <= ALM_SAMPLE_DIRECT_MAX;
    sample->n_codes = (uint32_t)ALM_MIN(product, (uint64_t)ALM_SAMPLE_DIRECT_MAX);
    return ALM_OK;
}

static alm_status op_sample_prepare(alm_ctx *cx, alm_sample *sample)
{
    const alm_plan *input = sample->op.plan->child[0];
    ALM_TRY(alm_sample_slot_ready(cx, sample, &sample->own));
    ALM_TRY(choose_keys(cx, sample));
    sample->sorted = input->op == ALM_P_SCAN && input->order == ALM_ORDER_ASC &&
                     input->ts_col == (int32_t)sample->spec->ts_col;
    ALM_TRY(alm_pipe_new(cx, sample->op.run, input, sample->op.plan, &sample->pipe));
    sample->n_slots = alm_pipe_slots(sample->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, sample->n_slots, &sample->slot));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_SAMPLE_ROUND, &sample->round));
    for (uint32_t m = 0; m < ALM_SAMPLE_ROUND; m++)
        alm_pool_init(&sample->round[m].pool, cx->mem, "sample by");
    alm_pool_init(&sample->carry.pool, cx->mem, "sample by");
    alm_pool_init(&sample->closed.pool, cx->mem, "sample by");
    ALM_TRY(alm_sample_part_ready(cx, sample, &sample->own, &sample->carry));
    ALM_TRY(alm_sample_part_ready(cx, sample, &sample->own, &sample->closed));
    if (sample->direct)
        ALM_TRY(
            alm_pool_zero(cx, &sample->own.pool, (size_t)sample->n_codes * 4, &sample->own.last));
    if (!sample->spec->first_observation)
        ALM_TRY(alm_sample_bucketer(cx, sample, 0));
    for (uint32_t m = 0; alm_pipe_parallel(sample->pipe) && !sample->have_bucketer; m++) {
        if (m == alm_pipe_morsels(sample->pipe))
            break; /* no rows at all */
        ALM_TRY(alm_pipe_run(cx, sample->pipe, m, m + 1, alm_sample_first, sample));
    }
    /* a consumer that needs only a few rows gets a small first round, because it may stop after that */
    sample->round_size =
        sample->hint < ALM_BATCH_ROWS ? ALM_MAX(sample->n_slots, 1U) : ALM_SAMPLE_ROUND;
    sample->round_size = ALM_MIN(sample->round_size, (uint32_t)ALM_SAMPLE_ROUND);
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ combine */

/* Numbers of the first groups of a part that share its first bucket. */
static uint32_t first_bucket_end(const alm_sample_part *part)
{
    uint32_t lo = 0, hi = part->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (part->bucket[mid] <= part->bucket[0])
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t last_bucket_begin(const alm_sample_part *part)
{
    const int64_t bucket = part->bucket[part->n - 1];
    uint32_t lo = 0, hi = part->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (part->bucket[mid] < bucket)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Group of carry for each of groups [lo, hi) of a part; new ones are added. */
static alm_status carry_groups(alm_ctx *cx, alm_sample *sample, const alm_sample_part *part,
                               uint32_t lo, uint32_t hi, uint32_t *group)
{
    alm_sample_part *sample_part = &sample->carry;
    const uint32_t len = hi - lo;
    if (sample_part->n + len > sample_part->cap) {
        const uint32_t cap = ALM_MAX(sample_part->n + len, 2 * sample_part->cap);
        ALM_TRY(alm_pool_grow(cx, &sample_part->pool, &sample_part->bucket,
                              (size_t)sample_part->n * 8, (size_t)cap * 8));
        ALM_TRY(alm_pool_grow(cx, &sample_part->pool, &sample_part->key, (size_t)sample_part->n * 4,
                              (size_t)cap * 4));
        sample_part->cap = cap;
    }
    if (sample->spec->n_keys > 0 && !sample->direct)
        ALM_TRY(alm_keymap_add_from(cx, sample_part->map, part->map, part->key + lo, len, group));
    for (uint32_t i = 0; i < len; i++) {
        if (sample->direct) {
            uint32_t *last = &sample->own.last[part->key[lo + i]];
            *last = *last == 0 ? sample_part->n + 1 : *last;
            group[i] = *last - 1;
        } else if (sample->spec->n_keys == 0) {
            group[i] = 0;
        }
        if (group[i] == sample_part->n) {
            sample_part->key[sample_part->n] = sample->direct ? part->key[lo + i] : group[i];
            sample_part->bucket[sample_part->n++] = part->bucket[lo];
        }
    }
    return ALM_OK;
}

/* Groups [lo, hi) of a part, all of one bucket, into carry. */
static alm_status add_to_carry(alm_ctx *cx, alm_sample *sample, const alm_sample_part *part,
                               uint32_t lo, uint32_t hi)
{
    uint32_t *group = NULL;
    alm_arena_reset(&sample->own.scratch);
    ALM_TRY(
        alm_arena_bytes(cx, &sample->own.scratch, ((size_t)hi - lo + 1) * sizeof *group, &group));
    ALM_TRY(carry_groups(cx, sample, part, lo, hi, group));
    ALM_TRY(alm_states_reserve(cx, sample->own.aggs, &sample->carry.states, &sample->carry.pool,
                               sample->carry.n));
    return alm_aggs_merge(cx, sample->own.aggs, &sample->carry.states, 0, group, &part->states, lo,
                          hi - lo);
}

/* carry is complete: it becomes `closed`, to be handed out; an empty one takes its place. */
static alm_status close_carry(alm_ctx *cx, alm_sample *sample)
{
    for (uint32_t i = 0; sample->direct && i < sample->carry.n; i++)
        sample->own.last[sample->carry.key[i]] = 0;
    const alm_sample_part swap = sample->closed;
    sample->closed = sample->carry;
    sample->carry = swap;
    ALM_TRY(alm_sample_part_ready(cx, sample, &sample->own, &sample->carry));
    sample->handing = &sample->closed;
    sample->group_at = 0;
    sample->group_end = sample->closed.n;
    return ALM_OK;
}

/* One step through the parts of the round; sample->handing is set when there are rows to hand out. */
static alm_status op_sample_step(alm_ctx *cx, alm_sample *sample, const alm_sample_part *part)
{
    if (sample->stage == ALM_SAMPLE_HEAD) {
        const bool same =
            part->n > 0 && sample->carry.n > 0 && sample->carry.bucket[0] == part->bucket[0];
        sample->body = same ? first_bucket_end(part) : 0;
        if (same)
            ALM_TRY(add_to_carry(cx, sample, part, 0, sample->body));
        if (sample->body == part->n) { /* nothing, or one bucket all along, which may go on */
            sample->part_at++;
            return ALM_OK;
        }
        sample->stage = ALM_SAMPLE_BODY;
        return sample->carry.n > 0 ? close_carry(cx, sample) : ALM_OK;
    }
    const uint32_t last = last_bucket_begin(part);
    if (sample->stage == ALM_SAMPLE_BODY) {
        sample->handing = part;
        sample->group_at = sample->body;
        sample->group_end = ALM_MAX(last, sample->body);
        sample->stage = ALM_SAMPLE_TAIL;
        return ALM_OK;
    }
    sample->stage = ALM_SAMPLE_HEAD;
    sample->part_at++;
    return add_to_carry(cx, sample, part, ALM_MAX(last, sample->body), part->n);
}

/* The part at hand, backward: its last group may be that of carry, its first may go on. */
static alm_status step_back(alm_ctx *cx, alm_sample *sample, const alm_sample_part *part)
{
    if (sample->stage == ALM_SAMPLE_HEAD) {
        if (part->n == 0) {
            sample->part_at++;
            return ALM_OK;
        }
        const bool same =
            sample->carry.n > 0 && sample->carry.bucket[0] == part->bucket[part->n - 1];
        sample->body = part->n;
        if (same) {
            const alm_sample_part later = sample->carry;
            sample->carry = sample->closed; /* handed out, if ever it was */
            sample->closed = later;
            sample->body--;
            ALM_TRY(alm_sample_part_ready(cx, sample, &sample->own, &sample->carry));
            ALM_TRY(add_to_carry(cx, sample, part, sample->body, part->n));
            ALM_TRY(add_to_carry(cx, sample, &sample->closed, 0, 1));
        }
        if (sample->body == 0) { /* one bucket all along, which may go on */
            sample->part_at++;
            return ALM_OK;
        }
        sample->stage = ALM_SAMPLE_BODY;
        return sample->carry.n > 0 ? close_carry(cx, sample) : ALM_OK;
    }
    if (sample->stage == ALM_SAMPLE_BODY) {
        sample->handing = part;
        sample->group_at = 1;
        sample->group_end = sample->body;
        sample->stage = ALM_SAMPLE_TAIL;
        return ALM_OK;
    }
    sample->stage = ALM_SAMPLE_HEAD;
    sample->part_at++;
    return add_to_carry(cx, sample, part, 0, 1);
}

static alm_status run_round(alm_ctx *cx, alm_sample *sample)
{
    const uint32_t left = alm_pipe_morsels(sample->pipe) - sample->next_morsel;
    sample->round_n = ALM_MIN(sample->round_size, left);
    sample->round_lo = sample->spec->backward ? left - sample->round_n : sample->next_morsel;
    sample->next_morsel += sample->round_n;
    sample->round_size = ALM_SAMPLE_ROUND;
    sample->part_at = 0;
    sample->stage = ALM_SAMPLE_HEAD;
    return alm_pipe_run(cx, sample->pipe, sample->round_lo, sample->round_lo + sample->round_n,
                        alm_sample_collect, sample);
}

/* Groups ready to be handed out in sample->handing; NULL: the end. */
static alm_status op_sample_find_groups(alm_ctx *cx, alm_sample *sample)
{
    while (sample->handing == NULL || sample->group_at == sample->group_end) {
        sample->handing = NULL;
        if (sample->part_at < sample->round_n && sample->spec->backward)
            ALM_TRY(step_back(cx, sample, &sample->round[sample->round_n - 1 - sample->part_at]));
        else if (sample->part_at < sample->round_n)
            ALM_TRY(op_sample_step(cx, sample, &sample->round[sample->part_at]));
        else if (sample->next_morsel < alm_pipe_morsels(sample->pipe))
            ALM_TRY(run_round(cx, sample));
        else if (sample->carry.n > 0)
            ALM_TRY(close_carry(cx, sample));
        else
            return ALM_OK;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- handing out */

/* Key column k of n groups from their codes. */
static alm_status code_column(alm_ctx *cx, alm_sample *sample, uint32_t k, const uint32_t *code,
                              uint32_t n_codes, alm_vec *out)
{
    uint32_t below = 1;
    const bool symbol = sample->dict[k] != NULL;
    void *data = NULL;
    for (uint32_t i = k + 1; i < sample->spec->n_keys; i++)
        below *= sample->card[i];
    ALM_TRY(alm_arena_bytes(cx, &sample->op.batch, (size_t)n_codes * 4, &data));
    for (uint32_t i = 0; i < n_codes; i++) {
        const uint32_t one =
            sample->spec->n_keys == 1 ? code[i] : code[i] / below % sample->card[k];
        if (symbol)
            ((uint32_t *)data)[i] = one;
        else
            ((uint8_t *)data)[i] = (uint8_t)one;
    }
    *out = (alm_vec){.type = sample->spec->keys[k]->type,
                     .width = symbol ? 4 : 1,
                     .dict = sample->dict[k],
                     .data = data};
    return ALM_OK;
}

/* The rows at hand, last one first. */
static alm_status turn_columns(alm_ctx *cx, alm_sample *sample, uint32_t n)
{
    uint32_t *from = NULL;
    ALM_TRY(alm_arena_bytes(cx, &sample->op.batch, (size_t)n * sizeof *from, &from));
    for (uint32_t i = 0; i < n; i++)
        from[i] = n - 1 - i;
    for (uint32_t col = 0; col < sample->op.out.n_cols; col++) {
        const alm_vec vec = sample->op.out.cols[col];
        if (!vec.is_const)
            ALM_TRY(
                alm_vec_gather(cx, &sample->op.batch, &vec, from, n, &sample->op.out.cols[col]));
    }
    return ALM_OK;
}

static alm_status raw_next(alm_ctx *cx, alm_sample *sample, alm_batch **out)
{
    *out = NULL;
    ALM_TRY(op_sample_find_groups(cx, sample));
    if (sample->handing == NULL)
        return ALM_OK;
    const alm_sample_part *part = sample->handing;
    const bool backward = sample->spec->backward;
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, sample->group_end - sample->group_at);
    const uint32_t place = backward ? sample->group_end - n_rows : sample->group_at,
                   n_keys = sample->spec->n_keys;
    alm_vec *cols = sample->op.out.cols;
    alm_arena_reset(&sample->op.batch);
    cols[0] =
        (alm_vec){.type = sample->op.plan->cols[0].type, .width = 8, .data = part->bucket + place};
    for (uint32_t key = 0; key < n_keys; key++) {
        if (sample->direct)
            ALM_TRY(code_column(cx, sample, key, part->key + place, n_rows, &cols[1 + key]));
        else
            ALM_TRY(alm_keymap_values(cx, part->map, &sample->op.batch, key, 0, part->key + place,
                                      n_rows, &cols[1 + key]));
    }
    for (uint32_t i = 0; i < sample->spec->n_aggs; i++)
        ALM_TRY(alm_aggs_finish(cx, sample->own.aggs, &part->states, i, place, n_rows,
                                &sample->op.batch, &cols[1 + n_keys + i]));
    sample->op.out.rows = n_rows;
    sample->group_at += backward ? 0 : n_rows;
    sample->group_end -= backward ? n_rows : 0;
    if (backward)
        ALM_TRY(turn_columns(cx, sample, n_rows));
    *out = &sample->op.out;
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
    alm_sample *sample = (alm_sample *)op;
    *out = NULL;
    if (!sample->prepared) {
        ALM_TRY(op_sample_prepare(cx, sample));
        sample->prepared = true;
        if (fills(sample->spec))
            ALM_TRY(alm_sample_fill_new(cx, sample, &sample->fill));
    }
    if (sample->fill != NULL)
        return alm_sample_fill_next(cx, sample, raw_next, out);
    return raw_next(cx, sample, out);
}

static void op_sample_slot_close(alm_sample_slot *slot)
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
    alm_sample *sample = (alm_sample *)op;
    alm_sample_fill_close(sample->fill);
    for (uint32_t m = 0; sample->round != NULL && m < ALM_SAMPLE_ROUND; m++)
        alm_pool_deinit(&sample->round[m].pool);
    alm_pool_deinit(&sample->carry.pool);
    alm_pool_deinit(&sample->closed.pool);
    for (uint32_t i = 0; sample->slot != NULL && i < sample->n_slots; i++)
        op_sample_slot_close(&sample->slot[i]);
    op_sample_slot_close(&sample->own);
    alm_pipe_free(sample->pipe); /* last: the slots live in its arenas */
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
    alm_sample *sample = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &sample));
    ALM_TRY(alm_op_init(cx, &sample->op, &sample_vt, run, plan, pipe));
    sample->spec = &plan->sample;
    sample->hint = INT64_MAX;
    ALM_ASSERT(plan->n_cols == 1 + sample->spec->n_keys + sample->spec->n_aggs);
    *out = &sample->op;
    return ALM_OK;
}
