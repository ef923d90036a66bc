/*
 * object.c - casts to the types by which PostgreSQL names objects: 'trades'::regclass,
 * x::regtype, oid, name, "char".
 *
 * Such a type is INT here: a text is looked up when it is cast to one (an unknown name is an error),
 * a number is shown by its name when it is cast to one or on to text. oid is an INT with a note for
 * drivers, xid and its like are plain numbers, name is text, "char" is CHAR.
 * Types of ours written pg_catalog.int4 are cast to here as well.
 */
#include "sql/bind/bind.h"

typedef struct object_type {
    const char *name;
    const char *in, *out; /* functions: name to number, number to name; NULL: a plain type */
    alm_type plain;
} object_type;

static const object_type object_types[] = {
    {"regclass", "regclassin", "regclassout", {0}},
    {"regtype", "regtypein", "regtypeout", {0}},
    {"regnamespace", "regnamespacein", "regnamespaceout", {0}},
    {"regrole", "regrolein", "regroleout", {0}},
    {"regproc", "regprocin", "regprocout", {0}},
    {"regprocedure", "regprocedurein", "regprocedureout", {0}},
    {"oid", NULL, NULL, {.id = ALM_T_INT, .p = 1 /* alm_type_oid */}},
    {"xid", NULL, NULL, {.id = ALM_T_LONG}},
    {"cid", NULL, NULL, {.id = ALM_T_INT}},
    {"name", NULL, NULL, {.id = ALM_T_STRING}},
    {"\"char\"", NULL, NULL, {.id = ALM_T_CHAR}},
    {"cstring", NULL, NULL, {.id = ALM_T_STRING}},
    {"pg_node_tree", NULL, NULL, {.id = ALM_T_STRING}},
};

alm_str alm_type_without_schema(alm_str name)
{
    const alm_str schema = ALM_STR("pg_catalog.");
    if (name.len > schema.len && alm_str_ieq((alm_str){name.ptr, schema.len}, schema))
        return (alm_str){name.ptr + schema.len, name.len - schema.len};
    return name;
}

/* Lists of names and numbers are texts, {a,b}; only DOUBLE has arrays of its own. */
static bool object_is_list(alm_str name)
{
    alm_type base = ALM_TY(NONE);
    if (name.len < 3 || memcmp(name.ptr + name.len - 2, "[]", 2) != 0)
        return false;
    name.len -= 2;
    for (size_t i = 0; i < ALM_COUNT(object_types); i++)
        if (alm_str_ieq(name, alm_str_of(object_types[i].name)))
            return true;
    return alm_type_parse(name, &base) && base.id != ALM_T_DOUBLE && base.dims == 0;
}

/* What a driver is to send for $1::oid[], $1::int[] and the like. */
static alm_type list_param(alm_str name)
{
    alm_type base = ALM_TY(NONE);
    name = alm_type_without_schema(name);
    name.len -= 2;
    if (alm_str_ieq(name, ALM_STR("oid")))
        return alm_type_list(ALM_LIST_OID);
    return alm_type_parse(name, &base) ? alm_list_type_of(base) : alm_type_list(ALM_LIST_TEXT);
}

static const object_type *object_type_of(alm_str name)
{
    static const object_type list = {"list", NULL, NULL, {.id = ALM_T_STRING}};
    name = alm_type_without_schema(name);
    if (object_is_list(name))
        return &list;
    for (size_t i = 0; i < ALM_COUNT(object_types); i++)
        if (alm_str_ieq(name, alm_str_of(object_types[i].name)))
            return &object_types[i];
    return NULL;
}

/* 'trades'::regclass::text is the name again, and so is that of a function in a column of pg_type. */
static alm_status object_shown(alm_planner *planner, const alm_ast *ast, alm_expr *expr,
                               alm_expr **out)
{
    alm_type target = ALM_TY(NONE);
    if (alm_type_is_regproc(expr->type) &&
        alm_type_parse(alm_type_without_schema(ast->type_name), &target) &&
        alm_type_is_text(target))
        return alm_expr_call(planner, "regprocout", ast->pos, &expr, 1, out);
    const alm_ast *inner = ast->kind == ALM_AST_CAST ? ast->arg[0] : NULL;
    if (inner == NULL || inner->kind != ALM_AST_CAST || expr->type.id != ALM_T_INT ||
        !alm_type_parse(alm_type_without_schema(ast->type_name), &target) ||
        !alm_type_is_text(target))
        return ALM_OK;
    const object_type *type = object_type_of(inner->type_name);
    return type == NULL || type->out == NULL
               ? ALM_OK
               : alm_expr_call(planner, type->out, ast->pos, &expr, 1, out);
}

