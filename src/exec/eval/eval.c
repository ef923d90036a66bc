/*
 * eval.c - compiles expression trees into programs and runs them. See eval.h.
 *
 * A program is an array of instructions in dependency order; each writes one vector. Equal
 * sub-expressions get one instruction. Buffers grow to the largest batch seen and stay.
 *
 * Invariants  An instruction without columns below it (and without volatile calls) is computed at its
 *             first run, over one element, into memory of program lifetime, and is const after that.
 */
#include "exec/eval/eval.h"

#include "base/hashes.h"

#include <stdlib.h>

#include "exec/data/blend.h"
#include "exec/run/op.h"

typedef enum eval_kind {
    EVAL_COL,
    EVAL_CONST,
    EVAL_CALL,
    EVAL_CASE,
    EVAL_DECODE, /* SYMBOL codes of args[0] as views */
    EVAL_DICT    /* `sub` over the values of one dictionary, then a look-up per row */
} eval_kind;

typedef struct eval_dict {
    alm_eval *sub; /* the expression as a program of its own; only input column `col` is read */
    uint32_t col;
    alm_vec *cols; /* input of sub: col + 1 entries */
    uint32_t dict_id, dict_count;
    bool ready;       /* value[] holds the results for (dict_id, dict_count) */
    uint32_t changes; /* other dictionaries met: too many, and the rows are evaluated directly */
    uint64_t rows_seen;
    alm_pool pool; /* value[] and the texts in it */
    alm_vec value; /* dict_count elements, or const */
    alm_arena texts;
} eval_dict;

typedef struct eval_instr {
    eval_kind kind;
    alm_type type;
    const alm_expr *expr;
    uint32_t col;
    uint32_t *arg; /* instruction numbers */
    uint32_t n_args;
    bool invariant, done;
    bool pieces; /* the kernel takes long for long texts, and looks at no time limit itself */
    alm_call call;
    void *buf;
    uint32_t buf_rows;
    eval_dict *dict;
    alm_vec vec; /* result of the last run */
} eval_instr;

struct alm_eval {
    eval_instr *instr;
    uint32_t n, cap;
    alm_hashes hashes; /* of the expressions of the instructions */
    uint32_t *result;  /* instruction of each expression */
    uint32_t n_results;
    alm_vec *args; /* scratch for calls */
    uint32_t max_args;
    alm_arena *arena; /* program lifetime */
    alm_arena texts;  /* var-size results of one batch */
    bool keep_texts;  /* dictionary programs: their results outlive the batch */
    bool no_dict;
    uint64_t rows_seen;
};

/* ------------------------------------------------------------------ questions about trees */

bool alm_eval_expr_volatile(const alm_expr *e)
{
    if (e == NULL)
        return false;
    if (e->kind == ALM_X_CALL && (e->fn->flags & ALM_FN_VOLATILE))
        return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (alm_eval_expr_volatile(e->args[i]))
            return true;
    return false;
}

