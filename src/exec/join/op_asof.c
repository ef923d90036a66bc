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

alm_status alm_asof_times(alm_ctx *cx, alm_arena *arena, const alm_vec *v, uint32_t n,
                          const int64_t **out)
{
    int64_t *same = NULL;
    *out = v->data;
    if (!v->is_const)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * sizeof *same, &same));
    for (uint32_t i = 0; i < n; i++)
        same[i] = *(const int64_t *)v->data;
    *out = same;
    return ALM_OK;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

alm_status alm_asof_bounds(alm_ctx *cx, alm_arena *arena, const alm_vec *v, uint32_t n,
                           const alm_asof_units *units, bool before, const int64_t **out)
{
    const int64_t *ts = NULL;
    int64_t *bound = NULL;
    ALM_TRY(alm_asof_times(cx, arena, v, n, &ts));
    *out = ts;
    if (!before && units->left == 1 && units->right == 1)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * sizeof *bound, &bound));
    for (uint32_t i = 0; i < n; i++) {
        int64_t t;
        if (__builtin_mul_overflow(ts[i], units->left, &t)) {
            bound[i] = ts[i] < 0 ? INT64_MIN : INT64_MAX; /* before or behind all that there is */
            continue;
        }
        t -= before && t != INT64_MIN;
        bound[i] = units->right == 1 || ts[i] == INT64_MIN ? t : floor_div(t, units->right);
    }
    *out = bound;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ keys */

static alm_status reserve_last(alm_ctx *cx, op_asof *a, uint32_t n)
{
    if (a->last != NULL && n <= a->n_last)
        return ALM_OK;
    const uint32_t room = ALM_MAX(n, a->n_last * 2);
    const size_t old = a->last == NULL ? 0 : (size_t)a->n_last * sizeof *a->last;
    const size_t bytes = ((size_t)room + 1) * sizeof *a->last;
    ALM_TRY(alm_pool_grow(cx, &a->pool, &a->last, old, bytes));
    ALM_TRY(alm_pool_grow(cx, &a->pool, &a->seen, old, bytes));
    memset((char *)a->last + old, 0, bytes - old);
    memset((char *)a->seen + old, 0, bytes - old);
    a->n_last = room;
    return ALM_OK;
}

static alm_status map_from_codes(alm_ctx *cx, op_asof *a);

static alm_status map_new(alm_ctx *cx, op_asof *a)
{
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_keys, &types));
    for (uint32_t k = 0; k < a->n_keys; k++) {
        types[k] = a->op.plan->join.right_keys[k]->type;
        if (a->op.plan->join.left_keys[k]->type.id != types[k].id)
            types[k] = ALM_TY(VARCHAR); /* kinds of text may mix */
    }
    return alm_keymap_new(cx, &a->pool, types, a->n_keys, &a->map);
}

/* From codes to a map: another dictionary has come. Numbers stay what they are. */
static alm_status map_from_codes(alm_ctx *cx, op_asof *a)
{
    const uint32_t n = a->dict->count;
    uint32_t *code = NULL;
    ALM_TRY(map_new(cx, a));
    ALM_TRY(alm_pool_alloc(cx, &a->pool, 2 * (size_t)n * sizeof *code, &code));
    for (uint32_t i = 0; i < n; i++)
        code[i] = i;
    for (uint32_t at = 0; at < n; at += ALM_BATCH_ROWS) {
        const alm_vec v = {
            .type = ALM_TY(SYMBOL), .width = sizeof *code, .dict = a->dict, .data = code + at};
        ALM_TRY(alm_keymap_add(cx, a->map, &v, ALM_MIN((uint32_t)ALM_BATCH_ROWS, n - at),
                               code + n + at));
    }
    ALM_ASSERT(alm_keymap_count(a->map) == n); /* texts of a dictionary differ */
    alm_pool_free(&a->pool, code);
    a->mode = KEY_MAP;
    return ALM_OK;
}

static alm_status choose_mode(alm_ctx *cx, op_asof *a)
{
    const alm_dict *dict = a->n_keys == 1 ? a->right_key[0].dict : NULL;
    if (dict != NULL) {
        a->mode = KEY_CODE;
        a->dict = dict;
        return reserve_last(cx, a, dict->count);
    }
    a->mode = KEY_MAP;
    return map_new(cx, a);
}

static alm_status map_numbers(alm_ctx *cx, op_asof *a, const alm_vec *key, uint32_t n,
                              uint32_t *number)
{
    ALM_TRY(alm_keymap_add(cx, a->map, key, n, number));
    return reserve_last(cx, a, alm_keymap_count(a->map));
}