/* A text that is a list, or a number that is an OID, says so in its type. */
static alm_status as_noted(alm_planner *planner, alm_expr *expr, alm_type noted, alm_expr **out)
{
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, out));
    **out = *expr;
    (*out)->type = noted;
    return ALM_OK;
}

/* An element of ARRAY[...] as it is written in a list. */
static alm_status object_list_item(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_expr *expr = NULL;
    ALM_TRY(alm_bind_expr(scope, ast, &expr));
    ALM_TRY(alm_param_infer(scope->p, &expr, ALM_TY(STRING)));
    ALM_TRY(alm_expr_cast(scope->p, expr, ALM_TY(STRING), ALM_CAST_EXPLICIT, &expr));
    return alm_expr_call(scope->p, "list_item", ast->pos, &expr, 1, out);
}

/* ARRAY['a', 'b']::text[] is the list {a,b}: concat('{', a, ',', b, '}'). *out NULL: no such cast. */
alm_status alm_bind_list_literal(alm_scope *scope, const alm_ast *cast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    const alm_ast *array = cast->arg[0];
    alm_expr **parts = NULL;
    uint32_t count = 0;
    *out = NULL;
    if (array->kind != ALM_AST_ARRAY || !object_is_list(alm_type_without_schema(cast->type_name)))
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2 * (size_t)array->n_args + 2, &parts));
    ALM_TRY(alm_expr_text(planner->cx, ALM_TY(STRING), ALM_STR("{"), cast->pos, &parts[count++]));
    for (uint32_t i = 0; i < array->n_args; i++) {
        if (i > 0)
            ALM_TRY(alm_expr_text(planner->cx, ALM_TY(STRING), ALM_STR(","), cast->pos,
                                  &parts[count++]));
        ALM_TRY(object_list_item(scope, array->arg[i], &parts[count++]));
    }
    ALM_TRY(alm_expr_text(planner->cx, ALM_TY(STRING), ALM_STR("}"), cast->pos, &parts[count++]));
    ALM_TRY(alm_expr_call(planner, "concat", cast->pos, parts, count, out));
    return as_noted(planner, *out, list_param(cast->type_name), out);
}

/* A function of pg_type that is cast to a number is shown as one from then on: another value than the name that the column
 * itself becomes in a result. */
static alm_status as_number(alm_planner *planner, const alm_ast *ast, const object_type *type,
                            alm_expr *expr, alm_expr **out)
{
    alm_type target = type != NULL ? type->plain : ALM_TY(NONE);
    if (!alm_type_is_regproc(expr->type))
        return ALM_OK;
    if (type == NULL && !alm_type_parse(alm_type_without_schema(ast->type_name), &target))
        return ALM_OK;
    if (target.id != ALM_T_INT)
        return ALM_OK;
    ALM_TRY(alm_expr_cast(planner, expr, ALM_TY(LONG), ALM_CAST_EXPLICIT, &expr));
    ALM_TRY(alm_expr_cast(planner, expr, ALM_TY(INT), ALM_CAST_EXPLICIT, out));
    return alm_type_is_oid(target) ? as_noted(planner, *out, target, out) : ALM_OK;
}

