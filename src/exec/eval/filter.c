/*
 * filter.c - which rows of a batch pass a list of conditions.
 *
 * A CODE step (symbol equal to one of some constants, or to none) and a RANGE step (column between
 * two bounds, negated or not) read the column directly and write one byte per row; neighbours of this
 * kind are combined before rows are numbered, unless few are left, for which the next column is then
 * read alone. An EXPR step evaluates its expression over the rows that are still in. CODE steps come
 * first, because their columns are narrow, then RANGE, then EXPR, each in the order of the conjuncts.
 *
 * What a comparison means (null, infinities, tolerance of floating equality) belongs to its kernel:
 * a RANGE is made only after asking the kernel about the values at the borders, and moves its borders
 * to where the kernel's answer changes.
 */
#include <math.h>

#include "exec/eval/eval.h"
#include "exec/eval/range.h"
#include "exec/run/op.h"

enum {
    CODES_MAX = 16, /* texts of one CODE step: each is a pass over the codes of a batch */
    FEW = 8,        /* a batch is narrowed between direct steps when one row in so many is left */
    SPARSE = 6,     /* rows of 64 that are taken one by one */
    ROWS_OF_A_STEP = 4,
    STEP_WORK = 64 /* of making a step: alm_steps_add */
};

typedef enum step_kind { STEP_RANGE, STEP_CODE, STEP_EXPR } step_kind;

typedef struct filter_step {
    step_kind kind;
    uint32_t col;
    alm_range range; /* RANGE */
    bool skip;       /* RANGE: known to hold for all rows of the block */
    alm_str *text;   /* CODE */
    uint32_t n_texts;
    bool negate;                  /* CODE */
    uint32_t dict_id, dict_count; /* CODE: the dictionary of code[] */
    uint32_t *code, n_codes;      /* of those texts that it has */
    bool looked_up;
    alm_eval *eval; /* EXPR */
} filter_step;

struct alm_filter {
    filter_step *step;
    uint32_t n;
    uint32_t *range; /* steps that are RANGE */
    uint32_t n_ranges;
    uint32_t *
        plain; /* of these, while it is made, those without a NOT: one for each column, which others narrow */
    uint32_t n_plain;
    uint8_t *keep; /* one byte per row */
    bool masks;    /* the outcome may stay in keep */
    const uint8_t *mask;
    uint16_t *sel, *spare;
    uint32_t cap;  /* rows the buffers hold */
    alm_vec *cols; /* columns of the batch under a selection */
    uint32_t n_cols;
    alm_arena *arena;
    alm_arena batch;
};

/* -------------------------------------------------------------------------------- compilation */

/* col <op> const, or mirrored. */
static bool comparison(const alm_expr *expr, const alm_expr **col, const alm_expr **value, char *op)
{
    static const struct {
        const char *name;
        char op, mirrored;
    } ops[] = {{"=", '=', '='}, {"!=", '!', '!'}, {"<>", '!', '!'}, {"<", '<', '>'},
               {">", '>', '<'}, {"<=", 'l', 'g'}, {">=", 'g', 'l'}};
    if (expr->kind != ALM_X_CALL || expr->n_args != 2)
        return false;
    const bool plain = expr->args[0]->kind == ALM_X_COL && expr->args[1]->kind == ALM_X_CONST;
    const bool mirror = expr->args[1]->kind == ALM_X_COL && expr->args[0]->kind == ALM_X_CONST;
    if (!plain && !mirror)
        return false;
    *col = expr->args[plain ? 0 : 1];
    *value = expr->args[plain ? 1 : 0];
    for (size_t i = 0; i < ALM_COUNT(ops); i++)
        if (strcmp(expr->fn->name, ops[i].name) == 0) {
            *op = plain ? ops[i].op : ops[i].mirrored;
            return true;
        }
    return false;
}

