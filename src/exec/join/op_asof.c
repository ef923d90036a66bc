/*
 * op_asof.c - ASOF and LT joins: each left row with the last right row before it (ASOF: or at the same
 * time) that has its key. Both inputs come in time order, so one forward merge is enough.
 *
 * State       last[number of key] = row of the store that prevails now. A symbol key is its own number
 *             (the code of the right dictionary; left codes are translated once each); other keys get
 *             numbers from a key map; without keys there is number 0 alone.
 * Store       Right rows are copied to a store as they come. Row 0 is all nulls, and what `last` says
 *             for keys without a row, so that the merge has no branch for them. A right batch that
 *             lies before the next left row altogether leaves only its last row per key. From time to
 *             time the store is cut down to the rows that are still referred to: memory is bounded by
 *             keys and batches, not by the length of the right input.
 * Null rule   Null keys are equal. No row before: nulls on the right.
 * Order       That of the left input.
 */
#include "exec/eval/origin.h"
#include "exec/join/asof.h"
#include "exec/run/op_make.h"

enum { STORE_MIN = 1 << 17 };

typedef enum key_mode { KEY_UNKNOWN, KEY_NONE, KEY_CODE, KEY_MAP } key_mode;

typedef struct op_asof {
    alm_op op;
    bool strict; /* LT */
    alm_asof_units units;
    alm_pool pool; /* everything but the store */
    /* keys */
    key_mode mode;
    alm_eval *left_eval, *right_eval;
    alm_vec *left_key, *right_key;
    uint32_t n_keys;
    const alm_dict *dict; /* KEY_CODE */
    alm_join_codes codes;
    alm_keymap *map; /* KEY_MAP */
    uint32_t *last;  /* by number; entry n_last is always row 0 */
    uint32_t n_last;
    /* store: two sets of rows in turn, each with its pool */
    alm_rows store[2];
    alm_pool store_pool[2];
    alm_rows_col *fresh; /* columns of an empty store */
    uint32_t at_store;
    uint32_t kept; /* rows that survived the last cut */
    uint32_t *pick;
    uint32_t *seen; /* by number: stamp of the batch that met it last */
    uint32_t stamp;
    /* right batch under way */
    alm_arena right_arena;
    const int64_t *right_ts;
    uint32_t *right_number;
    uint32_t right_at, right_n; /* rows of the batch; the store has them from right_base */
    uint32_t right_base;
    bool right_ended, right_started;
    /* left batch under way */
    alm_arena left_arena;
    const int64_t *left_ts;
    const int64_t *left_bound; /* right rows with a time <= it may prevail */
    uint32_t *left_number;
    uint32_t *match; /* row of the store per left row */
} op_asof;

alm_status alm_asof_times(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, uint32_t n_rows,
                          const int64_t **out)
{
    int64_t *same = NULL;
    *out = vec->data;
    if (!vec->is_const)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * sizeof *same, &same));
    for (uint32_t i = 0; i < n_rows; i++)
        same[i] = *(const int64_t *)vec->data;
    *out = same;
    return ALM_OK;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

alm_status alm_asof_bounds(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, uint32_t n_rows,
                           const alm_asof_units *units, bool before, const int64_t **out)
{
    const int64_t *ts = NULL;
    int64_t *bound = NULL;
    ALM_TRY(alm_asof_times(cx, arena, vec, n_rows, &ts));
    *out = ts;
    if (!before && units->left == 1 && units->right == 1)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * sizeof *bound, &bound));
    for (uint32_t i = 0; i < n_rows; i++) {
        int64_t time;
        if (__builtin_mul_overflow(ts[i], units->left, &time)) {
            bound[i] = ts[i] < 0 ? INT64_MIN : INT64_MAX; /* before or behind all that there is */
            continue;
        }
        time -= before && time != INT64_MIN;
        bound[i] = units->right == 1 || ts[i] == INT64_MIN ? time : floor_div(time, units->right);
    }
    *out = bound;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ keys */

static alm_status op_asof_reserve_last(alm_ctx *cx, op_asof *asof, uint32_t n)
{
    if (asof->last != NULL && n <= asof->n_last)
        return ALM_OK;
    const uint32_t room = ALM_MAX(n, asof->n_last * 2);
    const size_t old = asof->last == NULL ? 0 : (size_t)asof->n_last * sizeof *asof->last;
    const size_t bytes = ((size_t)room + 1) * sizeof *asof->last;
    ALM_TRY(alm_pool_grow(cx, &asof->pool, &asof->last, old, bytes));
    ALM_TRY(alm_pool_grow(cx, &asof->pool, &asof->seen, old, bytes));
    memset((char *)asof->last + old, 0, bytes - old);
    memset((char *)asof->seen + old, 0, bytes - old);
    asof->n_last = room;
    return ALM_OK;
}

