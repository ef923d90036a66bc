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

bool alm_eval_expr_volatile(const alm_expr *expr)
{
    if (expr == NULL)
        return false;
    if (expr->kind == ALM_X_CALL && (expr->fn->flags & ALM_FN_VOLATILE))
        return true;
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (alm_eval_expr_volatile(expr->args[i]))
            return true;
    return false;
}

void alm_expr_cols(const alm_expr *expr, bool *used, uint32_t n_cols)
{
    if (expr == NULL)
        return;
    if (expr->kind == ALM_X_COL) {
        ALM_ASSERT(expr->col < n_cols);
        used[expr->col] = true;
    }
    for (uint32_t i = 0; i < expr->n_args; i++)
        alm_expr_cols(expr->args[i], used, n_cols);
}

static bool eval_const_equal(const alm_vec *a, const alm_vec *b)
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
        return eval_const_equal(&a->value, &b->value);
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

/* The one column below expr, if there is exactly one and it is a SYMBOL; else -1. -2: no column. */
static int64_t only_symbol(const alm_expr *expr)
{
    if (expr->kind == ALM_X_COL)
        return expr->type.id == ALM_T_SYMBOL ? (int64_t)expr->col : -1;
    int64_t found = -2;
    for (uint32_t i = 0; i < expr->n_args; i++) {
        const int64_t below = expr->args[i] == NULL ? -2 : only_symbol(expr->args[i]);
        if (below == -1 || (found >= 0 && below >= 0 && below != found))
            return -1;
        found = below >= 0 ? below : found;
    }
    return found;
}

/* Must be evaluated by row, not once per dictionary entry: it is volatile, or an entry no row uses could raise an error. */
static bool sees_rows(const alm_expr *expr)
{
    if (expr->kind == ALM_X_CALL && (expr->fn->flags & (ALM_FN_VOLATILE | ALM_FN_CHECKED)) != 0)
        return true;
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (expr->args[i] != NULL && sees_rows(expr->args[i]))
            return true;
    return false;
}

/* --------------------------------------------------------------------------- compilation */

enum { ROWS_OF_A_STEP = 4 }; /* in alm_steps_add */

/* Programs of a few instructions, which most are, need no hashes. */
enum { FEW = 16 };

static alm_status add_instr(alm_ctx *cx, alm_eval *eval, eval_kind kind, const alm_expr *expr,
                            uint32_t *out)
{
    if (eval->n == eval->cap) {
        const uint32_t cap = eval->cap == 0 ? 8 : 2 * eval->cap;
        eval_instr *grown = NULL;
        ALM_TRY(ALM_NEWN(cx, eval->arena, cap, &grown));
        if (eval->n > 0)
            memcpy(grown, eval->instr, eval->n * sizeof *grown);
        eval->instr = grown;
        eval->cap = cap;
    }
    eval->instr[eval->n] = (eval_instr){.kind = kind, .expr = expr, .type = expr->type};
    *out = eval->n++;
    /* Hash entry i belongs to instruction i, so every instruction gets one, even the null of a CASE, which is never looked up. */
    while (eval->n >= FEW && eval->hashes.n < eval->n)
        ALM_TRY(alm_hashes_add(cx, eval->arena, &eval->hashes,
                               alm_expr_hash(eval->instr[eval->hashes.n].expr)));
    return ALM_OK;
}

static alm_status eval_compile(alm_ctx *cx, alm_eval *eval, const alm_expr *expr, uint32_t *out);

static bool is_instr_of(const eval_instr *instr, const alm_expr *expr)
{
    return instr->kind != EVAL_DECODE && instr->expr != NULL && instr->expr->size == expr->size &&
           alm_eval_expr_equal(instr->expr, expr);
}

static bool find_instr(const alm_eval *eval, const alm_expr *expr, uint32_t *out)
{
    uint32_t place = 0;
    for (*out = 0; eval->n < FEW && *out < eval->n; ++*out)
        if (is_instr_of(&eval->instr[*out], expr))
            return true;
    const uint64_t hash = eval->n < FEW ? 0 : alm_expr_hash(expr);
    while (eval->n >= FEW && alm_hashes_next(&eval->hashes, hash, &place, out))
        if (is_instr_of(&eval->instr[*out], expr))
            return true;
    return false;
}

