/*
 * op_join_hash.c - INNER, LEFT, RIGHT, FULL, CROSS, SEMI and ANTI joins, with or without keys and
 * residual conditions. Streaming over the left input, but for RIGHT and FULL, which end with the
 * right rows nobody matched.
 *
 * Two ways    simple  at most one match per left row and no residual: the left columns pass as they
 *                     are, under a selection where rows fall out; only right columns are gathered.
 *             pairs   candidates of left rows, up to a batch at a time, both sides gathered; residual
 *                     conditions see all candidates, then the kind of join decides what stays.
 * Order       Left order; matches of one left row in right order.
 */
#include <stdlib.h>

#include "exec/join/asof_right.h"
#include "exec/join/join.h"
#include "exec/run/op_make.h"

/* Right row of each left code; ALM_JOIN_NO_ROW: left rows with that code go. */
typedef struct code_rows {
    uint32_t *row;
    uint32_t dict_id, count;
    bool all; /* no row goes */
} code_rows;

typedef struct op_join {
    alm_op op;
    uint8_t kind;
    const alm_join_table *table;
    alm_join_probe probe;
    code_rows codes; /* simple way with one symbol key */
    bool by_code;    /* for the left batch under way; else `number` */
    alm_filter *residual;
    bool *tested;          /* columns of left ++ right the residual reads */
    alm_vec *test;         /* those, for one batch of candidates */
    const bool *unread;    /* right columns nobody reads, or NULL */
    alm_vec *unread_vec;   /* what stands for them */
    uint32_t n_left;       /* columns */
    bool keep_left;        /* LEFT, FULL: rows without a match come with nulls */
    bool one_side;         /* SEMI, ANTI */
    alm_arena left_arena;  /* lives as long as the left batch */
    alm_batch *left;       /* NULL: fetch */
    const alm_dict **dict; /* of left columns, last seen: nulls keep the form */
    uint32_t at, off;      /* next left row, and how many of its candidates are done */
    uint32_t open_row;     /* row whose candidates did not fit into the batch, ALM_JOIN_NO_ROW */
    bool open_matched;
    bool ended; /* left input at its end */
    uint32_t tail;
    uint32_t *number;    /* per left row */
    uint32_t *li, *ri;   /* candidates */
    uint32_t *oli, *ori; /* what stays of them */
    uint8_t *pass;
    uint16_t *sel;
} op_join;

/* --------------------------------------------------------------------------- output columns */

/* Left rows li[0..k) ascending, each once: no data moves unless it has to. */
static alm_status select_left(alm_ctx *cx, op_join *j, const uint32_t *li, uint32_t k)
{
    const alm_batch *batch = j->left;
    alm_batch *out = &j->op.out;
    memcpy(out->cols, batch->cols, j->n_left * sizeof *out->cols);
    out->rows = k;
    out->sel = batch->sel;
    if (k == batch->rows)
        return ALM_OK;
    for (uint32_t i = 0; i < k; i++)
        j->sel[i] = batch->sel == NULL ? (uint16_t)li[i] : batch->sel[li[i]];
    out->sel = j->sel;
    for (uint32_t left = 0; left < j->n_left; left++) {
        alm_vec *vec = &out->cols[left];
        if (batch->sel == NULL)
            vec->indirect = !vec->is_const;
        else if (!vec->indirect && !vec->is_const)
            ALM_TRY(alm_vec_gather(cx, &j->op.batch, &batch->cols[left], li, k, vec));
    }
    return ALM_OK;
}

/* Left rows li[0..k), in any number each; column col of the left into *out. */
static alm_status gather_left(alm_ctx *cx, op_join *j, uint32_t col, const uint32_t *li, uint32_t k,
                              alm_vec *out)
{
    alm_vec *dense = NULL;
    ALM_TRY(alm_batch_column(cx, &j->left_arena, j->left, col, &dense));
    if (k > 0 && li[0] == li[k - 1]) { /* one row against many */
        *out = *dense;
        if (!dense->is_const)
            out->data = (char *)dense->data + (size_t)li[0] * dense->width;
        out->is_const = true;
        return ALM_OK;
    }
    return alm_vec_gather(cx, &j->op.batch, dense, li, k, out);
}