void alm_expr_cols(const alm_expr *e, bool *used, uint32_t n_cols)
{
    if (e == NULL)
        return;
    if (e->kind == ALM_X_COL) {
        ALM_ASSERT(e->col < n_cols);
        used[e->col] = true;
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        alm_expr_cols(e->args[i], used, n_cols);
}

static bool const_equal(const alm_vec *a, const alm_vec *b)
{
    if (!alm_type_eq(a->type, b->type) || (a->dict != NULL) != (b->dict != NULL))
        return false;
    if (alm_type_is_text(a->type)) {
        const alm_str x = alm_vec_text(a, 0), y = alm_vec_text(b, 0);
        return (x.ptr == NULL) == (y.ptr == NULL) && (x.ptr == NULL || alm_str_eq(x, y));
    }
    return a->width == b->width && memcmp(a->data, b->data, a->width) == 0;
}

bool alm_eval_expr_equal(const alm_expr *a, const alm_expr *b)
{
    if (a == b)
        return a == NULL || !alm_eval_expr_volatile(a);
    if (a == NULL || b == NULL || a->kind != b->kind || !alm_type_eq(a->type, b->type) ||
        a->n_args != b->n_args)
        return false;
    if (a->kind == ALM_X_COL)
        return a->col == b->col;
    if (a->kind == ALM_X_CONST)
        return const_equal(&a->value, &b->value);
    if (a->kind == ALM_X_PARAM)
        return false;
    if (a->kind == ALM_X_CALL &&
        (a->fn != b->fn || a->data != b->data || (a->fn->flags & ALM_FN_VOLATILE)))
        return false;
    for (uint32_t i = 0; i < a->n_args; i++)
        if (!alm_eval_expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

/* The one column below e, if there is exactly one and it is a SYMBOL; else -1. -2: no column. */
static int64_t only_symbol(const alm_expr *e)
{
    if (e->kind == ALM_X_COL)
        return e->type.id == ALM_T_SYMBOL ? (int64_t)e->col : -1;
    int64_t found = -2;
    for (uint32_t i = 0; i < e->n_args; i++) {
        const int64_t below = e->args[i] == NULL ? -2 : only_symbol(e->args[i]);
        if (below == -1 || (found >= 0 && below >= 0 && below != found))
            return -1;
        found = below >= 0 ? below : found;
    }
    return found;
}

/* Must be evaluated by row, not once per dictionary entry: it is volatile, or an entry no row uses could raise an error. */
static bool sees_rows(const alm_expr *e)
{
    if (e->kind == ALM_X_CALL && (e->fn->flags & (ALM_FN_VOLATILE | ALM_FN_CHECKED)) != 0)
        return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (e->args[i] != NULL && sees_rows(e->args[i]))
            return true;
    return false;
}

/* --------------------------------------------------------------------------- compilation */

enum { ROWS_OF_A_STEP = 4 }; /* in alm_steps_add */

/* Programs of a few instructions, which most are, need no hashes. */
enum { FEW = 16 };

static alm_status add_instr(alm_ctx *cx, alm_eval *ev, eval_kind kind, const alm_expr *e,
                            uint32_t *out)
{
    if (ev->n == ev->cap) {
        const uint32_t cap = ev->cap == 0 ? 8 : 2 * ev->cap;
        eval_instr *grown = NULL;
        ALM_TRY(ALM_NEWN(cx, ev->arena, cap, &grown));
        if (ev->n > 0)
            memcpy(grown, ev->instr, ev->n * sizeof *grown);
        ev->instr = grown;
        ev->cap = cap;
    }
    ev->instr[ev->n] = (eval_instr){.kind = kind, .expr = e, .type = e->type};
    *out = ev->n++;
    while (ev->n >= FEW && ev->hashes.n < ev->n) /* the null of a CASE is found by nobody */
        ALM_TRY(alm_hashes_add(cx, ev->arena, &ev->hashes,
                               alm_expr_hash(ev->instr[ev->hashes.n].expr)));
    return ALM_OK;
}

static alm_status compile(alm_ctx *cx, alm_eval *ev, const alm_expr *e, uint32_t *out);

static bool is_instr_of(const eval_instr *in, const alm_expr *e)
{
    return in->kind != EVAL_DECODE && in->expr != NULL && in->expr->size == e->size &&
           alm_eval_expr_equal(in->expr, e);
}

static bool find_instr(const alm_eval *ev, const alm_expr *e, uint32_t *out)
{
    uint32_t at = 0;
    for (*out = 0; ev->n < FEW && *out < ev->n; ++*out)
        if (is_instr_of(&ev->instr[*out], e))
            return true;
    const uint64_t hash = ev->n < FEW ? 0 : alm_expr_hash(e);
    while (ev->n >= FEW && alm_hashes_next(&ev->hashes, hash, &at, out))
        if (is_instr_of(&ev->instr[*out], e))
            return true;
    return false;
}

static bool find_decode(const alm_eval *ev, uint32_t arg, uint32_t *out)
{
    uint32_t at = 0;
    for (*out = 0; ev->n < FEW && *out < ev->n; ++*out)
        if (ev->instr[*out].kind == EVAL_DECODE && ev->instr[*out].arg[0] == arg)
            return true;
    const uint64_t hash = ev->n < FEW ? 0 : alm_expr_hash(ev->instr[arg].expr);
    while (ev->n >= FEW && alm_hashes_next(&ev->hashes, hash, &at, out))
        if (ev->instr[*out].kind == EVAL_DECODE && ev->instr[*out].arg[0] == arg)
            return true;
    return false;
}

/* Views for a SYMBOL argument; other arguments as they are. */
static alm_status decoded(alm_ctx *cx, alm_eval *ev, uint32_t arg, uint32_t *out)
{
    *out = arg;
    if (ev->instr[arg].type.id != ALM_T_SYMBOL)
        return ALM_OK;
    uint32_t at = 0;
    if (find_decode(ev, arg, &at)) {
        *out = at;
        return ALM_OK;
    }
    ALM_TRY(add_instr(cx, ev, EVAL_DECODE, ev->instr[arg].expr, &at));
    eval_instr *in = &ev->instr[at];
    ALM_TRY(ALM_NEWN(cx, ev->arena, 1, &in->arg));
    in->arg[0] = arg;
    in->n_args = 1;
    in->invariant = ev->instr[arg].invariant;
    *out = at;
    return ALM_OK;
}

static alm_status compile_args(alm_ctx *cx, alm_eval *ev, const alm_expr *e, bool decode,
                               uint32_t **out, bool *invariant)
{
    uint32_t *arg = NULL;
    ALM_TRY(ALM_NEWN(cx, ev->arena, e->n_args + 1, &arg));
    *invariant = true;
    for (uint32_t i = 0; i < e->n_args; i++) {
        ALM_TRY(compile(cx, ev, e->args[i], &arg[i]));
        if (decode)
            ALM_TRY(decoded(cx, ev, arg[i], &arg[i]));
        *invariant &= ev->instr[arg[i]].invariant;
    }
    ev->max_args = ALM_MAX(ev->max_args, e->n_args);
    *out = arg;
    return ALM_OK;
}

/* Comparisons look at few bytes of most texts, and at the time limit where they are long; null tests at none. Patterns look at the
 * limit themselves, and have room for a batch, which each piece would take anew. list_at goes on in a list where the row before ended:
 * begun anew with each piece it would take n times as long. */
static bool goes_by_pieces(const alm_expr *e)
{
    static const char *const quick[] = {
        "=",     "!=", "<>", "<",    "<=",      ">",           ">=",      "like",
        "ilike", "~",  "!~", "glob", "is null", "is not null", "list_at", "regexp_replace"};
    bool texts = false;
    for (uint32_t i = 0; i < e->n_args; i++)
        texts |= alm_has_views(e->args[i]->type);
    for (size_t i = 0; i < ALM_COUNT(quick) && texts; i++)
        texts = strcmp(e->fn->name, quick[i]) != 0;
    return texts;
}

static alm_status compile_call(alm_ctx *cx, alm_eval *ev, const alm_expr *e, uint32_t *out)
{
    uint32_t *arg = NULL;
    bool invariant = false;
    ALM_TRY(compile_args(cx, ev, e, !(e->fn->flags & ALM_FN_SYMBOLS), &arg, &invariant));
    void *state = NULL;
    if (e->fn->state_bytes > 0)
        ALM_TRY(alm_arena_zero(cx, ev->arena, e->fn->state_bytes, &state));
    ALM_TRY(add_instr(cx, ev, EVAL_CALL, e, out));
    eval_instr *in = &ev->instr[*out];
    in->arg = arg;
    in->n_args = e->n_args;
    in->invariant = invariant && !(e->fn->flags & ALM_FN_VOLATILE);
    in->pieces = goes_by_pieces(e);
    in->call = (alm_call){.fn = e->fn,
                          .data = e->data,
                          .state = state,
                          .result = e->type,
                          .pos = e->pos,
                          .argc = e->n_args};
    return ALM_OK;
}

static alm_status compile_dict(alm_ctx *cx, alm_eval *ev, const alm_expr *e, uint32_t col,
                               uint32_t *out)
{
    eval_dict *dict = NULL;
    ALM_TRY(ALM_NEW(cx, ev->arena, &dict));
    ALM_TRY(ALM_NEW(cx, ev->arena, &dict->sub));
    alm_eval *sub = dict->sub;
    sub->arena = ev->arena;
    sub->no_dict = true;
    alm_arena_init(&sub->texts, cx->mem);
    alm_arena_init(&dict->texts, cx->mem);
    alm_pool_init(&dict->pool, cx->mem, "symbol values");
    ALM_TRY(ALM_NEWN(cx, ev->arena, 1, &sub->result));
    sub->n_results = 1;
    ALM_TRY(compile(cx, sub, e, &sub->result[0]));
    ALM_TRY(ALM_NEWN(cx, ev->arena, sub->max_args + 1, &sub->args));
    dict->col = col;
    ALM_TRY(ALM_NEWN(cx, ev->arena, col + 1, &dict->cols));
    ALM_TRY(add_instr(cx, ev, EVAL_DICT, e, out));
    ev->instr[*out].dict = dict;
    ev->instr[*out].col = col;
    return ALM_OK;
}

static alm_status compile(alm_ctx *cx, alm_eval *ev, const alm_expr *e, uint32_t *out)
{
    ALM_TRY(alm_check(cx)); /* an expression of many parts is compared with itself */
    if (find_instr(ev, e, out))
        return ALM_OK;
    if (e->kind == ALM_X_PARAM)
        return alm_fail(cx, ALM_E_PARAM, e->pos, "bind variable has no value");
    if (e->kind == ALM_X_COL) {
        ALM_TRY(add_instr(cx, ev, EVAL_COL, e, out));
        ev->instr[*out].col = e->col;
        return ALM_OK;
    }
    if (e->kind == ALM_X_CONST) {
        ALM_TRY(add_instr(cx, ev, EVAL_CONST, e, out));
        eval_instr *in = &ev->instr[*out];
        in->vec = e->value;
        in->vec.is_const = true;
        in->invariant = in->done = true;
        return ALM_OK;
    }
    const int64_t col = ev->no_dict || sees_rows(e) ? -1 : only_symbol(e);
    if (col >= 0)
        return compile_dict(cx, ev, e, (uint32_t)col, out);
    if (e->kind == ALM_X_CALL)
        return compile_call(cx, ev, e, out);
    ALM_ASSERT(e->kind == ALM_X_CASE);
    uint32_t *arg = NULL;
    bool invariant = false;
    ALM_TRY(compile_args(cx, ev, e, true, &arg, &invariant));
    uint32_t n_args = e->n_args;
    if (n_args % 2 == 0) { /* no ELSE: null */
        ALM_TRY(add_instr(cx, ev, EVAL_CONST, e, &arg[n_args]));
        eval_instr *in = &ev->instr[arg[n_args++]];
        in->expr = NULL; /* not the CASE itself */
        in->invariant = in->done = true;
        ALM_TRY(alm_vec_null(cx, ev->arena, e->type, &in->vec));
        ev->max_args = ALM_MAX(ev->max_args, n_args);
    }
    ALM_TRY(add_instr(cx, ev, EVAL_CASE, e, out));
    ev->instr[*out].arg = arg;
    ev->instr[*out].n_args = n_args;
    ev->instr[*out].invariant = invariant;
    return ALM_OK;
}

alm_status alm_eval_new(alm_ctx *cx, const alm_expr *const *exprs, uint32_t n, alm_eval **out)
{
    alm_eval *ev = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &ev));
    ev->arena = cx->arena;
    alm_arena_init(&ev->texts, cx->mem);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &ev->result));
    ev->n_results = n;
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(compile(cx, ev, exprs[i], &ev->result[i]));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ev->max_args + 1, &ev->args));
    *out = ev;
    return ALM_OK;
}