static bool find_decode(const alm_eval *eval, uint32_t arg, uint32_t *out)
{
    uint32_t place = 0;
    for (*out = 0; eval->n < FEW && *out < eval->n; ++*out)
        if (eval->instr[*out].kind == EVAL_DECODE && eval->instr[*out].arg[0] == arg)
            return true;
    const uint64_t hash = eval->n < FEW ? 0 : alm_expr_hash(eval->instr[arg].expr);
    while (eval->n >= FEW && alm_hashes_next(&eval->hashes, hash, &place, out))
        if (eval->instr[*out].kind == EVAL_DECODE && eval->instr[*out].arg[0] == arg)
            return true;
    return false;
}

/* Views for a SYMBOL argument; other arguments as they are. */
static alm_status decoded(alm_ctx *cx, alm_eval *eval, uint32_t arg, uint32_t *out)
{
    *out = arg;
    if (eval->instr[arg].type.id != ALM_T_SYMBOL)
        return ALM_OK;
    uint32_t place = 0;
    if (find_decode(eval, arg, &place)) {
        *out = place;
        return ALM_OK;
    }
    ALM_TRY(add_instr(cx, eval, EVAL_DECODE, eval->instr[arg].expr, &place));
    eval_instr *instr = &eval->instr[place];
    ALM_TRY(ALM_NEWN(cx, eval->arena, 1, &instr->arg));
    instr->arg[0] = arg;
    instr->n_args = 1;
    instr->invariant = eval->instr[arg].invariant;
    *out = place;
    return ALM_OK;
}

static alm_status compile_args(alm_ctx *cx, alm_eval *eval, const alm_expr *expr, bool decode,
                               uint32_t **out, bool *invariant)
{
    uint32_t *arg = NULL;
    ALM_TRY(ALM_NEWN(cx, eval->arena, expr->n_args + 1, &arg));
    *invariant = true;
    for (uint32_t i = 0; i < expr->n_args; i++) {
        ALM_TRY(eval_compile(cx, eval, expr->args[i], &arg[i]));
        if (decode)
            ALM_TRY(decoded(cx, eval, arg[i], &arg[i]));
        *invariant &= eval->instr[arg[i]].invariant;
    }
    eval->max_args = ALM_MAX(eval->max_args, expr->n_args);
    *out = arg;
    return ALM_OK;
}

/* Comparisons look at few bytes of most texts, and at the time limit where they are long; null tests at none. Patterns look at the
 * limit themselves, and have room for a batch, which each piece would take anew. list_at goes on in a list where the row before ended:
 * begun anew with each piece it would take n times as long. */
static bool goes_by_pieces(const alm_expr *expr)
{
    static const char *const quick[] = {
        "=",     "!=", "<>", "<",    "<=",      ">",           ">=",      "like",
        "ilike", "~",  "!~", "glob", "is null", "is not null", "list_at", "regexp_replace"};
    bool texts = false;
    for (uint32_t i = 0; i < expr->n_args; i++)
        texts |= alm_has_views(expr->args[i]->type);
    for (size_t i = 0; i < ALM_COUNT(quick) && texts; i++)
        texts = strcmp(expr->fn->name, quick[i]) != 0;
    return texts;
}

static alm_status compile_call(alm_ctx *cx, alm_eval *eval, const alm_expr *expr, uint32_t *out)
{
    uint32_t *arg = NULL;
    bool invariant = false;
    ALM_TRY(compile_args(cx, eval, expr, !(expr->fn->flags & ALM_FN_SYMBOLS), &arg, &invariant));
    void *state = NULL;
    if (expr->fn->state_bytes > 0)
        ALM_TRY(alm_arena_zero(cx, eval->arena, expr->fn->state_bytes, &state));
    ALM_TRY(add_instr(cx, eval, EVAL_CALL, expr, out));
    eval_instr *instr = &eval->instr[*out];
    instr->arg = arg;
    instr->n_args = expr->n_args;
    instr->invariant = invariant && !(expr->fn->flags & ALM_FN_VOLATILE);
    instr->pieces = goes_by_pieces(expr);
    instr->call = (alm_call){.fn = expr->fn,
                             .data = expr->data,
                             .state = state,
                             .result = expr->type,
                             .pos = expr->pos,
                             .argc = expr->n_args};
    return ALM_OK;
}

