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

alm_status alm_exprs_add(alm_ctx *cx, alm_exprs *list, alm_expr *e)
{
    ALM_TRY(alm_grow(cx, &list->at, list->n, &list->cap, sizeof *list->at));
    list->at[list->n++] = e;
    return ALM_OK;
}

alm_status alm_exprs_split(alm_ctx *cx, alm_exprs *list, alm_expr *e)
{
    /* left-deep chains: walk down the left side without recursion, then add in order */
    alm_exprs right = {0};
    while (alm_expr_is_call(e, "and")) {
        for (uint32_t i = e->n_args; i-- > 1;)
            ALM_TRY(alm_exprs_add(cx, &right, e->args[i]));
        e = e->args[0];
    }
    if (!alm_expr_is_true(e))
        ALM_TRY(alm_exprs_add(cx, list, e));
    while (right.n > 0) {
        e = right.at[--right.n];
        if (alm_expr_is_call(e, "and"))
            ALM_TRY(alm_exprs_split(cx, list, e));
        else if (!alm_expr_is_true(e))
            ALM_TRY(alm_exprs_add(cx, list, e));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ leaves */

alm_status alm_expr_const(alm_ctx *cx, const alm_vec *value, int32_t pos, alm_expr **out)
{
    alm_expr *e = NULL;
    ALM_TRY(alm_nodes_add(cx, 1, pos));
    ALM_TRY(ALM_NEW(cx, cx->arena, &e));
    e->kind = ALM_X_CONST;
    e->type = value->type;
    e->pos = pos;
    e->value = *value;
    e->value.is_const = true;
    *out = e;
    return ALM_OK;
}

alm_status alm_expr_null(alm_ctx *cx, alm_type type, int32_t pos, alm_expr **out)
{
    alm_vec v = {0};
    /* the untyped null carries the value of a STRING, which is what it shows as */
    ALM_TRY(alm_vec_null(cx, cx->arena, type.id == ALM_T_NULL ? ALM_TY(STRING) : type, &v));
    v.type = type;
    return alm_expr_const(cx, &v, pos, out);
}

alm_status alm_expr_bits(alm_ctx *cx, alm_type type, uint64_t bits, int32_t pos, alm_expr **out)
{
    alm_vec v = {.type = type, .width = (uint8_t)alm_type_width(type), .is_const = true};
    ALM_ASSERT(v.width >= 1 && v.width <= 8);
    ALM_TRY(alm_arena_bytes(cx, cx->arena, sizeof bits, &v.data));
    memcpy(v.data, &bits, sizeof bits);
    return alm_expr_const(cx, &v, pos, out);
}

alm_status alm_expr_bool(alm_ctx *cx, bool value, int32_t pos, alm_expr **out)
{
    return alm_expr_bits(cx, ALM_TY(BOOLEAN), value ? 1 : 0, pos, out);
}

alm_status alm_expr_text(alm_ctx *cx, alm_type type, alm_str text, int32_t pos, alm_expr **out)
{
    alm_vec v = {.type = type, .width = sizeof(alm_view), .is_const = true};
    alm_view *view = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &view));
    *view = alm_view_of(text);
    v.data = view;
    return alm_expr_const(cx, &v, pos, out);
}

alm_status alm_expr_col(alm_ctx *cx, uint32_t col, alm_type type, int32_t pos, alm_expr **out)
{
    alm_expr *e = NULL;
    ALM_TRY(alm_nodes_add(cx, 1, pos));
    ALM_TRY(ALM_NEW(cx, cx->arena, &e));
    e->kind = ALM_X_COL;
    e->type = type;
    e->pos = pos;
    e->col = col;
    *out = e;
    return ALM_OK;
}

static alm_status too_large(alm_ctx *cx, int32_t pos)
{
    return alm_fail(cx, ALM_E_LIMIT, pos,
                    "statement is too large: an expression has more than sql.nodes.max (%lld) "
                    "nodes, where it is used "
                    "again counted again",
                    (long long)cx->conf->sql_nodes_max);
}

alm_status alm_expr_measure(alm_ctx *cx, alm_expr *e)
{
    uint64_t size = 1;
    const uint64_t max = cx->conf != NULL ? (uint64_t)cx->conf->sql_nodes_max : UINT32_MAX;
    for (uint32_t i = 0; i < e->n_args; i++)
        size += e->args[i] != NULL ? ALM_MAX(e->args[i]->size, 1u) : 0;
    if (size > max && cx->conf != NULL)
        return too_large(cx, e->pos);
    e->size = (uint32_t)ALM_MIN(size, UINT32_MAX);
    return ALM_OK;
}

alm_status alm_expr_again(alm_ctx *cx, const alm_expr *e)
{
    return e->size > 1 ? alm_nodes_add(cx, e->size, e->pos) : ALM_OK;
}

bool alm_expr_is_null(const alm_expr *e)
{
    return e->kind == ALM_X_CONST && (e->type.id == ALM_T_NULL || alm_vec_is_null(&e->value, 0));
}