/* Row numbers one after another: pairs of several left rows may have the ends of a run and be none. */
static bool is_run(const uint32_t *ri, uint32_t k)
{
    uint32_t differ = 0;
    for (uint32_t i = 0; i < k; i++)
        differ |= ri[i] ^ (ri[0] + i);
    return k > 0 && differ == 0;
}

static alm_status gather_right(alm_ctx *cx, op_join *j, const uint32_t *ri, uint32_t k,
                               alm_vec *out)
{
    const alm_rows *rows = &j->table->rows;
    if (!j->table->keyed && is_run(ri, k)) {
        for (uint32_t col = 0; col < rows->n_cols; col++) /* a run of rows, as in cross joins */
            alm_rows_slice(rows, col, ri[0], &out[col]);
        return ALM_OK;
    }
    return alm_rows_gather(cx, rows, &j->op.batch, ri, k, out);
}

/* Right columns of the result; those nobody reads are constants. */
static alm_status result_right(alm_ctx *cx, op_join *j, const uint32_t *ri, uint32_t k)
{
    const alm_rows *rows = &j->table->rows;
    alm_vec *out = j->op.out.cols + j->n_left;
    if (j->unread == NULL || !j->table->keyed)
        return gather_right(cx, j, ri, k, out);
    for (uint32_t col = 0; col < rows->n_cols; col++)
        if (j->unread[col])
            out[col] = j->unread_vec[col];
    return alm_rows_gather_some(cx, rows, &j->op.batch, ri, k, j->unread, out);
}

static alm_status gather_pairs(alm_ctx *cx, op_join *j, const uint32_t *li, const uint32_t *ri,
                               uint32_t k)
{
    alm_batch *out = &j->op.out;
    for (uint32_t left = 0; left < j->n_left; left++)
        ALM_TRY(gather_left(cx, j, left, li, k, &out->cols[left]));
    if (!j->one_side)
        ALM_TRY(result_right(cx, j, ri, k));
    out->rows = k;
    out->sel = NULL;
    return ALM_OK;
}

static void mark_matched(op_join *j, const uint32_t *ri, uint32_t k)
{
    uint8_t *matched = j->table->matched;
    if (matched == NULL)
        return;
    for (uint32_t i = 0; i < k; i++)
        if (ri[i] < j->table->n)
            matched[ri[i]] = 1;
}

/* ------------------------------------------------------------------------------ simple way */

static bool is_simple(const op_join *j)
{
    return j->residual == NULL && j->table->keyed && (j->table->unique || j->one_side);
}

static bool op_join_hash_has_rows(const alm_join_table *table, uint32_t number)
{
    if (number == ALM_JOIN_NO_ROW)
        return false;
    return table->unique ? table->first[number] != ALM_JOIN_NO_ROW
                         : table->first[number] < table->first[number + 1];
}

/* For dictionaries that are small beside the rows that will come. */
enum { CODES_MAX = 65536 };

static alm_status make_code_rows(alm_ctx *cx, op_join *j, const alm_dict *from)
{
    const alm_join_table *table = j->table;
    code_rows *c = &j->codes;
    uint32_t *code = NULL;
    if (c->row != NULL && c->dict_id == from->id && c->count >= from->count)
        return ALM_OK;
    ALM_TRY(alm_pool_grow(cx, &j->probe.pool, &c->row, 0, from->count * sizeof *c->row));
    ALM_TRY(alm_arena_bytes(cx, &j->left_arena, from->count * sizeof *code, &code));
    for (uint32_t i = 0; i < from->count; i++)
        code[i] = i;
    const alm_vec all = {.type = ALM_TY(SYMBOL), .width = 4, .dict = from, .data = code};
    ALM_TRY(alm_join_translate(cx, &j->probe.pool, &j->probe.codes[0], table->dict, &all,
                               from->count, c->row));
    c->dict_id = from->id;
    c->count = from->count;
    c->all = true;
    for (uint32_t i = 0; i < from->count; i++) {
        const uint32_t number = c->row[i] < table->n_numbers ? c->row[i] : ALM_JOIN_NO_ROW;
        const bool there = op_join_hash_has_rows(table, number);
        if (j->one_side)
            c->row[i] = there == (j->kind == ALM_JOIN_SEMI) ? 0 : ALM_JOIN_NO_ROW;
        else
            c->row[i] = there ? table->first[number] : j->keep_left ? table->n : ALM_JOIN_NO_ROW;
        c->all &= c->row[i] != ALM_JOIN_NO_ROW;
    }
    return ALM_OK;
}