alm_status alm_eval_views(alm_ctx *cx, alm_eval *ev, uint32_t i)
{
    ALM_ASSERT(i < ev->n_results && ev->rows_seen == 0);
    return decoded(cx, ev, ev->result[i], &ev->result[i]);
}

void alm_eval_free(alm_eval *ev)
{
    if (ev == NULL)
        return;
    for (uint32_t i = 0; i < ev->n; i++)
        if (ev->instr[i].kind == EVAL_DICT) {
            eval_dict *d = ev->instr[i].dict;
            alm_eval_free(d->sub);
            alm_pool_deinit(&d->pool);
            alm_arena_deinit(&d->texts);
        }
    alm_arena_deinit(&ev->texts);
}

/* ----------------------------------------------------------------------------- execution */

/* Result vector over the instruction's own buffer, with room for n elements. */
static alm_status result_buffer(alm_ctx *cx, alm_eval *ev, eval_instr *in, uint32_t n)
{
    const uint32_t width =
        in->type.id == ALM_T_SYMBOL ? sizeof(alm_view) : alm_type_width(in->type);
    if (in->buf_rows < n) {
        /* small batches (point queries) get small buffers; the second growth takes a full one */
        const uint32_t rows = in->buf_rows == 0 ? ALM_MAX(n, 16U) : ALM_MAX(n, ALM_BATCH_ROWS);
        ALM_TRY(alm_arena_bytes(cx, ev->arena, (size_t)rows * ALM_MAX(width, 4U), &in->buf));
        in->buf_rows = rows;
    }
    in->vec = (alm_vec){.type = in->type, .width = (uint8_t)width, .data = in->buf};
    return ALM_OK;
}