static alm_status right_numbers(alm_ctx *cx, op_asof *a, alm_batch *in)
{
    if (a->mode == KEY_NONE) {
        memset(a->right_number, 0, in->rows * sizeof *a->right_number);
        return ALM_OK;
    }
    ALM_TRY(alm_eval_run(cx, a->right_eval, &a->right_arena, in, a->right_key));
    if (a->mode == KEY_UNKNOWN)
        ALM_TRY(choose_mode(cx, a));
    const alm_vec *v = &a->right_key[0];
    if (a->mode == KEY_CODE && (v->dict == NULL || v->dict->id != a->dict->id))
        ALM_TRY(map_from_codes(cx, a));
    if (a->mode == KEY_MAP)
        return map_numbers(cx, a, a->right_key, in->rows, a->right_number);
    if (v->dict->count > a->dict->count) {
        a->dict = v->dict;
        ALM_TRY(reserve_last(cx, a, a->dict->count));
    }
    for (uint32_t i = 0; i < in->rows; i++)
        a->right_number[i] = alm_vec_code(v, i);
    return ALM_OK;
}

/* Needs a->mode, so the first right batch comes before the first left one. */
static alm_status left_numbers(alm_ctx *cx, op_asof *a, alm_batch *in)
{
    if (a->mode == KEY_NONE || a->mode == KEY_UNKNOWN) {
        memset(a->left_number, 0, in->rows * sizeof *a->left_number);
        return ALM_OK;
    }
    ALM_TRY(alm_eval_run(cx, a->left_eval, &a->left_arena, in, a->left_key));
    if (a->mode == KEY_MAP)
        return map_numbers(cx, a, a->left_key, in->rows, a->left_number);
    ALM_TRY(alm_join_translate(cx, &a->pool, &a->codes, a->dict, &a->left_key[0], in->rows,
                               a->left_number));
    for (uint32_t i = 0; i < in->rows; i++)
        a->left_number[i] = ALM_MIN(a->left_number[i], a->n_last);
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- store */

/* Row 0, in the form the columns of `like` have. */
static alm_status append_null_row(alm_ctx *cx, op_asof *a, const alm_batch *like)
{
    alm_rows *store = &a->store[a->at_store];
    alm_vec *nulls = NULL;
    ALM_TRY(ALM_NEWN(cx, &a->right_arena, store->n_cols + 1, &nulls));
    for (uint32_t c = 0; c < store->n_cols; c++) {
        const alm_expr e = {.kind = ALM_X_COL, .type = store->col[c].type, .col = c};
        const alm_dict *dict =
            like != NULL ? like->cols[c].dict : alm_origin_dict(a->op.plan->child[1], &e);
        ALM_TRY(alm_vec_null(cx, &a->right_arena, store->col[c].type, &nulls[c]));
        if (dict != NULL) {
            nulls[c].dict = dict;
            nulls[c].width = sizeof(uint32_t);
            memset(nulls[c].data, 0, nulls[c].width);
        }
    }
    return alm_rows_append_picked(cx, store, nulls, NULL, 1);
}

/* Drops rows nothing refers to. match[0..n_match) belongs to the left batch under way. */
static alm_status cut_store(alm_ctx *cx, op_asof *a, uint32_t n_match)
{
    alm_rows *from = &a->store[a->at_store], *to = &a->store[1 - a->at_store];
    uint32_t *place = NULL, n = 0; /* new row + 1, 0: goes */
    ALM_TRY(alm_pool_zero(cx, &a->pool, ((size_t)from->n + 1) * sizeof *place, &place));
    place[0] = 1;
    for (uint32_t k = 0; k < a->n_last; k++)
        place[a->last[k]] = 1;
    for (uint32_t i = 0; i < n_match; i++)
        place[a->match[i]] = 1;
    uint32_t *pick = NULL;
    ALM_TRY(alm_pool_alloc(cx, &a->pool, ((size_t)from->n + 1) * sizeof *pick, &pick));
    for (uint32_t r = 0; r < from->n; r++)
        if (place[r] != 0) {
            pick[n] = r;
            place[r] = n++;
        }
    alm_vec *vecs = NULL;
    ALM_TRY(ALM_NEWN(cx, &a->right_arena, from->n_cols + 1, &vecs));
    for (uint32_t c = 0; c < from->n_cols; c++)
        alm_rows_slice(from, c, 0, &vecs[c]);
    memcpy(to->col, a->fresh, from->n_cols * sizeof *to->col);
    ALM_TRY(alm_rows_append_picked(cx, to, vecs, pick, n));
    for (uint32_t k = 0; k < a->n_last; k++)
        a->last[k] = place[a->last[k]];
    for (uint32_t i = 0; i < n_match; i++)
        a->match[i] = place[a->match[i]];
    alm_pool_free(&a->pool, place);
    alm_pool_free(&a->pool, pick);
    alm_pool_deinit(&a->store_pool[a->at_store]);
    *from = (alm_rows){.pool = from->pool, .col = from->col, .n_cols = from->n_cols};
    a->at_store = 1 - a->at_store;
    a->kept = n;
    return ALM_OK;
}

/* Last row of each key in the batch, for a batch that no left row can see inside of. */
static uint32_t last_rows(op_asof *a, uint32_t n)
{
    uint32_t k = 0;
    if (a->mode == KEY_NONE) {
        a->pick[0] = n - 1;
        return 1;
    }
    if (++a->stamp == 0) { /* wrapped: forget all stamps */
        memset(a->seen, 0, ((size_t)a->n_last + 1) * sizeof *a->seen);
        a->stamp = 1;
    }
    for (uint32_t i = n; i-- > 0;) {
        const uint32_t number = a->right_number[i];
        if (a->seen[number] == a->stamp)
            continue;
        a->seen[number] = a->stamp;
        a->pick[k++] = i;
    }
    return k;
}

/*
 * The next right batch into the store. `now` is the bound of the left row that waits for it (none:
 * INT64_MIN), n_match the left rows already answered.
 */
static alm_status fetch_right(alm_ctx *cx, op_asof *a, int64_t now, uint32_t n_match)
{
    alm_batch *in = NULL;
    alm_vec *ts = NULL;
    ALM_TRY(alm_op_next(cx, a->op.child[1], &in));
    alm_arena_reset(&a->right_arena);
    a->right_at = a->right_n = 0;
    alm_rows *store = &a->store[a->at_store];
    if (store->n == 0)
        ALM_TRY(append_null_row(cx, a, in));
    a->right_started = true;
    a->right_ended = in == NULL;
    if (in == NULL || in->rows == 0)
        return ALM_OK;
    const uint32_t n = in->rows;
    ALM_TRY(alm_batch_column(cx, &a->right_arena, in, a->op.plan->join.right_ts, &ts));
    ALM_TRY(alm_asof_times(cx, &a->right_arena, ts, n, &a->right_ts));
    ALM_TRY(right_numbers(cx, a, in));
    if (store->n >= STORE_MIN && store->n / 4 >= a->kept) {
        ALM_TRY(cut_store(cx, a, n_match));
        store = &a->store[a->at_store];
    }
    a->right_base = store->n;
    if (a->right_ts[n - 1] > now) {
        a->right_n = n;
        return alm_rows_append(cx, store, &a->right_arena, in);
    }
    const uint32_t k = last_rows(a, n);
    for (uint32_t c = 0; c < in->n_cols; c++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &a->right_arena, in, c, &dense));
    }
    ALM_TRY(alm_rows_append_picked(cx, store, in->cols, a->pick, k));
    for (uint32_t i = 0; i < k; i++)
        a->last[a->right_number[a->pick[i]]] = a->right_base + i;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- merge */