static alm_status map_from_codes(alm_ctx *cx, op_asof *asof);

static alm_status op_asof_map_new(alm_ctx *cx, op_asof *asof)
{
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, asof->n_keys, &types));
    for (uint32_t key = 0; key < asof->n_keys; key++) {
        types[key] = asof->op.plan->join.right_keys[key]->type;
        if (asof->op.plan->join.left_keys[key]->type.id != types[key].id)
            types[key] = ALM_TY(VARCHAR); /* kinds of text may mix */
    }
    return alm_keymap_new(cx, &asof->pool, types, asof->n_keys, &asof->map);
}

/* From codes to a map: another dictionary has come. Numbers stay what they are. */
static alm_status map_from_codes(alm_ctx *cx, op_asof *asof)
{
    const uint32_t n_codes = asof->dict->count;
    uint32_t *code = NULL;
    ALM_TRY(op_asof_map_new(cx, asof));
    ALM_TRY(alm_pool_alloc(cx, &asof->pool, 2 * (size_t)n_codes * sizeof *code, &code));
    for (uint32_t i = 0; i < n_codes; i++)
        code[i] = i;
    for (uint32_t place = 0; place < n_codes; place += ALM_BATCH_ROWS) {
        const alm_vec vec = {.type = ALM_TY(SYMBOL),
                             .width = sizeof *code,
                             .dict = asof->dict,
                             .data = code + place};
        ALM_TRY(alm_keymap_add(cx, asof->map, &vec,
                               ALM_MIN((uint32_t)ALM_BATCH_ROWS, n_codes - place),
                               code + n_codes + place));
    }
    ALM_ASSERT(alm_keymap_count(asof->map) == n_codes); /* texts of a dictionary differ */
    alm_pool_free(&asof->pool, code);
    asof->mode = KEY_MAP;
    return ALM_OK;
}

static alm_status choose_mode(alm_ctx *cx, op_asof *asof)
{
    const alm_dict *dict = asof->n_keys == 1 ? asof->right_key[0].dict : NULL;
    if (dict != NULL) {
        asof->mode = KEY_CODE;
        asof->dict = dict;
        return op_asof_reserve_last(cx, asof, dict->count);
    }
    asof->mode = KEY_MAP;
    return op_asof_map_new(cx, asof);
}

static alm_status map_numbers(alm_ctx *cx, op_asof *asof, const alm_vec *key, uint32_t n_rows,
                              uint32_t *number)
{
    ALM_TRY(alm_keymap_add(cx, asof->map, key, n_rows, number));
    return op_asof_reserve_last(cx, asof, alm_keymap_count(asof->map));
}

static alm_status right_numbers(alm_ctx *cx, op_asof *asof, alm_batch *batch)
{
    if (asof->mode == KEY_NONE) {
        memset(asof->right_number, 0, batch->rows * sizeof *asof->right_number);
        return ALM_OK;
    }
    ALM_TRY(alm_eval_run(cx, asof->right_eval, &asof->right_arena, batch, asof->right_key));
    if (asof->mode == KEY_UNKNOWN)
        ALM_TRY(choose_mode(cx, asof));
    const alm_vec *vec = &asof->right_key[0];
    if (asof->mode == KEY_CODE && (vec->dict == NULL || vec->dict->id != asof->dict->id))
        ALM_TRY(map_from_codes(cx, asof));
    if (asof->mode == KEY_MAP)
        return map_numbers(cx, asof, asof->right_key, batch->rows, asof->right_number);
    if (vec->dict->count > asof->dict->count) {
        asof->dict = vec->dict;
        ALM_TRY(op_asof_reserve_last(cx, asof, asof->dict->count));
    }
    for (uint32_t i = 0; i < batch->rows; i++)
        asof->right_number[i] = alm_vec_code(vec, i);
    return ALM_OK;
}