static alm_status compile_dict(alm_ctx *cx, alm_eval *eval, const alm_expr *expr, uint32_t col,
                               uint32_t *out)
{
    eval_dict *dict = NULL;
    ALM_TRY(ALM_NEW(cx, eval->arena, &dict));
    ALM_TRY(ALM_NEW(cx, eval->arena, &dict->sub));
    alm_eval *sub = dict->sub;
    sub->arena = eval->arena;
    sub->no_dict = true;
    alm_arena_init(&sub->texts, cx->mem);
    alm_arena_init(&dict->texts, cx->mem);
    alm_pool_init(&dict->pool, cx->mem, "symbol values");
    ALM_TRY(ALM_NEWN(cx, eval->arena, 1, &sub->result));
    sub->n_results = 1;
    ALM_TRY(eval_compile(cx, sub, expr, &sub->result[0]));
    ALM_TRY(ALM_NEWN(cx, eval->arena, sub->max_args + 1, &sub->args));
    dict->col = col;
    ALM_TRY(ALM_NEWN(cx, eval->arena, col + 1, &dict->cols));
    ALM_TRY(add_instr(cx, eval, EVAL_DICT, expr, out));
    eval->instr[*out].dict = dict;
    eval->instr[*out].col = col;
    return ALM_OK;
}

static alm_status eval_compile(alm_ctx *cx, alm_eval *eval, const alm_expr *expr, uint32_t *out)
{
    ALM_TRY(alm_check(cx)); /* an expression of many parts is compared with itself */
    if (find_instr(eval, expr, out))
        return ALM_OK;
    if (expr->kind == ALM_X_PARAM)
        return alm_fail(cx, ALM_E_PARAM, expr->pos, "bind variable has no value");
    if (expr->kind == ALM_X_COL) {
        ALM_TRY(add_instr(cx, eval, EVAL_COL, expr, out));
        eval->instr[*out].col = expr->col;
        return ALM_OK;
    }
    if (expr->kind == ALM_X_CONST) {
        ALM_TRY(add_instr(cx, eval, EVAL_CONST, expr, out));
        eval_instr *instr = &eval->instr[*out];
        instr->vec = expr->value;
        instr->vec.is_const = true;
        instr->invariant = instr->done = true;
        return ALM_OK;
    }
    const int64_t col = eval->no_dict || sees_rows(expr) ? -1 : only_symbol(expr);
    if (col >= 0)
        return compile_dict(cx, eval, expr, (uint32_t)col, out);
    if (expr->kind == ALM_X_CALL)
        return compile_call(cx, eval, expr, out);
    ALM_ASSERT(expr->kind == ALM_X_CASE);
    uint32_t *arg = NULL;
    bool invariant = false;
    ALM_TRY(compile_args(cx, eval, expr, true, &arg, &invariant));
    uint32_t n_args = expr->n_args;
    if (n_args % 2 == 0) { /* no ELSE: null */
        ALM_TRY(add_instr(cx, eval, EVAL_CONST, expr, &arg[n_args]));
        eval_instr *instr = &eval->instr[arg[n_args++]];
        instr->expr = NULL; /* not the CASE itself */
        instr->invariant = instr->done = true;
        ALM_TRY(alm_vec_null(cx, eval->arena, expr->type, &instr->vec));
        eval->max_args = ALM_MAX(eval->max_args, n_args);
    }
    ALM_TRY(add_instr(cx, eval, EVAL_CASE, expr, out));
    eval->instr[*out].arg = arg;
    eval->instr[*out].n_args = n_args;
    eval->instr[*out].invariant = invariant;
    return ALM_OK;
}

alm_status alm_eval_new(alm_ctx *cx, const alm_expr *const *exprs, uint32_t n_exprs, alm_eval **out)
{
    alm_eval *eval = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &eval));
    eval->arena = cx->arena;
    alm_arena_init(&eval->texts, cx->mem);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_exprs + 1, &eval->result));
    eval->n_results = n_exprs;
    for (uint32_t i = 0; i < n_exprs; i++)
        ALM_TRY(eval_compile(cx, eval, exprs[i], &eval->result[i]));
    ALM_TRY(ALM_NEWN(cx, cx->arena, eval->max_args + 1, &eval->args));
    *out = eval;
    return ALM_OK;
}