/* A step for symbol = text, symbol != text, symbol IN (text, ...), or NOT of the last. */
static alm_status code_step(alm_ctx *cx, filter_step *step, const alm_expr *expr, bool *made)
{
    const alm_expr *col = NULL, *value = NULL;
    char op = 0;
    *made = false;
    const bool isnt =
        expr->kind == ALM_X_CALL && expr->n_args == 1 && strcmp(expr->fn->name, "not") == 0;
    const alm_expr *in = isnt ? expr->args[0] : expr;
    const bool pair = comparison(expr, &col, &value, &op) && (op == '=' || op == '!');
    const bool list = !pair && in->kind == ALM_X_CALL && strcmp(in->fn->name, "in") == 0 &&
                      in->n_args > 1 && in->n_args <= CODES_MAX + 1 &&
                      in->args[0]->kind == ALM_X_COL;
    if (!pair && !list)
        return ALM_OK;
    col = pair ? col : in->args[0];
    step->n_texts = pair ? 1 : in->n_args - 1;
    if (col->type.id != ALM_T_SYMBOL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, step->n_texts, &step->text));
    ALM_TRY(ALM_NEWN(cx, cx->arena, step->n_texts, &step->code));
    for (uint32_t i = 0; i < step->n_texts; i++) {
        const alm_expr *v = pair ? value : in->args[1 + i];
        if (v->kind != ALM_X_CONST || !alm_type_is_text(v->value.type) ||
            alm_vec_is_null(&v->value, 0))
            return ALM_OK;
        step->text[i] = alm_vec_text(&v->value, 0);
    }
    step->kind = STEP_CODE;
    step->col = col->col;
    step->negate = pair ? op == '!' : isnt;
    *made = true;
    return ALM_OK;
}

static alm_status eval_filter_add_step(alm_ctx *cx, alm_filter *filter, const alm_expr *expr)
{
    const alm_expr *col = NULL, *value = NULL;
    filter_step *step = &filter->step[filter->n];
    char op = 0;
    bool made = false;
    *step = (filter_step){.kind = STEP_EXPR};
    ALM_TRY(alm_steps_add(cx, STEP_WORK));
    ALM_TRY(code_step(cx, step, expr, &made));
    if (made) {
        filter->n++;
        return ALM_OK;
    }
    if (comparison(expr, &col, &value, &op)) {
        step->col = col->col;
        ALM_TRY(alm_range_make(cx, expr, col, value, op, &step->range, &made));
        if (made) {
            const uint32_t looked_at = step->range.negate ? 0 : filter->n_plain;
            ALM_TRY(alm_steps_add(cx, looked_at));
            for (uint32_t i = 0; i < looked_at; i++) {
                filter_step *other = &filter->step[filter->plain[i]];
                if (other->col == step->col && alm_range_intersect(&other->range, &step->range))
                    return ALM_OK;
            }
            step->kind = STEP_RANGE;
            if (!step->range.negate)
                filter->plain[filter->n_plain++] = filter->n;
            filter->range[filter->n_ranges++] = filter->n++;
            return ALM_OK;
        }
    }
    ALM_TRY(alm_eval_new(cx, &expr, 1, &step->eval));
    filter->n++;
    return ALM_OK;
}

static alm_status order_steps(alm_ctx *cx, alm_filter *filter)
{
    filter_step *sorted = NULL;
    uint32_t count = 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, filter->n + 1, &sorted));
    filter->n_ranges = 0;
    static const step_kind order[] = {STEP_CODE, STEP_RANGE, STEP_EXPR};
    for (size_t k = 0; k < ALM_COUNT(order); k++)
        for (uint32_t i = 0; i < filter->n; i++) {
            if (filter->step[i].kind != order[k])
                continue;
            if (order[k] == STEP_RANGE)
                filter->range[filter->n_ranges++] = count;
            sorted[count++] = filter->step[i];
        }
    filter->step = sorted;
    return ALM_OK;
}

alm_status alm_filter_new(alm_ctx *cx, const alm_expr *const *conjuncts, uint32_t n_conjuncts,
                          alm_filter **out)
{
    alm_filter *filter = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &filter));
    filter->arena = cx->arena;
    alm_arena_init(&filter->batch, cx->mem);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_conjuncts + 1, &filter->step));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_conjuncts + 1, &filter->range));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_conjuncts + 1, &filter->plain));
    for (uint32_t i = 0; i < n_conjuncts; i++)
        ALM_TRY(eval_filter_add_step(cx, filter, conjuncts[i]));
    ALM_TRY(order_steps(cx, filter));
    *out = filter;
    return ALM_OK;
}