static bool const_bool(const alm_expr *e, bool wanted)
{
    return e->kind == ALM_X_CONST && e->type.id == ALM_T_BOOLEAN &&
           (*(const uint8_t *)e->value.data != 0) == wanted;
}

bool alm_expr_is_true(const alm_expr *e)
{
    return const_bool(e, true);
}
bool alm_expr_is_false(const alm_expr *e)
{
    return const_bool(e, false);
}

bool alm_expr_int(const alm_expr *e, int64_t *out)
{
    if (e->kind != ALM_X_CONST || e->type.id == ALM_T_NULL || alm_vec_is_null(&e->value, 0))
        return false;
    const alm_type_class cls = alm_type_info_of(e->type)->cls;
    if (cls != ALM_TC_INTEGER && cls != ALM_TC_TIME)
        return false;
    const void *at = e->value.data;
    switch (e->value.width) {
    case 1:
        *out = *(const int8_t *)at;
        return true;
    case 2: {
        int16_t v;
        memcpy(&v, at, sizeof v);
        *out = v;
        return true;
    }
    case 4: {
        int32_t v;
        memcpy(&v, at, sizeof v);
        *out = v;
        return true;
    }
    default:
        memcpy(out, at, sizeof *out);
        return true;
    }
}

/* UTF-8 of one UTF-16 unit. */
static size_t put_char(uint16_t c, char *out)
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

alm_status alm_expr_string(alm_ctx *cx, const alm_expr *e, bool *is_text, alm_str *out)
{
    *is_text = false;
    if (e->kind != ALM_X_CONST || alm_expr_is_null(e))
        return ALM_OK;
    if (alm_type_is_text(e->type)) {
        *is_text = true;
        *out = alm_vec_text(&e->value, 0);
    } else if (e->type.id == ALM_T_CHAR) {
        uint16_t c;
        memcpy(&c, e->value.data, sizeof c);
        char *text = NULL;
        ALM_TRY(alm_arena_bytes(cx, cx->arena, 4, &text));
        *is_text = true;
        *out = (alm_str){text, put_char(c, text)};
    }
    return ALM_OK;
}

bool alm_expr_is_call(const alm_expr *e, const char *name)
{
    return e->kind == ALM_X_CALL && strcmp(e->fn->name, name) == 0;
}

/* ------------------------------------------------------------------- shape */

static bool const_equal(const alm_expr *a, const alm_expr *b)
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
        return const_equal(a, b);
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

static uint64_t hash_const(const alm_vec *v)
{
    if (v->type.id == ALM_T_NULL || v->data == NULL)
        return 0;
    if (alm_type_is_text(v->type)) {
        const alm_str text = alm_vec_text(v, 0);
        return text.ptr == NULL ? 1 : alm_hash_str(text);
    }
    return alm_hash_bytes(v->data, v->width);
}

static uint64_t hash_top(const alm_expr *e, uint32_t levels)
{
    enum { ARGS = 8 };
    if (e == NULL)
        return 0;
    uint64_t h = alm_hash_u128((uint64_t)e->kind << 32 | e->n_args, (uint64_t)(uint32_t)e->type.id);
    if (e->kind == ALM_X_CONST)
        return alm_hash_combine(h, hash_const(&e->value));
    if (e->kind == ALM_X_COL || e->kind == ALM_X_PARAM)
        return alm_hash_combine(h, alm_hash_u64(e->col));
    if (e->kind == ALM_X_CALL)
        h = alm_hash_combine(h, alm_hash_u64((uint64_t)(uintptr_t)e->fn));
    for (uint32_t i = 0; levels > 0 && i < e->n_args && i < ARGS; i++)
        h = alm_hash_combine(h, hash_top(e->args[i], levels - 1));
    return h;
}

uint64_t alm_expr_hash(const alm_expr *e)
{
    enum { LEVELS = 4 };
    return hash_top(e, LEVELS);
}

bool alm_expr_volatile(const alm_expr *e)
{
    if (e->kind == ALM_X_CALL && (e->fn->flags & ALM_FN_VOLATILE) != 0)
        return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (alm_expr_volatile(e->args[i]))
            return true;
    return false;
}

bool alm_expr_leakproof(const alm_expr *e)
{
    if (e->kind == ALM_X_CALL && (e->fn->flags & ALM_FN_LEAKPROOF) == 0)
        return false;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (e->args[i] != NULL && !alm_expr_leakproof(e->args[i]))
            return false;
    return true;
}

bool alm_expr_each_col(const alm_expr *e, bool (*visit)(void *arg, const alm_expr *col), void *arg)
{
    if (e->kind == ALM_X_COL)
        return visit(arg, e);
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!alm_expr_each_col(e->args[i], visit, arg))
            return false;
    return true;
}

static bool never(void *arg, const alm_expr *col)
{
    (void)arg;
    (void)col;
    return false;
}