/* Bytes of the texts and arrays of row i. */
static uint64_t row_bytes(const alm_vec *args, uint32_t n_args, uint32_t i)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < n_args; k++) {
        const alm_view *views = args[k].data;
        if (!alm_has_views(args[k].type))
            continue;
        const alm_view *v = &views[args[k].is_const ? 0 : i];
        bytes += alm_view_is_null(v) ? 0 : v->len;
    }
    return bytes;
}

/* May the texts and arrays of n rows be so long that one call of a kernel takes too long? */
static bool is_heavy(const alm_vec *args, uint32_t n_args, uint32_t n)
{
    enum { SHORT = 256 }; /* a power of two: a batch of such is nothing */
    uint32_t any = 0;
    for (uint32_t k = 0; k < n_args; k++) {
        const alm_view *views = args[k].data;
        if (args[k].dict != NULL)
            return false;
        if (!alm_has_views(args[k].type))
            continue;
        const uint32_t count = args[k].is_const ? 1 : n;
        for (uint32_t i = 0; i < count; i++)
            any |= views[i].len + 1; /* of null: 0 */
    }
    return any >= SHORT;
}

/* The kernel over n rows, piece by piece, with a look at the time limit between them. */
static alm_status run_heavy(alm_ctx *cx, alm_eval *ev, eval_instr *in, uint32_t n)
{
    enum { PIECE_BYTES = 1 << 20 };
    const alm_vec whole = in->vec;
    alm_vec *args = NULL;
    ALM_TRY(ALM_NEWN(cx, in->call.arena, in->n_args, &args));
    for (uint32_t at = 0, rows = 0; at < n; at += rows) {
        rows = 0;
        for (uint64_t bytes = 0; at + rows < n && bytes < PIECE_BYTES; rows++)
            bytes += row_bytes(ev->args, in->n_args, at + rows);
        alm_vec part = whole;
        part.data = (char *)whole.data + (size_t)at * whole.width;
        for (uint32_t k = 0; k < in->n_args; k++) {
            args[k] = ev->args[k];
            if (!args[k].is_const)
                args[k].data = (char *)args[k].data + (size_t)at * args[k].width;
        }
        const void *const own = part.data;
        in->call.row_base = ev->rows_seen + at;
        ALM_TRY(alm_check(cx));
        ALM_TRY(in->call.fn->kernel(&in->call, rows, args, &part));
        ALM_ASSERT(part.data == own && part.dict == NULL);
        in->vec = part;
    }
    in->vec.data = whole.data;
    return ALM_OK;
}