#define DEFINE_MATCH(bits)                                                                         \
    static uint32_t match_##bits(const uint##bits##_t *restrict code, uint32_t n,                  \
                                 const uint32_t *restrict row, bool all, uint32_t *restrict li,    \
                                 uint32_t *restrict ri)                                            \
    {                                                                                              \
        uint32_t k = 0;                                                                            \
        if (all) {                                                                                 \
            for (uint32_t i = 0; i < n; i++)                                                       \
                ri[i] = row[code[i]];                                                              \
            return n;                                                                              \
        }                                                                                          \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const uint32_t r = row[code[i]];                                                       \
            li[k] = i;                                                                             \
            ri[k] = r;                                                                             \
            k += r != ALM_JOIN_NO_ROW;                                                             \
        }                                                                                          \
        return k;                                                                                  \
    }
DEFINE_MATCH(8)
DEFINE_MATCH(16)
DEFINE_MATCH(32)

static uint32_t code_matches(op_join *j)
{
    const alm_vec *vec = &j->probe.key[0];
    const code_rows *c = &j->codes;
    const uint32_t n_rows = j->left->rows;
    if (vec->width == 1)
        return match_8(vec->data, n_rows, c->row, c->all, j->li, j->ri);
    if (vec->width == 2)
        return match_16(vec->data, n_rows, c->row, c->all, j->li, j->ri);
    return match_32(vec->data, n_rows, c->row, c->all, j->li, j->ri);
}

static uint32_t simple_rows(op_join *j)
{
    if (j->by_code)
        return code_matches(j);
    const alm_join_table *table = j->table;
    const uint32_t *number = j->number;
    const uint32_t n_rows = j->left->rows;
    uint32_t k = 0;
    if (j->one_side) {
        const bool wanted = j->kind == ALM_JOIN_SEMI;
        for (uint32_t i = 0; i < n_rows; i++) {
            j->li[k] = i;
            k += op_join_hash_has_rows(table, number[i]) == wanted;
        }
        return k;
    }
    if (j->keep_left) {
        for (uint32_t i = 0; i < n_rows; i++) {
            const uint32_t row = number[i] == ALM_JOIN_NO_ROW ? table->n : table->first[number[i]];
            j->ri[i] = ALM_MIN(row, table->n);
        }
        return n_rows;
    }
    for (uint32_t i = 0; i < n_rows; i++) {
        const uint32_t row =
            number[i] == ALM_JOIN_NO_ROW ? ALM_JOIN_NO_ROW : table->first[number[i]];
        j->li[k] = i;
        j->ri[k] = row;
        k += row != ALM_JOIN_NO_ROW;
    }
    return k;
}

