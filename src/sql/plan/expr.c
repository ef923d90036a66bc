/* expr.c - leaves, copies and comparisons of bound expressions (expr.h). */
#include "sql/plan/expr.h"
#include "base/conf.h"
#include "base/hash.h"

alm_status alm_grow(alm_ctx *cx, void *array_of_pointer, uint32_t n, uint32_t *cap,
                    size_t element_bytes)
{
    if (n < *cap)
        return ALM_OK;
    const uint32_t more = *cap == 0 ? 8 : *cap * 2;
    void *fresh = NULL, *old = NULL;
    memcpy(&old, array_of_pointer, sizeof old);
    ALM_TRY(alm_arena_zero(cx, cx->arena, more * element_bytes, &fresh));
    if (n > 0)
        memcpy(fresh, old, n * element_bytes);
    memcpy(array_of_pointer, &fresh, sizeof fresh);
    *cap = more;
    return ALM_OK;
}

alm_status alm_exprs_add(alm_ctx *cx, alm_exprs *list, alm_expr *expr)
{
    ALM_TRY(alm_grow(cx, &list->at, list->n, &list->cap, sizeof *list->at));
    list->at[list->n++] = expr;
    return ALM_OK;
}

alm_status alm_exprs_split(alm_ctx *cx, alm_exprs *list, alm_expr *expr)
{
    /* left-deep chains: walk down the left side without recursion, then add in order */
    alm_exprs right = {0};
    while (alm_expr_is_call(expr, "and")) {
        for (uint32_t i = expr->n_args; i-- > 1;)
            ALM_TRY(alm_exprs_add(cx, &right, expr->args[i]));
        expr = expr->args[0];
    }
    if (!alm_expr_is_true(expr))
        ALM_TRY(alm_exprs_add(cx, list, expr));
    while (right.n > 0) {
        expr = right.at[--right.n];
        if (alm_expr_is_call(expr, "and"))
            ALM_TRY(alm_exprs_split(cx, list, expr));
        else if (!alm_expr_is_true(expr))
            ALM_TRY(alm_exprs_add(cx, list, expr));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ leaves */

alm_status alm_expr_const(alm_ctx *cx, const alm_vec *value, int32_t pos, alm_expr **out)
{
    alm_expr *expr = NULL;
    ALM_TRY(alm_nodes_add(cx, 1, pos));
    ALM_TRY(ALM_NEW(cx, cx->arena, &expr));
    expr->kind = ALM_X_CONST;
    expr->type = value->type;
    expr->pos = pos;
    expr->value = *value;
    expr->value.is_const = true;
    *out = expr;
    return ALM_OK;
}

alm_status alm_expr_null(alm_ctx *cx, alm_type type, int32_t pos, alm_expr **out)
{
    alm_vec vec = {0};
    /* the untyped null carries the value of a STRING, which is what it shows as */
    ALM_TRY(alm_vec_null(cx, cx->arena, type.id == ALM_T_NULL ? ALM_TY(STRING) : type, &vec));
    vec.type = type;
    return alm_expr_const(cx, &vec, pos, out);
}

alm_status alm_expr_bits(alm_ctx *cx, alm_type type, uint64_t bits, int32_t pos, alm_expr **out)
{
    alm_vec vec = {.type = type, .width = (uint8_t)alm_type_width(type), .is_const = true};
    ALM_ASSERT(vec.width >= 1 && vec.width <= 8);
    ALM_TRY(alm_arena_bytes(cx, cx->arena, sizeof bits, &vec.data));
    memcpy(vec.data, &bits, sizeof bits);
    return alm_expr_const(cx, &vec, pos, out);
}

alm_status alm_expr_bool(alm_ctx *cx, bool value, int32_t pos, alm_expr **out)
{
    return alm_expr_bits(cx, ALM_TY(BOOLEAN), value ? 1 : 0, pos, out);
}

alm_status alm_expr_text(alm_ctx *cx, alm_type type, alm_str text, int32_t pos, alm_expr **out)
{
    alm_vec vec = {.type = type, .width = sizeof(alm_view), .is_const = true};
    alm_view *view = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &view));
    *view = alm_view_of(text);
    vec.data = view;
    return alm_expr_const(cx, &vec, pos, out);
}

alm_status alm_expr_col(alm_ctx *cx, uint32_t col, alm_type type, int32_t pos, alm_expr **out)
{
    alm_expr *expr = NULL;
    ALM_TRY(alm_nodes_add(cx, 1, pos));
    ALM_TRY(ALM_NEW(cx, cx->arena, &expr));
    expr->kind = ALM_X_COL;
    expr->type = type;
    expr->pos = pos;
    expr->col = col;
    *out = expr;
    return ALM_OK;
}