void alm_filter_free(alm_filter *filter)
{
    if (filter == NULL)
        return;
    for (uint32_t i = 0; i < filter->n; i++)
        alm_eval_free(filter->step[i].eval);
    alm_arena_deinit(&filter->batch);
}

/* --------------------------------------------------------------------------------- selections */

static const uint8_t select8[256][8] = {
#include "exec/data/select8.def"
};

/*
 * Numbers of the rows whose byte (0 or 1) is set. Eight rows at a time without a branch: the bytes are
 * gathered into bits, a table gives the numbers. Blocks of 64 without any cost one test, those with
 * few one step for each. sel has room
 * for 8 entries more than rows.
 */
ALM_SIMD static uint32_t eval_filter_select_rows(const uint8_t *restrict keep, uint32_t n,
                                                 uint16_t *restrict sel)
{
    uint32_t k = 0, i = 0;
    for (; i + 64 <= n; i += 64) {
        uint64_t word[8], any = 0;
        memcpy(word, keep + i, sizeof word);
        for (uint32_t w = 0; w < 8; w++)
            any |= word[w];
        if (any == 0)
            continue;
        uint64_t set = 0;
        for (uint32_t w = 0; w < 8; w++)
            set |= (word[w] * UINT64_C(0x0102040810204080)) >> 56 << (8 * w);
        if (__builtin_popcountll(set) <= SPARSE) {
            for (; set != 0; set &= set - 1)
                sel[k++] = (uint16_t)(i + (uint32_t)__builtin_ctzll(set));
            continue;
        }
        for (uint32_t w = 0; w < 8; w++) {
            const uint8_t bits = (uint8_t)(set >> (8 * w));
            const uint8_t *rows = select8[bits];
            for (uint32_t j = 0; j < 8; j++)
                sel[k + j] = (uint16_t)(i + 8 * w + rows[j]);
            k += (uint32_t)__builtin_popcount(bits);
        }
    }
    for (; i < n; i++) {
        sel[k] = (uint16_t)i;
        k += keep[i];
    }
    return k;
}

ALM_SIMD static uint32_t count_kept(const uint8_t *keep, uint32_t n)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        total += keep[i];
    return total;
}

/* rows of `sel` whose own byte (by position in sel) is set */
static uint32_t eval_filter_compose(const uint8_t *restrict keep, const uint16_t *restrict sel,
                                    uint32_t k, uint16_t *restrict out)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < k; i++) {
        out[m] = sel[i];
        m += keep[i];
    }
    return m;
}

#define DEFINE_CODES(bits)                                                                         \
    ALM_SIMD static void codes_##bits(const uint##bits##_t *restrict v, uint32_t n,                \
                                      uint##bits##_t code, uint8_t negate, uint8_t *restrict keep) \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            keep[i] = (uint8_t)((v[i] == code) ^ negate);                                          \
    }                                                                                              \
    ALM_SIMD static void more_##bits(const uint##bits##_t *restrict v, uint32_t n,                 \
                                     uint##bits##_t code, uint8_t negate, uint8_t *restrict keep)  \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            keep[i] = (uint8_t)(v[i] == code ? negate ^ 1 : keep[i]);                              \
    }
DEFINE_CODES(8)
DEFINE_CODES(16)
DEFINE_CODES(32)

ALM_SIMD static void and_bytes(uint8_t *restrict keep, const uint8_t *restrict more, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        keep[i] &= more[i];
}

/* ------------------------------------------------------------------------------------- steps */

static void look_up_codes(filter_step *step, const alm_dict *dict)
{
    if (step->looked_up && step->dict_id == dict->id && step->dict_count == dict->count)
        return;
    step->n_codes = 0;
    for (uint32_t i = 0; i < step->n_texts; i++) {
        const uint32_t code = dict->find(dict, step->text[i]);
        bool known = code == 0 || code >= dict->count;
        for (uint32_t k = 0; k < step->n_codes; k++)
            known |= step->code[k] == code;
        if (!known)
            step->code[step->n_codes++] = code;
    }
    step->dict_id = dict->id;
    step->dict_count = dict->count;
    step->looked_up = true;
}