bool alm_expr_has_col(const alm_expr *e)
{
    return !alm_expr_each_col(e, never, NULL);
}

typedef struct col_range {
    uint32_t lo, hi;
} col_range;

static bool in_range(void *arg, const alm_expr *col)
{
    const col_range *r = arg;
    return col->col >= r->lo && col->col < r->hi;
}

bool alm_expr_within(const alm_expr *e, uint32_t lo, uint32_t hi)
{
    col_range r = {lo, hi};
    return alm_expr_each_col(e, in_range, &r);
}

static bool unmarked(void *arg, const alm_expr *col)
{
    const uint32_t *mark = arg;
    return (col->col & *mark) == 0;
}

bool alm_expr_has_mark(const alm_expr *e, uint32_t mark)
{
    return !alm_expr_each_col(e, unmarked, &mark);
}

static bool is_floating(alm_type t)
{
    return t.id == ALM_T_DOUBLE || t.id == ALM_T_FLOAT || t.id == ALM_T_ARRAY;
}

/* A column, or a FLOAT one beside a DOUBLE. */
static bool is_operand(const alm_planner *p, const alm_expr *e)
{
    if (e->kind == ALM_X_CALL && e->n_args == 1 && is_floating(e->args[0]->type) &&
        e->fn == alm_cast_fn(p->env->registry, e->args[0]->type, ALM_TY(DOUBLE)))
        e = e->args[0];
    return e->kind == ALM_X_COL;
}

bool alm_expr_by_equality(const alm_planner *p, const alm_expr *e)
{
    static const char *const tests[] = {"=",  "!=", "<>",      "<",       "<=",         ">",
                                        ">=", "in", "between", "is null", "is not null"};
    bool tested = false;
    if (e->kind == ALM_X_COL)
        return !is_floating(e->type);
    for (size_t i = 0; i < ALM_COUNT(tests) && !tested; i++)
        tested = alm_expr_is_call(e, tests[i]);
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!(tested && is_operand(p, e->args[i])) && !alm_expr_by_equality(p, e->args[i]))
            return false;
    return true;
}

alm_status alm_expr_map(alm_ctx *cx, alm_expr *e, alm_expr_rewrite rewrite, void *arg,
                        alm_expr **out)
{
    alm_expr *done = NULL;
    ALM_TRY(alm_steps_add(cx, 1));
    ALM_TRY(rewrite(arg, e, &done));
    if (done != NULL || e->n_args == 0) {
        *out = done != NULL ? done : e;
        return ALM_OK;
    }
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, e->n_args, &args));
    bool changed = false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        ALM_TRY(alm_expr_map(cx, e->args[i], rewrite, arg, &args[i]));
        changed |= args[i] != e->args[i];
    }
    if (!changed) {
        *out = e;
        return ALM_OK;
    }
    alm_expr *copy = NULL;
    ALM_TRY(alm_nodes_add(cx, 1, e->pos));
    ALM_TRY(ALM_NEW(cx, cx->arena, &copy));
    *copy = *e;
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

static alm_status renumber(void *arg, alm_expr *e, alm_expr **out)
{
    const renumbering *r = arg;
    if (e->kind != ALM_X_COL || (e->col & (ALM_COL_OUTER | ALM_COL_DEP)) != 0)
        return ALM_OK;
    if (r->exprs != NULL) {
        *out = r->exprs[e->col];
        return alm_expr_again(r->cx, *out);
    }
    const uint32_t col = r->map != NULL ? r->map[e->col] : (uint32_t)((int64_t)e->col + r->by);
    return alm_expr_col(r->cx, col, e->type, e->pos, out);
}

alm_status alm_expr_renumber(alm_ctx *cx, alm_expr *e, const uint32_t *map, alm_expr **out)
{
    renumbering r = {.cx = cx, .map = map};
    return alm_expr_map(cx, e, renumber, &r, out);
}

alm_status alm_expr_shift(alm_ctx *cx, alm_expr *e, int64_t by, alm_expr **out)
{
    renumbering r = {.cx = cx, .by = by};
    return alm_expr_map(cx, e, renumber, &r, out);
}

alm_status alm_expr_substitute(alm_ctx *cx, alm_expr *e, alm_expr *const *exprs, alm_expr **out)
{
    renumbering r = {.cx = cx, .exprs = exprs};
    return alm_expr_map(cx, e, renumber, &r, out);
}

typedef struct substituted {
    alm_expr *const *exprs;
    uint64_t size;
} substituted;

static bool add_size(void *arg, const alm_expr *col)
{
    substituted *s = arg;
    if ((col->col & (ALM_COL_OUTER | ALM_COL_DEP)) == 0)
        s->size += ALM_MAX(s->exprs[col->col]->size, 1u);
    return true;
}

uint64_t alm_expr_substituted_size(const alm_expr *e, alm_expr *const *exprs)
{
    substituted s = {.exprs = exprs};
    (void)alm_expr_each_col(e, add_size, &s);
    return s.size;
}