alm_status alm_eval_views(alm_ctx *cx, alm_eval *eval, uint32_t i)
{
    ALM_ASSERT(i < eval->n_results && eval->rows_seen == 0);
    return decoded(cx, eval, eval->result[i], &eval->result[i]);
}

void alm_eval_free(alm_eval *eval)
{
    if (eval == NULL)
        return;
    for (uint32_t i = 0; i < eval->n; i++)
        if (eval->instr[i].kind == EVAL_DICT) {
            eval_dict *dict = eval->instr[i].dict;
            alm_eval_free(dict->sub);
            alm_pool_deinit(&dict->pool);
            alm_arena_deinit(&dict->texts);
        }
    alm_arena_deinit(&eval->texts);
}

/* ----------------------------------------------------------------------------- execution */

/* Result vector over the instruction's own buffer, with room for n elements. */
static alm_status result_buffer(alm_ctx *cx, alm_eval *eval, eval_instr *instr, uint32_t n)
{
    const uint32_t width =
        instr->type.id == ALM_T_SYMBOL ? sizeof(alm_view) : alm_type_width(instr->type);
    if (instr->buf_rows < n) {
        /* small batches (point queries) get small buffers; the second growth takes a full one */
        const uint32_t rows = instr->buf_rows == 0 ? ALM_MAX(n, 16U) : ALM_MAX(n, ALM_BATCH_ROWS);
        ALM_TRY(alm_arena_bytes(cx, eval->arena, (size_t)rows * ALM_MAX(width, 4U), &instr->buf));
        instr->buf_rows = rows;
    }
    instr->vec = (alm_vec){.type = instr->type, .width = (uint8_t)width, .data = instr->buf};
    return ALM_OK;
}

/* Bytes of the texts and arrays of row i. */
static uint64_t eval_row_bytes(const alm_vec *args, uint32_t n_args, uint32_t i)
{
    uint64_t bytes = 0;
    for (uint32_t arg = 0; arg < n_args; arg++) {
        const alm_view *views = args[arg].data;
        if (!alm_has_views(args[arg].type))
            continue;
        const alm_view *view = &views[args[arg].is_const ? 0 : i];
        bytes += alm_view_is_null(view) ? 0 : view->len;
    }
    return bytes;
}

/* May the texts and arrays of n rows be so long that one call of a kernel takes too long? */
static bool eval_is_heavy(const alm_vec *args, uint32_t n_args, uint32_t n)
{
    enum { SHORT = 256 }; /* a power of two: a batch of such is nothing */
    uint32_t any = 0;
    for (uint32_t arg = 0; arg < n_args; arg++) {
        const alm_view *views = args[arg].data;
        if (args[arg].dict != NULL)
            return false;
        if (!alm_has_views(args[arg].type))
            continue;
        const uint32_t count = args[arg].is_const ? 1 : n;
        for (uint32_t i = 0; i < count; i++)
            any |= views[i].len + 1; /* of null: 0 */
    }
    return any >= SHORT;
}

/* The kernel over n rows, piece by piece, with a look at the time limit between them. */
static alm_status run_heavy(alm_ctx *cx, alm_eval *eval, eval_instr *instr, uint32_t n)
{
    enum { PIECE_BYTES = 1 << 20 };
    const alm_vec whole = instr->vec;
    alm_vec *args = NULL;
    ALM_TRY(ALM_NEWN(cx, instr->call.arena, instr->n_args, &args));
    for (uint32_t place = 0, rows = 0; place < n; place += rows) {
        rows = 0;
        for (uint64_t bytes = 0; place + rows < n && bytes < PIECE_BYTES; rows++)
            bytes += eval_row_bytes(eval->args, instr->n_args, place + rows);
        alm_vec part = whole;
        part.data = (char *)whole.data + (size_t)place * whole.width;
        for (uint32_t arg = 0; arg < instr->n_args; arg++) {
            args[arg] = eval->args[arg];
            if (!args[arg].is_const)
                args[arg].data = (char *)args[arg].data + (size_t)place * args[arg].width;
        }
        const void *const own = part.data;
        instr->call.row_base = eval->rows_seen + place;
        ALM_TRY(alm_check(cx));
        ALM_TRY(instr->call.fn->kernel(&instr->call, rows, args, &part));
        ALM_ASSERT(part.data == own && part.dict == NULL);
        instr->vec = part;
    }
    instr->vec.data = whole.data;
    return ALM_OK;
}