/* One byte per row for texts that are not coded. */
static void view_bytes(const filter_step *step, const alm_vec *vec, uint32_t n_rows, uint8_t *keep)
{
    const alm_view *views = vec->data;
    memset(keep, step->negate, n_rows);
    for (uint32_t k = 0; k < step->n_texts; k++) {
        const alm_view text = alm_view_of(step->text[k]);
        for (uint32_t i = 0; i < n_rows; i++)
            if (alm_view_eq(&views[vec->is_const ? 0 : i], vec->heap, &text, NULL))
                keep[i] = !step->negate;
    }
}

/* One byte per row for a symbol compared with texts. */
static void code_bytes(filter_step *step, const alm_vec *vec, uint32_t n_rows, uint8_t *keep)
{
    const uint8_t negate = step->negate;
    if (vec->dict == NULL) {
        view_bytes(step, vec, n_rows, keep);
        return;
    }
    look_up_codes(step, vec->dict);
    if (vec->is_const) {
        bool found = false;
        for (uint32_t k = 0; k < step->n_codes; k++)
            found |= alm_vec_code(vec, 0) == step->code[k];
        memset(keep, found ^ negate, n_rows);
        return;
    }
    bool any = false;
    for (uint32_t k = 0; k < step->n_codes; k++) {
        const uint32_t code = step->code[k];
        if (vec->width == 1 && code < 256)
            (any ? more_8 : codes_8)(vec->data, n_rows, (uint8_t)code, negate, keep);
        else if (vec->width == 2 && code < 65536)
            (any ? more_16 : codes_16)(vec->data, n_rows, (uint16_t)code, negate, keep);
        else if (vec->width == 4)
            (any ? more_32 : codes_32)(vec->data, n_rows, code, negate, keep);
        else
            continue;
        any = true;
    }
    if (!any)
        memset(keep, negate, n_rows);
}

typedef struct filter_state {
    const alm_batch *in;
    uint32_t n;          /* rows of the batch */
    const uint16_t *sel; /* rows still in; NULL: all */
    uint32_t k;
} filter_state;

/* Replaces the selection by the rows (of the selection) whose byte is set. */
static void eval_filter_narrow(alm_filter *filter, filter_state *st, const uint8_t *keep)
{
    const uint32_t kept = count_kept(keep, st->k);
    if (kept == st->k)
        return;
    if (kept == 0) {
        st->k = 0;
    } else if (st->sel == NULL) {
        st->k = eval_filter_select_rows(keep, st->n, filter->sel);
        st->sel = filter->sel;
    } else {
        st->k = eval_filter_compose(keep, st->sel, st->k, filter->spare);
        uint16_t *swap = filter->sel;
        filter->sel = filter->spare;
        filter->spare = swap;
        st->sel = filter->sel;
    }
}

/* Column `col` for the rows still in. */
static alm_status selected_column(alm_ctx *cx, alm_filter *filter, const filter_state *st,
                                  uint32_t col, alm_vec *out)
{
    *out = st->in->cols[col];
    if (st->sel == NULL || out->is_const)
        return ALM_OK;
    alm_batch one = {.rows = st->k, .n_cols = 1, .cols = out, .sel = st->sel};
    alm_vec *dense = NULL;
    out->indirect = true;
    return alm_batch_column(cx, &filter->batch, &one, 0, &dense);
}

static alm_status direct_bytes(alm_ctx *cx, alm_filter *filter, filter_state *st, filter_step *step,
                               uint8_t *keep)
{
    alm_vec vec;
    ALM_TRY(selected_column(cx, filter, st, step->col, &vec));
    if (step->kind == STEP_CODE)
        code_bytes(step, &vec, st->k, keep);
    else
        alm_range_bytes(&step->range, &vec, st->k, keep);
    return ALM_OK;
}

static alm_status run_expr(alm_ctx *cx, alm_filter *filter, filter_state *st, filter_step *step)
{
    alm_batch batch = *st->in;
    if (filter->n_cols < batch.n_cols) {
        ALM_TRY(ALM_NEWN(cx, filter->arena, batch.n_cols, &filter->cols));
        filter->n_cols = batch.n_cols;
    }
    if (batch.n_cols > 0)
        memcpy(filter->cols, batch.cols, batch.n_cols * sizeof *filter->cols);
    batch.cols = filter->cols;
    batch.rows = st->k;
    batch.sel = st->sel;
    for (uint32_t i = 0; st->sel != NULL && i < batch.n_cols; i++)
        batch.cols[i].indirect = !batch.cols[i].is_const;
    alm_vec pass;
    ALM_TRY(alm_eval_run(cx, step->eval, &filter->batch, &batch, &pass));
    if (!pass.is_const)
        eval_filter_narrow(filter, st, pass.data);
    else if (!*(const uint8_t *)pass.data)
        st->k = 0;
    return ALM_OK;
}