static alm_status run_call(alm_ctx *cx, alm_eval *ev, eval_instr *in, uint32_t n)
{
    bool all_const = in->n_args > 0;
    for (uint32_t i = 0; i < in->n_args; i++) {
        ev->args[i] = ev->instr[in->arg[i]].vec;
        all_const &= ev->args[i].is_const;
    }
    const bool once = in->invariant || (all_const && !(in->call.fn->flags & ALM_FN_VOLATILE));
    const uint32_t count = once ? 1 : n;
    ALM_TRY(result_buffer(cx, ev, in, count));
    in->call.cx = cx;
    in->call.arena = in->invariant ? ev->arena : &ev->texts;
    in->call.row_base = ev->rows_seen;
    if (count > 1 && in->pieces && is_heavy(ev->args, in->n_args, count))
        ALM_TRY(run_heavy(cx, ev, in, count));
    else
        ALM_TRY(in->call.fn->kernel(&in->call, count, ev->args, &in->vec));
    in->vec.type = in->type;
    in->vec.is_const = once;
    return ALM_OK;
}

static alm_status run_case(alm_ctx *cx, alm_eval *ev, eval_instr *in, uint32_t n)
{
    const uint32_t count = in->invariant ? 1 : n;
    ALM_TRY(result_buffer(cx, ev, in, count));
    for (uint32_t i = 0; i < in->n_args; i++)
        ev->args[i] = ev->instr[in->arg[i]].vec;
    alm_blend_case(ev->args, in->n_args, count, &in->vec);
    in->vec.is_const = in->invariant;
    return ALM_OK;
}