static alm_status plan_expr_too_large(alm_ctx *cx, int32_t pos)
{
    return alm_fail(cx, ALM_E_LIMIT, pos,
                    "statement is too large: an expression has more than sql.nodes.max (%lld) "
                    "nodes, where it is used "
                    "again counted again",
                    (long long)cx->conf->sql_nodes_max);
}

alm_status alm_expr_measure(alm_ctx *cx, alm_expr *expr)
{
    uint64_t size = 1;
    const uint64_t max = cx->conf != NULL ? (uint64_t)cx->conf->sql_nodes_max : UINT32_MAX;
    for (uint32_t i = 0; i < expr->n_args; i++)
        size += expr->args[i] != NULL ? ALM_MAX(expr->args[i]->size, 1u) : 0;
    if (size > max && cx->conf != NULL)
        return plan_expr_too_large(cx, expr->pos);
    expr->size = (uint32_t)ALM_MIN(size, UINT32_MAX);
    return ALM_OK;
}

alm_status alm_expr_again(alm_ctx *cx, const alm_expr *expr)
{
    return expr->size > 1 ? alm_nodes_add(cx, expr->size, expr->pos) : ALM_OK;
}

bool alm_expr_is_null(const alm_expr *expr)
{
    return expr->kind == ALM_X_CONST &&
           (expr->type.id == ALM_T_NULL || alm_vec_is_null(&expr->value, 0));
}

static bool const_bool(const alm_expr *expr, bool wanted)
{
    return expr->kind == ALM_X_CONST && expr->type.id == ALM_T_BOOLEAN &&
           (*(const uint8_t *)expr->value.data != 0) == wanted;
}

bool alm_expr_is_true(const alm_expr *expr)
{
    return const_bool(expr, true);
}
bool alm_expr_is_false(const alm_expr *expr)
{
    return const_bool(expr, false);
}

bool alm_expr_int(const alm_expr *expr, int64_t *out)
{
    if (expr->kind != ALM_X_CONST || expr->type.id == ALM_T_NULL ||
        alm_vec_is_null(&expr->value, 0))
        return false;
    const alm_type_class cls = alm_type_info_of(expr->type)->cls;
    if (cls != ALM_TC_INTEGER && cls != ALM_TC_TIME)
        return false;
    const void *ptr = expr->value.data;
    switch (expr->value.width) {
    case 1:
        *out = *(const int8_t *)ptr;
        return true;
    case 2: {
        int16_t v;
        memcpy(&v, ptr, sizeof v);
        *out = v;
        return true;
    }
    case 4: {
        int32_t value;
        memcpy(&value, ptr, sizeof value);
        *out = value;
        return true;
    }
    default:
        memcpy(out, ptr, sizeof *out);
        return true;
    }
}

/* UTF-8 of one UTF-16 unit. */
static size_t plan_expr_put_char(uint16_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | (c >> 6));
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    out[0] = (char)(0xE0 | (c >> 12));
    out[1] = (char)(0x80 | ((c >> 6) & 0x3F));
    out[2] = (char)(0x80 | (c & 0x3F));
    return 3;
}

alm_status alm_expr_string(alm_ctx *cx, const alm_expr *expr, bool *is_text, alm_str *out)
{
    *is_text = false;
    if (expr->kind != ALM_X_CONST || alm_expr_is_null(expr))
        return ALM_OK;
    if (alm_type_is_text(expr->type)) {
        *is_text = true;
        *out = alm_vec_text(&expr->value, 0);
    } else if (expr->type.id == ALM_T_CHAR) {
        uint16_t c;
        memcpy(&c, expr->value.data, sizeof c);
        char *text = NULL;
        ALM_TRY(alm_arena_bytes(cx, cx->arena, 4, &text));
        *is_text = true;
        *out = (alm_str){text, plan_expr_put_char(c, text)};
    }
    return ALM_OK;
}

bool alm_expr_is_call(const alm_expr *expr, const char *name)
{
    return expr->kind == ALM_X_CALL && strcmp(expr->fn->name, name) == 0;
}

/* ------------------------------------------------------------------- shape */

static bool plan_expr_const_equal(const alm_expr *a, const alm_expr *b)
{
    if (a->type.id == ALM_T_NULL)
        return true;
    if (alm_type_is_text(a->type)) {
        const alm_str x = alm_vec_text(&a->value, 0), y = alm_vec_text(&b->value, 0);
        return (x.ptr == NULL) == (y.ptr == NULL) && alm_str_eq(x, y);
    }
    return memcmp(a->value.data, b->value.data, a->value.width) == 0;
}