static alm_status buffers(alm_ctx *cx, alm_filter *filter, uint32_t n)
{
    if (filter->cap >= n)
        return ALM_OK;
    const uint32_t cap = filter->cap == 0 ? ALM_MAX(n, 64U) : ALM_MAX(n, ALM_BATCH_ROWS);
    ALM_TRY(alm_arena_bytes(cx, filter->arena, 2 * (size_t)cap, &filter->keep));
    ALM_TRY(alm_arena_bytes(cx, filter->arena, (cap + 8) * sizeof(uint16_t), &filter->sel));
    ALM_TRY(alm_arena_bytes(cx, filter->arena, (cap + 8) * sizeof(uint16_t), &filter->spare));
    filter->cap = cap;
    return ALM_OK;
}

/* The outcome as it is, if that is asked for and not too few rows pass. */
static bool leave_mask(alm_filter *filter, filter_state *st, const uint8_t *keep)
{
    enum { MASK_SHARE = 8 };
    if (!filter->masks || st->sel != NULL)
        return false;
    const uint32_t kept = count_kept(keep, st->n);
    if (kept == st->n || MASK_SHARE * kept < st->n)
        return false;
    st->k = kept;
    filter->mask = keep;
    return true;
}

alm_status alm_filter_run(alm_ctx *cx, alm_filter *filter, const alm_batch *batch,
                          const uint16_t **sel, uint32_t *kept)
{
    ALM_ASSERT(batch->sel == NULL && batch->rows <= ALM_BATCH_ROWS);
    filter_state st = {.in = batch, .n = batch->rows, .k = batch->rows};
    ALM_TRY(buffers(cx, filter, batch->rows));
    alm_arena_reset(&filter->batch);
    filter->mask = NULL;
    uint8_t *const keep = filter->keep, *const more = filter->keep + filter->cap;
    bool pending = false; /* keep[] holds the outcome of direct steps not yet in the selection */
    for (uint32_t i = 0; i < filter->n && st.k > 0; i++) {
        filter_step *step = &filter->step[i];
        ALM_TRY(alm_steps_add(cx, 1 + st.k / ROWS_OF_A_STEP));
        if (step->kind == STEP_EXPR) {
            if (pending)
                eval_filter_narrow(filter, &st, keep);
            pending = false;
            if (st.k > 0)
                ALM_TRY(run_expr(cx, filter, &st, step));
        } else if (!step->skip) {
            ALM_TRY(direct_bytes(cx, filter, &st, step, pending ? more : keep));
            if (pending)
                and_bytes(keep, more, st.k);
            pending = true;
            if (i + 1 < filter->n && FEW * count_kept(keep, st.k) < st.k) {
                eval_filter_narrow(filter, &st, keep);
                pending = false;
            }
        }
    }
    if (pending && st.k > 0 && !leave_mask(filter, &st, keep))
        eval_filter_narrow(filter, &st, keep);
    *sel = st.sel;
    *kept = st.k;
    return ALM_OK;
}

void alm_filter_masks(alm_filter *filter)
{
    filter->masks = true;
}

const uint8_t *alm_filter_mask(const alm_filter *filter)
{
    return filter->mask;
}

/* --------------------------------------------------------------------------- block statistics */

uint32_t alm_filter_ranges(const alm_filter *filter)
{
    return filter->n_ranges;
}
uint32_t alm_filter_range_col(const alm_filter *filter, uint32_t i)
{
    return filter->step[filter->range[i]].col;
}

alm_block_answer alm_filter_range_test(const alm_filter *filter, uint32_t i, int64_t min_i,
                                       int64_t max_i, double min_f, double max_f, bool nulls)
{
    return alm_range_block(&filter->step[filter->range[i]].range, min_i, max_i, min_f, max_f,
                           nulls);
}

void alm_filter_range_skip(alm_filter *filter, uint32_t i, bool skip)
{
    filter->step[filter->range[i]].skip = skip;
}