/*
 * Answers left rows [i, n) as far as the right batch reaches; returns the row that needs more of the
 * right input (n: none).
 */
static uint32_t merge(op_asof *a, uint32_t i, uint32_t n)
{
    const int64_t *restrict bound = a->left_bound, *restrict rt = a->right_ts;
    const uint32_t *restrict ln = a->left_number, *restrict rn = a->right_number;
    uint32_t *restrict last = a->last, *restrict match = a->match;
    uint32_t r = a->right_at;
    const uint32_t m = a->right_n, base = a->right_base;
    const bool all = a->right_ended;
    for (; i < n; i++) {
        const int64_t b = bound[i];
        for (; r < m && rt[r] <= b; r++)
            last[rn[r]] = base + r;
        if (r == m && !all)
            break;
        match[i] = last[ln[i]];
    }
    a->right_at = r;
    return i;
}

static void apply_tolerance(op_asof *a, uint32_t n)
{
    const alm_rows *store = &a->store[a->at_store];
    const int64_t *ts = (const int64_t *)(void *)store->col[a->op.plan->join.right_ts].data;
    if (a->units.tolerance < 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (alm_asof_too_far(&a->units, a->left_ts[i], ts[a->match[i]]))
            a->match[i] = 0;
}

static alm_status match_batch(alm_ctx *cx, op_asof *a, alm_batch *left)
{
    alm_vec *ts = NULL;
    const uint32_t n = left->rows;
    ALM_TRY(alm_batch_column(cx, &a->left_arena, left, a->op.plan->join.left_ts, &ts));
    ALM_TRY(alm_asof_times(cx, &a->left_arena, ts, n, &a->left_ts));
    ALM_TRY(alm_asof_bounds(cx, &a->left_arena, ts, n, &a->units, a->strict, &a->left_bound));
    if (!a->right_started)
        ALM_TRY(fetch_right(cx, a, INT64_MIN, 0));
    ALM_TRY(left_numbers(cx, a, left));
    for (uint32_t i = 0;;) {
        i = merge(a, i, n);
        if (i == n)
            break;
        const uint32_t was = a->n_last;
        const key_mode mode = a->mode;
        ALM_TRY(fetch_right(cx, a, a->left_bound[i], i));
        if (mode != a->mode || (was != a->n_last && mode == KEY_CODE))
            ALM_TRY(left_numbers(cx, a, left)); /* numbers of keys without a row have moved */
    }
    apply_tolerance(a, n);
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- operator */

static alm_status asof_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_asof *a = (op_asof *)op;
    alm_batch *left = NULL;
    alm_arena_reset(&op->batch);
    alm_arena_reset(&a->left_arena);
    ALM_TRY(alm_op_next(cx, op->child[0], &left));
    *out = NULL;
    if (left == NULL)
        return ALM_OK;
    ALM_TRY(match_batch(cx, a, left));
    memcpy(op->out.cols, left->cols, left->n_cols * sizeof *left->cols);
    op->out.rows = left->rows;
    op->out.sel = left->sel;
    *out = &op->out;
    return alm_rows_gather(cx, &a->store[a->at_store], &op->batch, a->match, left->rows,
                           op->out.cols + left->n_cols);
}

static void asof_close(alm_op *op)
{
    op_asof *a = (op_asof *)op;
    alm_eval_free(a->left_eval);
    alm_eval_free(a->right_eval);
    alm_pool_deinit(&a->store_pool[0]);
    alm_pool_deinit(&a->store_pool[1]);
    alm_pool_deinit(&a->pool);
    alm_arena_deinit(&a->left_arena);
    alm_arena_deinit(&a->right_arena);
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

static alm_status make_keys(alm_ctx *cx, op_asof *a, const alm_plan *plan)
{
    a->n_keys = plan->join.n_keys;
    a->mode = a->n_keys == 0 ? KEY_NONE : KEY_UNKNOWN;
    ALM_TRY(reserve_last(cx, a, 1));
    if (a->n_keys == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_keys, &a->left_key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_keys, &a->right_key));
    ALM_TRY(
        alm_eval_new(cx, (const alm_expr *const *)plan->join.left_keys, a->n_keys, &a->left_eval));
    return alm_eval_new(cx, (const alm_expr *const *)plan->join.right_keys, a->n_keys,
                        &a->right_eval);
}

alm_status alm_op_asof_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                            alm_op **out)
{
    op_asof *a = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &a));
    ALM_TRY(alm_op_init(cx, &a->op, &asof_vt, run, plan, pipe));
    alm_arena_init(&a->left_arena, cx->mem);
    alm_arena_init(&a->right_arena, cx->mem);
    alm_pool_init(&a->pool, cx->mem, asof_vt.name);
    alm_pool_init(&a->store_pool[0], cx->mem, asof_vt.name);
    alm_pool_init(&a->store_pool[1], cx->mem, asof_vt.name);
    *out = &a->op;
    a->strict = plan->join.kind == ALM_JOIN_LT;
    a->units = alm_asof_units_of(plan);
    const alm_plan *right = plan->child[1];
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols + right->n_cols);
    ALM_TRY(alm_op_child(cx, &a->op, 0));
    ALM_TRY(alm_op_child(cx, &a->op, 1));
    for (uint32_t i = 0; i < 2; i++)
        ALM_TRY(alm_rows_init(cx, &a->store[i], &a->store_pool[i], right->cols, right->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &a->fresh));
    memcpy(a->fresh, a->store[0].col, right->n_cols * sizeof *a->fresh);
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &a->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &a->right_number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &a->left_number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &a->match));
    return make_keys(cx, a, plan);
}