static alm_status emit_simple(alm_ctx *cx, op_join *j, alm_batch **out)
{
    const uint32_t k = simple_rows(j);
    j->at = j->left->rows;
    if (k == 0)
        return ALM_OK;
    ALM_TRY(select_left(cx, j, j->li, k));
    if (!j->one_side) {
        mark_matched(j, j->ri, k);
        ALM_TRY(result_right(cx, j, j->ri, k));
    }
    *out = &j->op.out;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- pairs way */

/* Candidates [lo, hi) of a left row, as positions for candidate(). */
static void op_join_hash_candidates(const alm_join_table *table, uint32_t number, uint32_t *lo,
                                    uint32_t *hi)
{
    *lo = *hi = 0;
    if (number == ALM_JOIN_NO_ROW)
        return;
    if (table->keyed && table->unique) {
        *lo = table->first[number];
        *hi = *lo == ALM_JOIN_NO_ROW ? *lo : *lo + 1;
    } else {
        *lo = table->first[number];
        *hi = table->first[number + 1];
    }
}

/* The next candidates into li, ri; a left row without any has the row of nulls where `pad` is set. */
static uint32_t fill_pairs(op_join *j, bool pad)
{
    const alm_join_table *table = j->table;
    uint32_t k = 0;
    while (j->at < j->left->rows && k < ALM_BATCH_ROWS) {
        uint32_t lo, hi;
        op_join_hash_candidates(table, j->number[j->at], &lo, &hi);
        const uint32_t take = ALM_MIN(hi - lo - j->off, ALM_BATCH_ROWS - k);
        const uint32_t *list = table->list != NULL ? table->list + lo + j->off : NULL;
        for (uint32_t value = 0; value < take; value++) {
            j->li[k + value] = j->at;
            j->ri[k + value] = list != NULL ? list[value] : lo + j->off + value;
        }
        k += take;
        j->off += take;
        if (j->off < hi - lo)
            break;
        if (pad && lo == hi) {
            j->li[k] = j->at;
            j->ri[k++] = table->n;
        }
        j->at++;
        j->off = 0;
    }
    return k;
}

static alm_status test_pairs(alm_ctx *cx, op_join *j, uint32_t k)
{
    const alm_rows *rows = &j->table->rows;
    alm_vec *right = j->test + j->n_left;
    for (uint32_t left = 0; left < j->n_left; left++)
        if (j->tested[left])
            ALM_TRY(gather_left(cx, j, left, j->li, k, &j->test[left]));
    bool any_right = false;
    for (uint32_t col = 0; col < rows->n_cols; col++)
        any_right |= j->tested[j->n_left + col];
    if (any_right)
        ALM_TRY(gather_right(cx, j, j->ri, k, right));
    const alm_batch batch = {.rows = k, .n_cols = j->n_left + rows->n_cols, .cols = j->test};
    const uint16_t *sel = NULL;
    uint32_t kept = 0;
    ALM_TRY(alm_filter_run(cx, j->residual, &batch, &sel, &kept));
    memset(j->pass, sel == NULL && kept == k, k);
    for (uint32_t i = 0; sel != NULL && i < kept; i++)
        j->pass[sel[i]] = 1;
    return ALM_OK;
}

/* What the kind of join makes of the tested candidates. */
static uint32_t resolve_pairs(op_join *j, uint32_t k)
{
    uint32_t kept = 0;
    bool any = false;
    for (uint32_t value = 0; value < k; value++) {
        const uint32_t row = j->li[value];
        if (value == 0)
            any = row == j->open_row && j->open_matched;
        else if (row != j->li[value - 1])
            any = false;
        const bool ok = j->pass[value] && j->ri[value] != j->table->n;
        if (ok && (!j->one_side || (j->kind == ALM_JOIN_SEMI && !any))) {
            j->oli[kept] = row;
            j->ori[kept++] = j->ri[value];
        }
        any |= ok;
        const bool last = value + 1 < k ? j->li[value + 1] != row : row < j->at;
        if (last && !any && (j->keep_left || j->kind == ALM_JOIN_ANTI)) {
            j->oli[kept] = row;
            j->ori[kept++] = j->table->n;
        }
    }
    const bool open = k > 0 && j->li[k - 1] == j->at && j->off > 0;
    j->open_row = open ? j->at : ALM_JOIN_NO_ROW;
    j->open_matched = open && any;
    return kept;
}

static alm_status emit_pairs(alm_ctx *cx, op_join *j, alm_batch **out)
{
    const uint32_t k = fill_pairs(j, j->keep_left || j->kind == ALM_JOIN_ANTI);
    if (k == 0)
        return ALM_OK;
    if (j->residual == NULL) {
        mark_matched(j, j->ri, k);
        *out = &j->op.out;
        return gather_pairs(cx, j, j->li, j->ri, k);
    }
    ALM_TRY(test_pairs(cx, j, k));
    const uint32_t kept = resolve_pairs(j, k);
    if (kept == 0)
        return ALM_OK;
    mark_matched(j, j->ori, kept);
    *out = &j->op.out;
    return gather_pairs(cx, j, j->oli, j->ori, kept);
}

/* Right rows that nobody matched, with nulls at the left. */
static alm_status emit_tail(alm_ctx *cx, op_join *j, alm_batch **out)
{
    const alm_join_table *table = j->table;
    uint32_t k = 0;
    for (; table->matched != NULL && j->tail < table->n && k < ALM_BATCH_ROWS; j->tail++) {
        j->ri[k] = j->tail;
        k += !table->matched[j->tail];
    }
    if (k == 0)
        return ALM_OK;
    for (uint32_t left = 0; left < j->n_left; left++) {
        alm_vec *vec = &j->op.out.cols[left];
        ALM_TRY(alm_vec_null(cx, &j->op.batch, j->op.plan->cols[left].type, vec));
        if (j->dict[left] != NULL) {
            vec->dict = j->dict[left];
            vec->width = sizeof(uint32_t);
            memset(vec->data, 0, vec->width);
        }
    }
    ALM_TRY(alm_rows_gather(cx, &table->rows, &j->op.batch, j->ri, k, j->op.out.cols + j->n_left));
    j->op.out.rows = k;
    j->op.out.sel = NULL;
    *out = &j->op.out;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- operator */

static alm_status op_join_hash_get_ready(alm_ctx *cx, op_join *j)
{
    if (j->table != NULL)
        return ALM_OK;
    const alm_join_shared *shared = NULL;
    ALM_TRY(alm_op_shared(cx, j->op.run, j->op.plan, &shared));
    j->table = shared->table;
    j->probe.table = j->table;
    return ALM_OK;
}

static alm_status fetch_left(alm_ctx *cx, op_join *j)
{
    alm_arena_reset(&j->left_arena);
    ALM_TRY(alm_op_next(cx, j->op.child[0], &j->left));
    j->at = j->off = 0;
    j->open_row = ALM_JOIN_NO_ROW;
    if (j->left == NULL) {
        j->ended = true;
        return ALM_OK;
    }
    for (uint32_t left = 0; left < j->n_left; left++)
        if (j->left->cols[left].dict != NULL)
            j->dict[left] = j->left->cols[left].dict;
    j->by_code = false;
    if (j->table->dict == NULL || j->probe.n_keys != 1 || !is_simple(j))
        return alm_join_probe_run(cx, &j->probe, &j->left_arena, j->left, j->number);
    ALM_TRY(alm_eval_run(cx, j->probe.eval, &j->left_arena, j->left, j->probe.key));
    const alm_vec *key = &j->probe.key[0];
    if (key->dict == NULL || key->is_const || key->dict->count > CODES_MAX)
        return alm_join_probe_run(cx, &j->probe, &j->left_arena, j->left, j->number);
    j->by_code = true;
    return make_code_rows(cx, j, key->dict);
}

static alm_status join_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_join *j = (op_join *)op;
    *out = NULL;
    ALM_TRY(op_join_hash_get_ready(cx, j));
    while (*out == NULL && !j->ended) {
        alm_arena_reset(&op->batch);
        ALM_TRY(alm_check(cx));
        if (j->left == NULL || j->at == j->left->rows)
            ALM_TRY(fetch_left(cx, j));
        if (j->left == NULL)
            break;
        if (is_simple(j))
            ALM_TRY(emit_simple(cx, j, out));
        else
            ALM_TRY(emit_pairs(cx, j, out));
    }
    if (*out != NULL)
        return ALM_OK;
    alm_arena_reset(&op->batch);
    return emit_tail(cx, j, out);
}

static alm_status join_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    op_join *j = (op_join *)op;
    j->left = NULL;
    j->ended = false;
    return alm_op_start(cx, op->child[0], morsel);
}