/* Needs asof->mode, so the first right batch comes before the first left one. */
static alm_status op_asof_left_numbers(alm_ctx *cx, op_asof *asof, alm_batch *batch)
{
    if (asof->mode == KEY_NONE || asof->mode == KEY_UNKNOWN) {
        memset(asof->left_number, 0, batch->rows * sizeof *asof->left_number);
        return ALM_OK;
    }
    ALM_TRY(alm_eval_run(cx, asof->left_eval, &asof->left_arena, batch, asof->left_key));
    if (asof->mode == KEY_MAP)
        return map_numbers(cx, asof, asof->left_key, batch->rows, asof->left_number);
    ALM_TRY(alm_join_translate(cx, &asof->pool, &asof->codes, asof->dict, &asof->left_key[0],
                               batch->rows, asof->left_number));
    for (uint32_t i = 0; i < batch->rows; i++)
        asof->left_number[i] = ALM_MIN(asof->left_number[i], asof->n_last);
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- store */

/* Row 0, in the form the columns of `like` have. */
static alm_status append_null_row(alm_ctx *cx, op_asof *asof, const alm_batch *like)
{
    alm_rows *store = &asof->store[asof->at_store];
    alm_vec *nulls = NULL;
    ALM_TRY(ALM_NEWN(cx, &asof->right_arena, store->n_cols + 1, &nulls));
    for (uint32_t col = 0; col < store->n_cols; col++) {
        const alm_expr expr = {.kind = ALM_X_COL, .type = store->col[col].type, .col = col};
        const alm_dict *dict =
            like != NULL ? like->cols[col].dict : alm_origin_dict(asof->op.plan->child[1], &expr);
        ALM_TRY(alm_vec_null(cx, &asof->right_arena, store->col[col].type, &nulls[col]));
        if (dict != NULL) {
            nulls[col].dict = dict;
            nulls[col].width = sizeof(uint32_t);
            memset(nulls[col].data, 0, nulls[col].width);
        }
    }
    return alm_rows_append_picked(cx, store, nulls, NULL, 1);
}

/* Drops rows nothing refers to. match[0..n_match) belongs to the left batch under way. */
static alm_status cut_store(alm_ctx *cx, op_asof *asof, uint32_t n_match)
{
    alm_rows *from = &asof->store[asof->at_store], *to = &asof->store[1 - asof->at_store];
    uint32_t *place = NULL, count = 0; /* new row + 1, 0: goes */
    ALM_TRY(alm_pool_zero(cx, &asof->pool, ((size_t)from->n + 1) * sizeof *place, &place));
    place[0] = 1;
    for (uint32_t last = 0; last < asof->n_last; last++)
        place[asof->last[last]] = 1;
    for (uint32_t i = 0; i < n_match; i++)
        place[asof->match[i]] = 1;
    uint32_t *pick = NULL;
    ALM_TRY(alm_pool_alloc(cx, &asof->pool, ((size_t)from->n + 1) * sizeof *pick, &pick));
    for (uint32_t row = 0; row < from->n; row++)
        if (place[row] != 0) {
            pick[count] = row;
            place[row] = count++;
        }
    alm_vec *vecs = NULL;
    ALM_TRY(ALM_NEWN(cx, &asof->right_arena, from->n_cols + 1, &vecs));
    for (uint32_t col = 0; col < from->n_cols; col++)
        alm_rows_slice(from, col, 0, &vecs[col]);
    memcpy(to->col, asof->fresh, from->n_cols * sizeof *to->col);
    ALM_TRY(alm_rows_append_picked(cx, to, vecs, pick, count));
    for (uint32_t last = 0; last < asof->n_last; last++)
        asof->last[last] = place[asof->last[last]];
    for (uint32_t i = 0; i < n_match; i++)
        asof->match[i] = place[asof->match[i]];
    alm_pool_free(&asof->pool, place);
    alm_pool_free(&asof->pool, pick);
    alm_pool_deinit(&asof->store_pool[asof->at_store]);
    *from = (alm_rows){.pool = from->pool, .col = from->col, .n_cols = from->n_cols};
    asof->at_store = 1 - asof->at_store;
    asof->kept = count;
    return ALM_OK;
}

/* Last row of each key in the batch, for a batch that no left row can see inside of. */
static uint32_t last_rows(op_asof *asof, uint32_t n)
{
    uint32_t k = 0;
    if (asof->mode == KEY_NONE) {
        asof->pick[0] = n - 1;
        return 1;
    }
    if (++asof->stamp == 0) { /* wrapped: forget all stamps */
        memset(asof->seen, 0, ((size_t)asof->n_last + 1) * sizeof *asof->seen);
        asof->stamp = 1;
    }
    for (uint32_t i = n; i-- > 0;) {
        const uint32_t number = asof->right_number[i];
        if (asof->seen[number] == asof->stamp)
            continue;
        asof->seen[number] = asof->stamp;
        asof->pick[k++] = i;
    }
    return k;
}

/*
 * The next right batch into the store. `now` is the bound of the left row that waits for it (none:
 * INT64_MIN), n_match the left rows already answered.
 */
static alm_status fetch_right(alm_ctx *cx, op_asof *asof, int64_t now, uint32_t n_match)
{
    alm_batch *batch = NULL;
    alm_vec *ts = NULL;
    ALM_TRY(alm_op_next(cx, asof->op.child[1], &batch));
    alm_arena_reset(&asof->right_arena);
    asof->right_at = asof->right_n = 0;
    alm_rows *store = &asof->store[asof->at_store];
    if (store->n == 0)
        ALM_TRY(append_null_row(cx, asof, batch));
    asof->right_started = true;
    asof->right_ended = batch == NULL;
    if (batch == NULL || batch->rows == 0)
        return ALM_OK;
    const uint32_t n_rows = batch->rows;
    ALM_TRY(alm_batch_column(cx, &asof->right_arena, batch, asof->op.plan->join.right_ts, &ts));
    ALM_TRY(alm_asof_times(cx, &asof->right_arena, ts, n_rows, &asof->right_ts));
    ALM_TRY(right_numbers(cx, asof, batch));
    if (store->n >= STORE_MIN && store->n / 4 >= asof->kept) {
        ALM_TRY(cut_store(cx, asof, n_match));
        store = &asof->store[asof->at_store];
    }
    asof->right_base = store->n;
    if (asof->right_ts[n_rows - 1] > now) {
        asof->right_n = n_rows;
        return alm_rows_append(cx, store, &asof->right_arena, batch);
    }
    const uint32_t k = last_rows(asof, n_rows);
    for (uint32_t col = 0; col < batch->n_cols; col++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &asof->right_arena, batch, col, &dense));
    }
    ALM_TRY(alm_rows_append_picked(cx, store, batch->cols, asof->pick, k));
    for (uint32_t i = 0; i < k; i++)
        asof->last[asof->right_number[asof->pick[i]]] = asof->right_base + i;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- merge */