bool alm_expr_equal(const alm_expr *a, const alm_expr *b)
{
    if (a->kind != b->kind || !alm_type_eq(a->type, b->type) || a->n_args != b->n_args)
        return false;
    switch (a->kind) {
    case ALM_X_CONST:
        return plan_expr_const_equal(a, b);
    case ALM_X_COL:
        return a->col == b->col;
    case ALM_X_PARAM:
        return a->col == b->col;
    case ALM_X_CALL:
        if (a->fn != b->fn || (a->fn->flags & ALM_FN_VOLATILE) != 0)
            return false;
        break;
    case ALM_X_CASE:
        break;
    }
    for (uint32_t i = 0; i < a->n_args; i++)
        if (a->args[i] != b->args[i] && !alm_expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

static uint64_t hash_const(const alm_vec *vec)
{
    if (vec->type.id == ALM_T_NULL || vec->data == NULL)
        return 0;
    if (alm_type_is_text(vec->type)) {
        const alm_str text = alm_vec_text(vec, 0);
        return text.ptr == NULL ? 1 : alm_hash_str(text);
    }
    return alm_hash_bytes(vec->data, vec->width);
}

static uint64_t hash_top(const alm_expr *expr, uint32_t levels)
{
    enum { ARGS = 8 };
    if (expr == NULL)
        return 0;
    uint64_t hash =
        alm_hash_u128((uint64_t)expr->kind << 32 | expr->n_args, (uint64_t)(uint32_t)expr->type.id);
    if (expr->kind == ALM_X_CONST)
        return alm_hash_combine(hash, hash_const(&expr->value));
    if (expr->kind == ALM_X_COL || expr->kind == ALM_X_PARAM)
        return alm_hash_combine(hash, alm_hash_u64(expr->col));
    if (expr->kind == ALM_X_CALL)
        hash = alm_hash_combine(hash, alm_hash_u64((uint64_t)(uintptr_t)expr->fn));
    for (uint32_t i = 0; levels > 0 && i < expr->n_args && i < ARGS; i++)
        hash = alm_hash_combine(hash, hash_top(expr->args[i], levels - 1));
    return hash;
}

uint64_t alm_expr_hash(const alm_expr *expr)
{
    enum { LEVELS = 4 };
    return hash_top(expr, LEVELS);
}

bool alm_expr_volatile(const alm_expr *expr)
{
    if (expr->kind == ALM_X_CALL && (expr->fn->flags & ALM_FN_VOLATILE) != 0)
        return true;
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (alm_expr_volatile(expr->args[i]))
            return true;
    return false;
}

bool alm_expr_leakproof(const alm_expr *expr)
{
    if (expr->kind == ALM_X_CALL && (expr->fn->flags & ALM_FN_LEAKPROOF) == 0)
        return false;
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (expr->args[i] != NULL && !alm_expr_leakproof(expr->args[i]))
            return false;
    return true;
}

bool alm_expr_each_col(const alm_expr *expr, bool (*visit)(void *arg, const alm_expr *col),
                       void *arg)
{
    if (expr->kind == ALM_X_COL)
        return visit(arg, expr);
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (!alm_expr_each_col(expr->args[i], visit, arg))
            return false;
    return true;
}

static bool never(void *arg, const alm_expr *col)
{
    (void)arg;
    (void)col;
    return false;
}

bool alm_expr_has_col(const alm_expr *expr)
{
    return !alm_expr_each_col(expr, never, NULL);
}

typedef struct col_range {
    uint32_t lo, hi;
} col_range;

static bool in_range(void *arg, const alm_expr *col)
{
    const col_range *range = arg;
    return col->col >= range->lo && col->col < range->hi;
}

bool alm_expr_within(const alm_expr *expr, uint32_t lo, uint32_t hi)
{
    col_range range = {lo, hi};
    return alm_expr_each_col(expr, in_range, &range);
}

static bool unmarked(void *arg, const alm_expr *col)
{
    const uint32_t *mark = arg;
    return (col->col & *mark) == 0;
}

bool alm_expr_has_mark(const alm_expr *expr, uint32_t mark)
{
    return !alm_expr_each_col(expr, unmarked, &mark);
}

static bool plan_expr_is_floating(alm_type type)
{
    return type.id == ALM_T_DOUBLE || type.id == ALM_T_FLOAT || type.id == ALM_T_ARRAY;
}

/* A column, or a FLOAT one beside a DOUBLE. */
static bool is_operand(const alm_planner *planner, const alm_expr *expr)
{
    if (expr->kind == ALM_X_CALL && expr->n_args == 1 &&
        plan_expr_is_floating(expr->args[0]->type) &&
        expr->fn == alm_cast_fn(planner->env->registry, expr->args[0]->type, ALM_TY(DOUBLE)))
        expr = expr->args[0];
    return expr->kind == ALM_X_COL;
}

bool alm_expr_by_equality(const alm_planner *planner, const alm_expr *expr)
{
    static const char *const tests[] = {"=",  "!=", "<>",      "<",       "<=",         ">",
                                        ">=", "in", "between", "is null", "is not null"};
    bool tested = false;
    if (expr->kind == ALM_X_COL)
        return !plan_expr_is_floating(expr->type);
    for (size_t i = 0; i < ALM_COUNT(tests) && !tested; i++)
        tested = alm_expr_is_call(expr, tests[i]);
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (!(tested && is_operand(planner, expr->args[i])) &&
            !alm_expr_by_equality(planner, expr->args[i]))
            return false;
    return true;
}

alm_status alm_expr_map(alm_ctx *cx, alm_expr *expr, alm_expr_rewrite rewrite, void *arg,
                        alm_expr **out)
{
    alm_expr *done = NULL;
    ALM_TRY(alm_steps_add(cx, 1));
    ALM_TRY(rewrite(arg, expr, &done));
    if (done != NULL || expr->n_args == 0) {
        *out = done != NULL ? done : expr;
        return ALM_OK;
    }
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, expr->n_args, &args));
    bool changed = false;
    for (uint32_t i = 0; i < expr->n_args; i++) {
        ALM_TRY(alm_expr_map(cx, expr->args[i], rewrite, arg, &args[i]));
        changed |= args[i] != expr->args[i];
    }
    if (!changed) {
        *out = expr;
        return ALM_OK;
    }
    alm_expr *copy = NULL;
    ALM_TRY(alm_nodes_add(cx, 1, expr->pos));
    ALM_TRY(ALM_NEW(cx, cx->arena, &copy));
    *copy = *expr;
    copy->args = args;
    *out = copy;
    return alm_expr_measure(cx, copy);
}