alm_status alm_bind_object_cast(alm_scope *scope, const alm_ast *ast, alm_expr *expr,
                                alm_expr **out)
{
    alm_planner *planner = scope->p;
    const object_type *type = object_type_of(ast->type_name);
    *out = NULL;
    ALM_TRY(as_number(planner, ast, type, expr, out));
    if (*out != NULL)
        return ALM_OK;
    if (type == NULL) {
        ALM_TRY(object_shown(planner, ast, expr, out));
        const alm_str plain = alm_type_without_schema(ast->type_name);
        alm_type target = ALM_TY(NONE);
        if (*out != NULL || plain.len == ast->type_name.len || !alm_type_parse(plain, &target))
            return ALM_OK;
        ALM_TRY(alm_param_infer(planner, &expr, target));
        return alm_expr_cast(planner, expr, target, ALM_CAST_EXPLICIT, out);
    }
    if (alm_expr_unknown(expr) && object_is_list(alm_type_without_schema(ast->type_name)))
        ALM_TRY(alm_param_infer(planner, &expr, list_param(ast->type_name)));
    else if (alm_expr_unknown(expr))
        ALM_TRY(alm_param_infer(planner, &expr, type->in != NULL ? ALM_TY(STRING) : type->plain));
    const bool text =
        alm_type_is_text(expr->type) || expr->type.id == ALM_T_CHAR || expr->type.id == ALM_T_NULL;
    const bool vector = expr->type.id == ALM_T_STRING && expr->type.p == ALM_LIST_VECTOR;
    if (object_is_list(alm_type_without_schema(ast->type_name)) && text && !vector &&
        expr->kind != ALM_X_PARAM) {
        ALM_TRY(alm_expr_cast(planner, expr, ALM_TY(STRING), ALM_CAST_EXPLICIT, &expr));
        ALM_TRY(alm_expr_call(planner, "list_read", ast->pos, &expr, 1, &expr));
        return as_noted(planner, expr, list_param(ast->type_name), out);
    }
    if (type->in == NULL) {
        ALM_TRY(alm_expr_cast(planner, expr, type->plain, ALM_CAST_EXPLICIT, &expr));
        *out = expr;
        return alm_type_is_oid(type->plain) ? as_noted(planner, expr, type->plain, out) : ALM_OK;
    }
    if (expr->type.id == ALM_T_NULL)
        return alm_expr_null(planner->cx, ALM_TY(INT), ast->pos, out);
    if (alm_type_is_text(expr->type) || expr->type.id == ALM_T_CHAR)
        return alm_expr_call(planner, type->in, ast->pos, &expr, 1, out);
    ALM_TRY(alm_expr_cast(planner, expr, ALM_TY(INT), ALM_CAST_EXPLICIT, &expr));
    return alm_expr_call(planner, type->out, ast->pos, &expr, 1, out);
}

/* ------------------------------------------------------------------- ARRAY(select ...) */

static alm_status call_node(alm_planner *planner, const char *name, int32_t pos, uint32_t n_args,
                            alm_ast **out)
{
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, out));
    **out = (alm_ast){.kind = ALM_AST_CALL, .text = alm_str_of(name), .pos = pos, .end = pos};
    (*out)->n_args = n_args;
    return ALM_NEWN(planner->cx, planner->cx->arena, n_args, &(*out)->arg);
}

/* x::string */
static alm_status text_node(alm_planner *planner, alm_ast *node, int32_t pos, alm_ast **out)
{
    alm_ast *cast = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &cast));
    *cast = (alm_ast){.kind = ALM_AST_CAST, .type_name = ALM_STR("string"), .pos = pos};
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &cast->arg));
    cast->arg[0] = node;
    cast->n_args = 1;
    *out = cast;
    return ALM_OK;
}

/*
 * ARRAY(select x from ...) is the scalar subquery select list_of(array_agg(x::string)) from ...; rows come
 * in the order of the input, ORDER BY or not.
 */
alm_status alm_bind_array_of(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_ast sub = *ast->arg[0];
    alm_select sel = *sub.select;
    alm_ast *all = NULL, *join = NULL, *item = NULL;
    if (sel.op != 0 || sel.n_items != 1 || sel.distinct || sel.has_group || sel.n_group > 0 ||
        sel.limit_lo != NULL || sel.sample != NULL || sel.n_latest_by > 0)
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "ARRAY(...) takes a plain select of one column");
    item = sel.items[0].expr;
    if (item->kind != ALM_AST_ROW)
        ALM_TRY(text_node(planner, item, ast->pos, &item));
    ALM_TRY(call_node(planner, "array_agg", ast->pos, 1, &join));
    join->arg[0] = item;
    ALM_TRY(call_node(planner, "list_of", ast->pos, 1, &all));
    all->arg[0] = join;
    alm_select_item only = {.expr = all, .alias = ALM_STR("array")};
    sel.items = &only;
    sel.order = NULL;
    sel.n_order = 0;
    sub.select = &sel;
    return alm_bind_expr(scope, &sub, out);
}