static alm_status eval_run_call(alm_ctx *cx, alm_eval *eval, eval_instr *instr, uint32_t n)
{
    bool all_const = instr->n_args > 0;
    for (uint32_t i = 0; i < instr->n_args; i++) {
        eval->args[i] = eval->instr[instr->arg[i]].vec;
        all_const &= eval->args[i].is_const;
    }
    const bool once = instr->invariant || (all_const && !(instr->call.fn->flags & ALM_FN_VOLATILE));
    const uint32_t count = once ? 1 : n;
    ALM_TRY(result_buffer(cx, eval, instr, count));
    instr->call.cx = cx;
    instr->call.arena = instr->invariant ? eval->arena : &eval->texts;
    instr->call.row_base = eval->rows_seen;
    if (count > 1 && instr->pieces && eval_is_heavy(eval->args, instr->n_args, count))
        ALM_TRY(run_heavy(cx, eval, instr, count));
    else
        ALM_TRY(instr->call.fn->kernel(&instr->call, count, eval->args, &instr->vec));
    instr->vec.type = instr->type;
    instr->vec.is_const = once;
    return ALM_OK;
}

static alm_status run_case(alm_ctx *cx, alm_eval *eval, eval_instr *instr, uint32_t n)
{
    const uint32_t count = instr->invariant ? 1 : n;
    ALM_TRY(result_buffer(cx, eval, instr, count));
    for (uint32_t i = 0; i < instr->n_args; i++)
        eval->args[i] = eval->instr[instr->arg[i]].vec;
    alm_blend_case(eval->args, instr->n_args, count, &instr->vec);
    instr->vec.is_const = instr->invariant;
    return ALM_OK;
}

static alm_status run_decode(alm_ctx *cx, alm_eval *eval, eval_instr *instr, uint32_t n)
{
    const alm_vec *codes = &eval->instr[instr->arg[0]].vec;
    if (codes->dict == NULL) {
        instr->vec = *codes; /* views already */
        return ALM_OK;
    }
    const uint32_t count = codes->is_const ? 1 : n;
    ALM_TRY(result_buffer(cx, eval, instr, count));
    alm_blend_lookup(codes, codes->dict->views, sizeof(alm_view), codes->dict->count, count,
                     instr->vec.data);
    instr->vec.is_const = codes->is_const;
    return ALM_OK;
}

static alm_status run_program(alm_ctx *cx, alm_eval *eval, alm_arena *arena, alm_batch *batch,
                              uint32_t n);

/* The sub-program over one vector (views, or codes) as its only column. */
static alm_status run_sub(alm_ctx *cx, eval_dict *dict, const alm_vec *only, uint32_t n_rows,
                          alm_vec **out)
{
    alm_batch batch = {.rows = n_rows, .n_cols = dict->col + 1, .cols = dict->cols};
    dict->cols[dict->col] = *only;
    ALM_TRY(run_program(cx, dict->sub, dict->sub->arena, &batch, n_rows));
    *out = &dict->sub->instr[dict->sub->result[0]].vec;
    return ALM_OK;
}

/* Copies results of one chunk; texts stay in the kernel's arena, which is not reset meanwhile. */
static void keep_chunk(alm_vec *all, const alm_vec *part, uint32_t place, uint32_t n_rows)
{
    alm_blend_copy(part, n_rows, (char *)all->data + (size_t)place * all->width, all->width);
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
    for (uint32_t place = 0; place < dict->count; place += ALM_BATCH_ROWS) {
        const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, dict->count - place);
        alm_vec views = {.type = ALM_TY(SYMBOL), .width = sizeof(alm_view)};
        union { /* vectors are read-only here; alm_vec has one pointer for both uses */
            const alm_view *in;
            void *out;
        } cast = {.in = dict->views + place};
        views.data = cast.out;
        alm_vec *part = NULL;
        ALM_TRY(alm_check(cx));
        ALM_TRY(run_sub(cx, d, &views, n_rows, &part));
        keep_chunk(&d->value, part, place, n_rows);
    }
    d->dict_id = dict->id;
    d->dict_count = dict->count;
    d->ready = true;
    return ALM_OK;
}