typedef struct renumbering {
    alm_ctx *cx;
    const uint32_t *map;
    int64_t by;
    alm_expr *const *exprs;
} renumbering;

static alm_status renumber(void *arg, alm_expr *expr, alm_expr **out)
{
    const renumbering *self = arg;
    if (expr->kind != ALM_X_COL || (expr->col & (ALM_COL_OUTER | ALM_COL_DEP)) != 0)
        return ALM_OK;
    if (self->exprs != NULL) {
        *out = self->exprs[expr->col];
        return alm_expr_again(self->cx, *out);
    }
    const uint32_t col =
        self->map != NULL ? self->map[expr->col] : (uint32_t)((int64_t)expr->col + self->by);
    return alm_expr_col(self->cx, col, expr->type, expr->pos, out);
}

alm_status alm_expr_renumber(alm_ctx *cx, alm_expr *expr, const uint32_t *map, alm_expr **out)
{
    renumbering self = {.cx = cx, .map = map};
    return alm_expr_map(cx, expr, renumber, &self, out);
}

alm_status alm_expr_shift(alm_ctx *cx, alm_expr *expr, int64_t by, alm_expr **out)
{
    renumbering self = {.cx = cx, .by = by};
    return alm_expr_map(cx, expr, renumber, &self, out);
}

alm_status alm_expr_substitute(alm_ctx *cx, alm_expr *expr, alm_expr *const *exprs, alm_expr **out)
{
    renumbering self = {.cx = cx, .exprs = exprs};
    return alm_expr_map(cx, expr, renumber, &self, out);
}

typedef struct substituted {
    alm_expr *const *exprs;
    uint64_t size;
} substituted;

static bool add_size(void *arg, const alm_expr *col)
{
    substituted *self = arg;
    if ((col->col & (ALM_COL_OUTER | ALM_COL_DEP)) == 0)
        self->size += ALM_MAX(self->exprs[col->col]->size, 1u);
    return true;
}

uint64_t alm_expr_substituted_size(const alm_expr *expr, alm_expr *const *exprs)
{
    substituted self = {.exprs = exprs};
    (void)alm_expr_each_col(expr, add_size, &self);
    return self.size;
}