static alm_status run_decode(alm_ctx *cx, alm_eval *ev, eval_instr *in, uint32_t n)
{
    const alm_vec *codes = &ev->instr[in->arg[0]].vec;
    if (codes->dict == NULL) {
        in->vec = *codes; /* views already */
        return ALM_OK;
    }
    const uint32_t count = codes->is_const ? 1 : n;
    ALM_TRY(result_buffer(cx, ev, in, count));
    alm_blend_lookup(codes, codes->dict->views, sizeof(alm_view), codes->dict->count, count,
                     in->vec.data);
    in->vec.is_const = codes->is_const;
    return ALM_OK;
}

static alm_status run_program(alm_ctx *cx, alm_eval *ev, alm_arena *arena, alm_batch *in,
                              uint32_t n);

/* The sub-program over one vector (views, or codes) as its only column. */
static alm_status run_sub(alm_ctx *cx, eval_dict *d, const alm_vec *only, uint32_t n, alm_vec **out)
{
    alm_batch in = {.rows = n, .n_cols = d->col + 1, .cols = d->cols};
    d->cols[d->col] = *only;
    ALM_TRY(run_program(cx, d->sub, d->sub->arena, &in, n));
    *out = &d->sub->instr[d->sub->result[0]].vec;
    return ALM_OK;
}

/* Copies results of one chunk; texts stay in the kernel's arena, which is not reset meanwhile. */
static void keep_chunk(alm_vec *all, const alm_vec *part, uint32_t at, uint32_t n)
{
    alm_blend_copy(part, n, (char *)all->data + (size_t)at * all->width, all->width);
}

static alm_status fill_dict(alm_ctx *cx, eval_instr *in, const alm_dict *dict)
{
    eval_dict *d = in->dict;
    const uint32_t width =
        in->type.id == ALM_T_SYMBOL ? sizeof(alm_view) : alm_type_width(in->type);
    alm_pool_deinit(&d->pool);
    alm_arena_reset(&d->sub->texts);
    d->ready = false;
    d->value = (alm_vec){.type = in->type, .width = (uint8_t)width};
    ALM_TRY(alm_pool_alloc(cx, &d->pool, (size_t)dict->count * width, &d->value.data));
    d->sub->keep_texts = true;
    for (uint32_t at = 0; at < dict->count; at += ALM_BATCH_ROWS) {
        const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, dict->count - at);
        alm_vec views = {.type = ALM_TY(SYMBOL), .width = sizeof(alm_view)};
        union { /* vectors are read-only here; alm_vec has one pointer for both uses */
            const alm_view *in;
            void *out;
        } cast = {.in = dict->views + at};
        views.data = cast.out;
        alm_vec *part = NULL;
        ALM_TRY(alm_check(cx));
        ALM_TRY(run_sub(cx, d, &views, n, &part));
        keep_chunk(&d->value, part, at, n);
    }
    d->dict_id = dict->id;
    d->dict_count = dict->count;
    d->ready = true;
    return ALM_OK;
}

/* Look-up per row once the rows seen pay for the dictionary, else the expression itself. */
static alm_status run_dict(alm_ctx *cx, alm_eval *ev, eval_instr *in, alm_arena *arena,
                           alm_batch *batch, uint32_t n)
{
    enum { CHANGES_MAX = 8, ROWS_PER_VALUE = 4 };
    eval_dict *d = in->dict;
    alm_vec *codes = NULL;
    ALM_TRY(alm_batch_column(cx, arena, batch, in->col, &codes));
    const alm_dict *dict = codes->dict;
    d->rows_seen += n;
    const bool same =
        d->ready && dict != NULL && dict->id == d->dict_id && dict->count <= d->dict_count;
    if (dict != NULL && !same && !codes->is_const && d->changes < CHANGES_MAX &&
        dict->count <= d->rows_seen * ROWS_PER_VALUE) {
        d->changes++;
        if (fill_dict(cx, in, dict) != ALM_OK) { /* an entry that no row here uses is no error */
            alm_error_clear(cx);
            d->changes = CHANGES_MAX;
        }
    }
    if (!d->ready || dict == NULL || dict->id != d->dict_id || dict->count > d->dict_count) {
        alm_vec *part = NULL;
        d->ready = d->sub->keep_texts = false; /* the table's texts go with the next reset */
        ALM_TRY(run_sub(cx, d, codes, n, &part));
        in->vec = *part;
        return ALM_OK;
    }
    const uint32_t count = codes->is_const ? 1 : n;
    ALM_TRY(result_buffer(cx, ev, in, count));
    alm_blend_lookup(codes, d->value.data, d->value.width, d->dict_count, count, in->vec.data);
    in->vec.is_const = codes->is_const;
    return ALM_OK;
}