static void join_close(alm_op *op)
{
    op_join *j = (op_join *)op;
    alm_join_probe_free(&j->probe);
    alm_filter_free(j->residual);
    alm_arena_deinit(&j->left_arena);
}

static const alm_op_vt join_vt = {
    .name = "join", .next = join_next, .start = join_start, .close = join_close};

static alm_status make_residual(alm_ctx *cx, op_join *j, const alm_plan *plan)
{
    const uint32_t n = j->n_left + plan->child[1]->n_cols;
    if (plan->join.n_residual == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &j->tested));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &j->test));
    for (uint32_t i = 0; i < plan->join.n_residual; i++)
        alm_expr_cols(plan->join.residual[i], j->tested, n);
    for (uint32_t col = 0; col < n; col++) { /* what no condition reads stays a null */
        const alm_plan *side = plan->child[col >= j->n_left];
        ALM_TRY(alm_vec_null(cx, cx->arena,
                             side->cols[col < j->n_left ? col : col - j->n_left].type,
                             &j->test[col]));
    }
    return alm_filter_new(cx, (const alm_expr *const *)plan->join.residual, plan->join.n_residual,
                          &j->residual);
}

static alm_status make_unread(alm_ctx *cx, op_join *j, const alm_plan *plan)
{
    const alm_plan *right = plan->child[1];
    if (plan->join.unread == NULL || j->one_side)
        return ALM_OK;
    j->unread = plan->join.unread + j->n_left;
    ALM_TRY(ALM_NEWN(cx, cx->arena, right->n_cols + 1, &j->unread_vec));
    for (uint32_t col = 0; col < right->n_cols; col++)
        ALM_TRY(alm_vec_null(cx, cx->arena, right->cols[col].type, &j->unread_vec[col]));
    return ALM_OK;
}