/*
 * Answers left rows [i, n) as far as the right batch reaches; returns the row that needs more of the
 * right input (n: none).
 */
static uint32_t op_asof_merge(op_asof *asof, uint32_t i, uint32_t n)
{
    const int64_t *restrict bound = asof->left_bound, *restrict rt = asof->right_ts;
    const uint32_t *restrict ln = asof->left_number, *restrict rn = asof->right_number;
    uint32_t *restrict last = asof->last, *restrict match = asof->match;
    uint32_t row = asof->right_at;
    const uint32_t m = asof->right_n, base = asof->right_base;
    const bool all = asof->right_ended;
    for (; i < n; i++) {
        const int64_t b = bound[i];
        for (; row < m && rt[row] <= b; row++)
            last[rn[row]] = base + row;
        if (row == m && !all)
            break;
        match[i] = last[ln[i]];
    }
    asof->right_at = row;
    return i;
}

static void op_asof_apply_tolerance(op_asof *asof, uint32_t n)
{
    const alm_rows *store = &asof->store[asof->at_store];
    const int64_t *ts = (const int64_t *)(void *)store->col[asof->op.plan->join.right_ts].data;
    if (asof->units.tolerance < 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (alm_asof_too_far(&asof->units, asof->left_ts[i], ts[asof->match[i]]))
            asof->match[i] = 0;
}

static alm_status op_asof_match_batch(alm_ctx *cx, op_asof *asof, alm_batch *left)
{
    alm_vec *ts = NULL;
    const uint32_t n_rows = left->rows;
    ALM_TRY(alm_batch_column(cx, &asof->left_arena, left, asof->op.plan->join.left_ts, &ts));
    ALM_TRY(alm_asof_times(cx, &asof->left_arena, ts, n_rows, &asof->left_ts));
    ALM_TRY(alm_asof_bounds(cx, &asof->left_arena, ts, n_rows, &asof->units, asof->strict,
                            &asof->left_bound));
    if (!asof->right_started)
        ALM_TRY(fetch_right(cx, asof, INT64_MIN, 0));
    ALM_TRY(op_asof_left_numbers(cx, asof, left));
    for (uint32_t i = 0;;) {
        i = op_asof_merge(asof, i, n_rows);
        if (i == n_rows)
            break;
        const uint32_t was = asof->n_last;
        const key_mode mode = asof->mode;
        ALM_TRY(fetch_right(cx, asof, asof->left_bound[i], i));
        if (mode != asof->mode || (was != asof->n_last && mode == KEY_CODE))
            ALM_TRY(op_asof_left_numbers(cx, asof,
                                         left)); /* numbers of keys without a row have moved */
    }
    op_asof_apply_tolerance(asof, n_rows);
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- operator */

static alm_status asof_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_asof *asof = (op_asof *)op;
    alm_batch *left = NULL;
    alm_arena_reset(&op->batch);
    alm_arena_reset(&asof->left_arena);
    ALM_TRY(alm_op_next(cx, op->child[0], &left));
    *out = NULL;
    if (left == NULL)
        return ALM_OK;
    ALM_TRY(op_asof_match_batch(cx, asof, left));
    memcpy(op->out.cols, left->cols, left->n_cols * sizeof *left->cols);
    op->out.rows = left->rows;
    op->out.sel = left->sel;
    *out = &op->out;
    return alm_rows_gather(cx, &asof->store[asof->at_store], &op->batch, asof->match, left->rows,
                           op->out.cols + left->n_cols);
}

static void asof_close(alm_op *op)
{
    op_asof *asof = (op_asof *)op;
    alm_eval_free(asof->left_eval);
    alm_eval_free(asof->right_eval);
    alm_pool_deinit(&asof->store_pool[0]);
    alm_pool_deinit(&asof->store_pool[1]);
    alm_pool_deinit(&asof->pool);
    alm_arena_deinit(&asof->left_arena);
    alm_arena_deinit(&asof->right_arena);
}

static void asof_hint(alm_op *op, int64_t rows)
{
    alm_op_hint(op->child[0], rows);
}

static int64_t asof_count(alm_ctx *cx, alm_op *op)
{
    return alm_op_count(cx, op->child[0]);
}

static bool asof_skip(alm_op *op, int64_t rows)
{
    return alm_op_skip(op->child[0], rows);
}

static const alm_op_vt asof_vt = {.name = "asof join",
                                  .next = asof_next,
                                  .close = asof_close,
                                  .hint = asof_hint,
                                  .count = asof_count,
                                  .skip = asof_skip};

static alm_status op_asof_make_keys(alm_ctx *cx, op_asof *asof, const alm_plan *plan)
{
    asof->n_keys = plan->join.n_keys;
    asof->mode = asof->n_keys == 0 ? KEY_NONE : KEY_UNKNOWN;
    ALM_TRY(op_asof_reserve_last(cx, asof, 1));
    if (asof->n_keys == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, asof->n_keys, &asof->left_key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, asof->n_keys, &asof->right_key));
    ALM_TRY(alm_eval_new(cx, (const alm_expr *const *)plan->join.left_keys, asof->n_keys,
                         &asof->left_eval));
    return alm_eval_new(cx, (const alm_expr *const *)plan->join.right_keys, asof->n_keys,
                        &asof->right_eval);
}