static alm_status run_instr(alm_ctx *cx, alm_eval *ev, eval_instr *in, alm_arena *arena,
                            alm_batch *batch, uint32_t n)
{
    alm_vec *column = NULL;
    switch (in->kind) {
    case EVAL_COL:
        ALM_TRY(alm_batch_column(cx, arena, batch, in->col, &column));
        in->vec = *column;
        return ALM_OK;
    case EVAL_CALL:
        return run_call(cx, ev, in, n);
    case EVAL_CASE:
        return run_case(cx, ev, in, n);
    case EVAL_DECODE:
        return run_decode(cx, ev, in, n);
    case EVAL_DICT:
        return run_dict(cx, ev, in, arena, batch, n);
    case EVAL_CONST:
        break;
    }
    return ALM_OK;
}

static alm_status run_program(alm_ctx *cx, alm_eval *ev, alm_arena *arena, alm_batch *in,
                              uint32_t n)
{
    if (!ev->keep_texts)
        alm_arena_reset(&ev->texts);
    for (uint32_t i = 0; i < ev->n; i++) {
        eval_instr *instr = &ev->instr[i];
        if (instr->done)
            continue;
        ALM_TRY(alm_steps_add(cx, 1 + n / ROWS_OF_A_STEP));
        ALM_TRY(run_instr(cx, ev, instr, arena, in, n));
        instr->done = instr->invariant;
    }
    ev->rows_seen += n;
    return ALM_OK;
}

alm_status alm_eval_run(alm_ctx *cx, alm_eval *ev, alm_arena *arena, alm_batch *in, alm_vec *out)
{
    ALM_TRY(run_program(cx, ev, arena, in, in->rows));
    for (uint32_t i = 0; i < ev->n_results; i++)
        out[i] = ev->instr[ev->result[i]].vec;
    return ALM_OK;
}

/* The value with memory of the statement. */
static alm_status keep_value(alm_ctx *cx, const alm_vec *from, alm_vec *out)
{
    void *data = NULL;
    const bool views = alm_type_is_text(from->type) || alm_type_has_heap(from->type);
    alm_vec kept = *from;
    if (views && from->dict == NULL) {
        const alm_str text = alm_vec_text(from, 0);
        alm_str copy = {0};
        if (text.ptr != NULL)
            ALM_TRY(alm_arena_copy(cx, cx->arena, text, &copy));
        const alm_view view = alm_view_of(copy);
        ALM_TRY(alm_arena_bytes(cx, cx->arena, sizeof view, &data));
        (void)memcpy(data, &view, sizeof view);
        kept = (alm_vec){.type = from->type, .width = sizeof view, .data = data};
    } else if (from->width > 0) {
        ALM_TRY(alm_arena_bytes(cx, cx->arena, from->width, &data));
        (void)memcpy(data, from->data, from->width);
        kept.data = data;
    }
    kept.is_const = true;
    *out = kept;
    return ALM_OK;
}

/* The program goes when it has run: a statement may have as many constants as its text has room for. */
alm_status alm_exec_constant(alm_ctx *cx, const alm_expr *expr, alm_vec *out)
{
    alm_eval *ev = NULL;
    alm_batch none = {.rows = 1};
    alm_arena *const arena = cx->arena;
    alm_arena own;
    alm_vec value = {0};
    alm_arena_init(&own, cx->mem);
    cx->arena = &own;
    alm_status st = alm_eval_new(cx, &expr, 1, &ev);
    if (st == ALM_OK)
        st = alm_eval_run(cx, ev, &own, &none, &value);
    cx->arena = arena;
    if (st == ALM_OK)
        st = keep_value(cx, &value, out);
    alm_eval_free(ev);
    alm_arena_deinit(&own);
    return st;
}
