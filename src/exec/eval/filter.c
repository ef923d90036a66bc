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
static bool comparison(const alm_expr *e, const alm_expr **col, const alm_expr **value, char *op)
{
    static const struct {
        const char *name;
        char op, mirrored;
    } ops[] = {{"=", '=', '='}, {"!=", '!', '!'}, {"<>", '!', '!'}, {"<", '<', '>'},
               {">", '>', '<'}, {"<=", 'l', 'g'}, {">=", 'g', 'l'}};
    if (e->kind != ALM_X_CALL || e->n_args != 2)
        return false;
    const bool plain = e->args[0]->kind == ALM_X_COL && e->args[1]->kind == ALM_X_CONST;
    const bool mirror = e->args[1]->kind == ALM_X_COL && e->args[0]->kind == ALM_X_CONST;
    if (!plain && !mirror)
        return false;
    *col = e->args[plain ? 0 : 1];
    *value = e->args[plain ? 1 : 0];
    for (size_t i = 0; i < ALM_COUNT(ops); i++)
        if (strcmp(e->fn->name, ops[i].name) == 0) {
            *op = plain ? ops[i].op : ops[i].mirrored;
            return true;
        }
    return false;
}

/* A step for symbol = text, symbol != text, symbol IN (text, ...), or NOT of the last. */
static alm_status code_step(alm_ctx *cx, filter_step *s, const alm_expr *e, bool *made)
{
    const alm_expr *col = NULL, *value = NULL;
    char op = 0;
    *made = false;
    const bool isnt = e->kind == ALM_X_CALL && e->n_args == 1 && strcmp(e->fn->name, "not") == 0;
    const alm_expr *in = isnt ? e->args[0] : e;
    const bool pair = comparison(e, &col, &value, &op) && (op == '=' || op == '!');
    const bool list = !pair && in->kind == ALM_X_CALL && strcmp(in->fn->name, "in") == 0 &&
                      in->n_args > 1 && in->n_args <= CODES_MAX + 1 &&
                      in->args[0]->kind == ALM_X_COL;
    if (!pair && !list)
        return ALM_OK;
    col = pair ? col : in->args[0];
    s->n_texts = pair ? 1 : in->n_args - 1;
    if (col->type.id != ALM_T_SYMBOL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_texts, &s->text));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_texts, &s->code));
    for (uint32_t i = 0; i < s->n_texts; i++) {
        const alm_expr *v = pair ? value : in->args[1 + i];
        if (v->kind != ALM_X_CONST || !alm_type_is_text(v->value.type) ||
            alm_vec_is_null(&v->value, 0))
            return ALM_OK;
        s->text[i] = alm_vec_text(&v->value, 0);
    }
    s->kind = STEP_CODE;
    s->col = col->col;
    s->negate = pair ? op == '!' : isnt;
    *made = true;
    return ALM_OK;
}

static alm_status add_step(alm_ctx *cx, alm_filter *f, const alm_expr *e)
{
    const alm_expr *col = NULL, *value = NULL;
    filter_step *s = &f->step[f->n];
    char op = 0;
    bool made = false;
    *s = (filter_step){.kind = STEP_EXPR};
    ALM_TRY(alm_steps_add(cx, STEP_WORK));
    ALM_TRY(code_step(cx, s, e, &made));
    if (made) {
        f->n++;
        return ALM_OK;
    }
    if (comparison(e, &col, &value, &op)) {
        s->col = col->col;
        ALM_TRY(alm_range_make(cx, e, col, value, op, &s->range, &made));
        if (made) {
            const uint32_t looked_at = s->range.negate ? 0 : f->n_plain;
            ALM_TRY(alm_steps_add(cx, looked_at));
            for (uint32_t i = 0; i < looked_at; i++) {
                filter_step *other = &f->step[f->plain[i]];
                if (other->col == s->col && alm_range_intersect(&other->range, &s->range))
                    return ALM_OK;
            }
            s->kind = STEP_RANGE;
            if (!s->range.negate)
                f->plain[f->n_plain++] = f->n;
            f->range[f->n_ranges++] = f->n++;
            return ALM_OK;
        }
    }
    ALM_TRY(alm_eval_new(cx, &e, 1, &s->eval));
    f->n++;
    return ALM_OK;
}

static alm_status order_steps(alm_ctx *cx, alm_filter *f)
{
    filter_step *sorted = NULL;
    uint32_t n = 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, f->n + 1, &sorted));
    f->n_ranges = 0;
    static const step_kind order[] = {STEP_CODE, STEP_RANGE, STEP_EXPR};
    for (size_t k = 0; k < ALM_COUNT(order); k++)
        for (uint32_t i = 0; i < f->n; i++) {
            if (f->step[i].kind != order[k])
                continue;
            if (order[k] == STEP_RANGE)
                f->range[f->n_ranges++] = n;
            sorted[n++] = f->step[i];
        }
    f->step = sorted;
    return ALM_OK;
}