static alm_status op_join_make_hash(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                                    alm_op **out)
{
    op_join *j = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &j));
    ALM_TRY(alm_op_init(cx, &j->op, &join_vt, run, plan, pipe));
    alm_arena_init(&j->left_arena, cx->mem);
    j->kind = plan->join.kind;
    j->n_left = plan->child[0]->n_cols;
    j->keep_left = j->kind == ALM_JOIN_LEFT || j->kind == ALM_JOIN_FULL;
    j->one_side = j->kind == ALM_JOIN_SEMI || j->kind == ALM_JOIN_ANTI;
    *out = &j->op;
    ALM_TRY(make_unread(cx, j, plan));
    ALM_TRY(alm_op_child(cx, &j->op, 0));
    ALM_ASSERT(plan->n_cols == j->n_left + (j->one_side ? 0 : plan->child[1]->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, j->n_left + 1, &j->dict));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &j->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &j->li));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &j->ri));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &j->sel));
    if (plan->join.n_residual > 0) {
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &j->oli));
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &j->ori));
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &j->pass));
    }
    ALM_TRY(make_residual(cx, j, plan));
    return alm_join_probe_new(cx, plan, join_vt.name, &j->probe);
}

static bool op_join_hash_is_asof(const alm_plan *plan)
{
    return plan->join.kind == ALM_JOIN_ASOF || plan->join.kind == ALM_JOIN_LT ||
           plan->join.kind == ALM_JOIN_SPLICE;
}

alm_status alm_op_join_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                            alm_op **out)
{
    if (plan->join.kind == ALM_JOIN_SPLICE)
        return alm_op_splice_make(cx, run, plan, pipe, out);
    if (op_join_hash_is_asof(plan))
        return (alm_asof_fits(plan) ? alm_op_asof_seek_make : alm_op_asof_make)(cx, run, plan, pipe,
                                                                                out);
    return op_join_make_hash(cx, run, plan, pipe, out);
}

int32_t alm_op_join_drive(const alm_plan *plan)
{
    const uint8_t kind = plan->join.kind;
    if (kind == ALM_JOIN_SPLICE || kind == ALM_JOIN_RIGHT || kind == ALM_JOIN_FULL)
        return -1;
    return op_join_hash_is_asof(plan) && !alm_asof_fits(plan) ? -1 : 0;
}

alm_status alm_op_join_prepare(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **shared)
{
    /* not in cx->arena: that may belong to a join around this one, whose table goes first */
    alm_join_shared *join_shared = calloc(1, sizeof *join_shared);
    if (join_shared == NULL)
        return alm_fail(cx, ALM_E_MEMORY, plan->pos, "out of memory: join");
    const alm_status status = op_join_hash_is_asof(plan)
                                  ? alm_asof_right_new(cx, run, plan, &join_shared->asof)
                                  : alm_join_table_new(cx, run, plan, &join_shared->table);
    if (status != ALM_OK) {
        free(join_shared);
        return status;
    }
    *shared = join_shared;
    return ALM_OK;
}

void alm_op_join_unprepare(void *shared)
{
    alm_join_shared *join_shared = shared;
    alm_join_table_free(join_shared->table);
    alm_asof_right_free(join_shared->asof);
    free(join_shared);
}