alm_status alm_op_asof_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                            alm_op **out)
{
    op_asof *asof = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &asof));
    ALM_TRY(alm_op_init(cx, &asof->op, &asof_vt, run, plan, pipe));
    alm_arena_init(&asof->left_arena, cx->mem);
    alm_arena_init(&asof->right_arena, cx->mem);
    alm_pool_init(&asof->pool, cx->mem, asof_vt.name);
    alm_pool_init(&asof->store_pool[0], cx->mem, asof_vt.name);
    alm_pool_init(&asof->store_pool[1], cx->mem, asof_vt.name);
    *out = &asof->op;
    asof->strict = plan->join.kind == ALM_JOIN_LT;
    asof->units = alm_asof_units_of(plan);
    const alm_plan *right = plan->child[1];
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols + right->n_cols);
    ALM_TRY(alm_op_child(cx, &asof->op, 0));
    ALM_TRY(alm_op_child(cx, &asof->op, 1));
    for (uint32_t i = 0; i < 2; i++)
        ALM_TRY(
            alm_rows_init(cx, &asof->store[i], &asof->store_pool[i], right->cols, right->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &asof->fresh));
    memcpy(asof->fresh, asof->store[0].col, right->n_cols * sizeof *asof->fresh);
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &asof->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &asof->right_number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &asof->left_number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &asof->match));
    return op_asof_make_keys(cx, asof, plan);
}