alm_status alm_filter_new(alm_ctx *cx, const alm_expr *const *conjuncts, uint32_t n,
                          alm_filter **out)
{
    alm_filter *f = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &f));
    f->arena = cx->arena;
    alm_arena_init(&f->batch, cx->mem);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &f->step));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &f->range));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &f->plain));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(add_step(cx, f, conjuncts[i]));
    ALM_TRY(order_steps(cx, f));
    *out = f;
    return ALM_OK;
}

void alm_filter_free(alm_filter *f)
{
    if (f == NULL)
        return;
    for (uint32_t i = 0; i < f->n; i++)
        alm_eval_free(f->step[i].eval);
    alm_arena_deinit(&f->batch);
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
ALM_SIMD static uint32_t select_rows(const uint8_t *restrict keep, uint32_t n,
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
static uint32_t compose(const uint8_t *restrict keep, const uint16_t *restrict sel, uint32_t k,
                        uint16_t *restrict out)
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

static void look_up_codes(filter_step *s, const alm_dict *dict)
{
    if (s->looked_up && s->dict_id == dict->id && s->dict_count == dict->count)
        return;
    s->n_codes = 0;
    for (uint32_t i = 0; i < s->n_texts; i++) {
        const uint32_t code = dict->find(dict, s->text[i]);
        bool known = code == 0 || code >= dict->count;
        for (uint32_t k = 0; k < s->n_codes; k++)
            known |= s->code[k] == code;
        if (!known)
            s->code[s->n_codes++] = code;
    }
    s->dict_id = dict->id;
    s->dict_count = dict->count;
    s->looked_up = true;
}

/* One byte per row for texts that are not coded. */
static void view_bytes(const filter_step *s, const alm_vec *v, uint32_t n, uint8_t *keep)
{
    const alm_view *views = v->data;
    memset(keep, s->negate, n);
    for (uint32_t k = 0; k < s->n_texts; k++) {
        const alm_view text = alm_view_of(s->text[k]);
        for (uint32_t i = 0; i < n; i++)
            if (alm_view_eq(&views[v->is_const ? 0 : i], v->heap, &text, NULL))
                keep[i] = !s->negate;
    }
}

/* One byte per row for a symbol compared with texts. */
static void code_bytes(filter_step *s, const alm_vec *v, uint32_t n, uint8_t *keep)
{
    const uint8_t negate = s->negate;
    if (v->dict == NULL) {
        view_bytes(s, v, n, keep);
        return;
    }
    look_up_codes(s, v->dict);
    if (v->is_const) {
        bool found = false;
        for (uint32_t k = 0; k < s->n_codes; k++)
            found |= alm_vec_code(v, 0) == s->code[k];
        memset(keep, found ^ negate, n);
        return;
    }
    bool any = false;
    for (uint32_t k = 0; k < s->n_codes; k++) {
        const uint32_t code = s->code[k];
        if (v->width == 1 && code < 256)
            (any ? more_8 : codes_8)(v->data, n, (uint8_t)code, negate, keep);
        else if (v->width == 2 && code < 65536)
            (any ? more_16 : codes_16)(v->data, n, (uint16_t)code, negate, keep);
        else if (v->width == 4)
            (any ? more_32 : codes_32)(v->data, n, code, negate, keep);
        else
            continue;
        any = true;
    }
    if (!any)
        memset(keep, negate, n);
}

typedef struct filter_state {
    const alm_batch *in;
    uint32_t n;          /* rows of the batch */
    const uint16_t *sel; /* rows still in; NULL: all */
    uint32_t k;
} filter_state;

/* Replaces the selection by the rows (of the selection) whose byte is set. */
static void narrow(alm_filter *f, filter_state *st, const uint8_t *keep)
{
    const uint32_t kept = count_kept(keep, st->k);
    if (kept == st->k)
        return;
    if (kept == 0) {
        st->k = 0;
    } else if (st->sel == NULL) {
        st->k = select_rows(keep, st->n, f->sel);
        st->sel = f->sel;
    } else {
        st->k = compose(keep, st->sel, st->k, f->spare);
        uint16_t *swap = f->sel;
        f->sel = f->spare;
        f->spare = swap;
        st->sel = f->sel;
    }
}

/* Column `col` for the rows still in. */
static alm_status selected_column(alm_ctx *cx, alm_filter *f, const filter_state *st, uint32_t col,
                                  alm_vec *out)
{
    *out = st->in->cols[col];
    if (st->sel == NULL || out->is_const)
        return ALM_OK;
    alm_batch one = {.rows = st->k, .n_cols = 1, .cols = out, .sel = st->sel};
    alm_vec *dense = NULL;
    out->indirect = true;
    return alm_batch_column(cx, &f->batch, &one, 0, &dense);
}

static alm_status direct_bytes(alm_ctx *cx, alm_filter *f, filter_state *st, filter_step *s,
                               uint8_t *keep)
{
    alm_vec v;
    ALM_TRY(selected_column(cx, f, st, s->col, &v));
    if (s->kind == STEP_CODE)
        code_bytes(s, &v, st->k, keep);
    else
        alm_range_bytes(&s->range, &v, st->k, keep);
    return ALM_OK;
}

static alm_status run_expr(alm_ctx *cx, alm_filter *f, filter_state *st, filter_step *s)
{
    alm_batch in = *st->in;
    if (f->n_cols < in.n_cols) {
        ALM_TRY(ALM_NEWN(cx, f->arena, in.n_cols, &f->cols));
        f->n_cols = in.n_cols;
    }
    if (in.n_cols > 0)
        memcpy(f->cols, in.cols, in.n_cols * sizeof *f->cols);
    in.cols = f->cols;
    in.rows = st->k;
    in.sel = st->sel;
    for (uint32_t i = 0; st->sel != NULL && i < in.n_cols; i++)
        in.cols[i].indirect = !in.cols[i].is_const;
    alm_vec pass;
    ALM_TRY(alm_eval_run(cx, s->eval, &f->batch, &in, &pass));
    if (!pass.is_const)
        narrow(f, st, pass.data);
    else if (!*(const uint8_t *)pass.data)
        st->k = 0;
    return ALM_OK;
}

static alm_status buffers(alm_ctx *cx, alm_filter *f, uint32_t n)
{
    if (f->cap >= n)
        return ALM_OK;
    const uint32_t cap = f->cap == 0 ? ALM_MAX(n, 64U) : ALM_MAX(n, ALM_BATCH_ROWS);
    ALM_TRY(alm_arena_bytes(cx, f->arena, 2 * (size_t)cap, &f->keep));
    ALM_TRY(alm_arena_bytes(cx, f->arena, (cap + 8) * sizeof(uint16_t), &f->sel));
    ALM_TRY(alm_arena_bytes(cx, f->arena, (cap + 8) * sizeof(uint16_t), &f->spare));
    f->cap = cap;
    return ALM_OK;
}

/* The outcome as it is, if that is asked for and not too few rows pass. */
static bool leave_mask(alm_filter *f, filter_state *st, const uint8_t *keep)
{
    enum { MASK_SHARE = 8 };
    if (!f->masks || st->sel != NULL)
        return false;
    const uint32_t kept = count_kept(keep, st->n);
    if (kept == st->n || MASK_SHARE * kept < st->n)
        return false;
    st->k = kept;
    f->mask = keep;
    return true;
}

alm_status alm_filter_run(alm_ctx *cx, alm_filter *f, const alm_batch *in, const uint16_t **sel,
                          uint32_t *kept)
{
    ALM_ASSERT(in->sel == NULL && in->rows <= ALM_BATCH_ROWS);
    filter_state st = {.in = in, .n = in->rows, .k = in->rows};
    ALM_TRY(buffers(cx, f, in->rows));
    alm_arena_reset(&f->batch);
    f->mask = NULL;
    uint8_t *const keep = f->keep, *const more = f->keep + f->cap;
    bool pending = false; /* keep[] holds the outcome of direct steps not yet in the selection */
    for (uint32_t i = 0; i < f->n && st.k > 0; i++) {
        filter_step *s = &f->step[i];
        ALM_TRY(alm_steps_add(cx, 1 + st.k / ROWS_OF_A_STEP));
        if (s->kind == STEP_EXPR) {
            if (pending)
                narrow(f, &st, keep);
            pending = false;
            if (st.k > 0)
                ALM_TRY(run_expr(cx, f, &st, s));
        } else if (!s->skip) {
            ALM_TRY(direct_bytes(cx, f, &st, s, pending ? more : keep));
            if (pending)
                and_bytes(keep, more, st.k);
            pending = true;
            if (i + 1 < f->n && FEW * count_kept(keep, st.k) < st.k) {
                narrow(f, &st, keep);
                pending = false;
            }
        }
    }
    if (pending && st.k > 0 && !leave_mask(f, &st, keep))
        narrow(f, &st, keep);
    *sel = st.sel;
    *kept = st.k;
    return ALM_OK;
}

void alm_filter_masks(alm_filter *f)
{
    f->masks = true;
}

const uint8_t *alm_filter_mask(const alm_filter *f)
{
    return f->mask;
}

/* --------------------------------------------------------------------------- block statistics */

uint32_t alm_filter_ranges(const alm_filter *f)
{
    return f->n_ranges;
}
uint32_t alm_filter_range_col(const alm_filter *f, uint32_t i)
{
    return f->step[f->range[i]].col;
}

alm_block_answer alm_filter_range_test(const alm_filter *f, uint32_t i, int64_t min_i,
                                       int64_t max_i, double min_f, double max_f, bool nulls)
{
    return alm_range_block(&f->step[f->range[i]].range, min_i, max_i, min_f, max_f, nulls);
}

void alm_filter_range_skip(alm_filter *f, uint32_t i, bool skip)
{
    f->step[f->range[i]].skip = skip;
}