/* Look-up per row once the rows seen pay for the dictionary, else the expression itself. */
static alm_status run_dict(alm_ctx *cx, alm_eval *eval, eval_instr *instr, alm_arena *arena,
                           alm_batch *batch, uint32_t n)
{
    enum { CHANGES_MAX = 8, ROWS_PER_VALUE = 4 };
    eval_dict *d = instr->dict;
    alm_vec *codes = NULL;
    ALM_TRY(alm_batch_column(cx, arena, batch, instr->col, &codes));
    const alm_dict *dict = codes->dict;
    d->rows_seen += n;
    const bool same =
        d->ready && dict != NULL && dict->id == d->dict_id && dict->count <= d->dict_count;
    if (dict != NULL && !same && !codes->is_const && d->changes < CHANGES_MAX &&
        dict->count <= d->rows_seen * ROWS_PER_VALUE) {
        d->changes++;
        if (fill_dict(cx, instr, dict) != ALM_OK) { /* an entry that no row here uses is no error */
            alm_error_clear(cx);
            d->changes = CHANGES_MAX;
        }
    }
    if (!d->ready || dict == NULL || dict->id != d->dict_id || dict->count > d->dict_count) {
        alm_vec *part = NULL;
        d->ready = d->sub->keep_texts = false; /* the table's texts go with the next reset */
        ALM_TRY(run_sub(cx, d, codes, n, &part));
        instr->vec = *part;
        return ALM_OK;
    }
    const uint32_t count = codes->is_const ? 1 : n;
    ALM_TRY(result_buffer(cx, eval, instr, count));
    alm_blend_lookup(codes, d->value.data, d->value.width, d->dict_count, count, instr->vec.data);
    instr->vec.is_const = codes->is_const;
    return ALM_OK;
}

static alm_status run_instr(alm_ctx *cx, alm_eval *eval, eval_instr *instr, alm_arena *arena,
                            alm_batch *batch, uint32_t n)
{
    alm_vec *column = NULL;
    switch (instr->kind) {
    case EVAL_COL:
        ALM_TRY(alm_batch_column(cx, arena, batch, instr->col, &column));
        instr->vec = *column;
        return ALM_OK;
    case EVAL_CALL:
        return eval_run_call(cx, eval, instr, n);
    case EVAL_CASE:
        return run_case(cx, eval, instr, n);
    case EVAL_DECODE:
        return run_decode(cx, eval, instr, n);
    case EVAL_DICT:
        return run_dict(cx, eval, instr, arena, batch, n);
    case EVAL_CONST:
        break;
    }
    return ALM_OK;
}

static alm_status run_program(alm_ctx *cx, alm_eval *eval, alm_arena *arena, alm_batch *batch,
                              uint32_t n)
{
    if (!eval->keep_texts)
        alm_arena_reset(&eval->texts);
    for (uint32_t i = 0; i < eval->n; i++) {
        eval_instr *instr = &eval->instr[i];
        if (instr->done)
            continue;
        ALM_TRY(alm_steps_add(cx, 1 + n / ROWS_OF_A_STEP));
        ALM_TRY(run_instr(cx, eval, instr, arena, batch, n));
        instr->done = instr->invariant;
    }
    eval->rows_seen += n;
    return ALM_OK;
}

alm_status alm_eval_run(alm_ctx *cx, alm_eval *eval, alm_arena *arena, alm_batch *batch,
                        alm_vec *out)
{
    ALM_TRY(run_program(cx, eval, arena, batch, batch->rows));
    for (uint32_t i = 0; i < eval->n_results; i++)
        out[i] = eval->instr[eval->result[i]].vec;
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
    alm_eval *eval = NULL;
    alm_batch none = {.rows = 1};
    alm_arena *const arena = cx->arena;
    alm_arena own;
    alm_vec value = {0};
    alm_arena_init(&own, cx->mem);
    cx->arena = &own;
    alm_status status = alm_eval_new(cx, &expr, 1, &eval);
    if (status == ALM_OK)
        status = alm_eval_run(cx, eval, &own, &none, &value);
    cx->arena = arena;
    if (status == ALM_OK)
        status = keep_value(cx, &value, out);
    alm_eval_free(eval);
    alm_arena_deinit(&own);
    return status;
}
