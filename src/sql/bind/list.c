/*
 * list.c - x op ANY(list) where the list is no ARRAY[...]: a text {a,b}, as drivers send arrays of
 * anything but numbers with a point, or a DOUBLE[].
 *
 * A list whose value is known becomes the values, each of the type x asks for, so that the comparison is
 * that of IN: by a set, and by time ranges. One of a column is searched as a text.
 *
 * Null        A null in the list equals nothing. A null list has no values.
 * Errors      ALM_E_VALUE, ALM_E_TIME: an element is no value of the type of x.
 */
#include "base/number.h"
#include "sql/bind/bind.h"
#include "type/decimal.h"
#include "type/text.h"
#include "type/text_list.h"

alm_type alm_list_type_of(alm_type element)
{
    if (alm_type_is_oid(element))
        return alm_type_list(ALM_LIST_OID);
    switch ((int)element.id) {
    case ALM_T_BOOLEAN:
        return alm_type_list(ALM_LIST_BOOL);
    case ALM_T_BYTE:
    case ALM_T_SHORT:
        return alm_type_list(ALM_LIST_INT2);
    case ALM_T_INT:
        return alm_type_list(ALM_LIST_INT4);
    case ALM_T_LONG:
        return alm_type_list(ALM_LIST_INT8);
    case ALM_T_FLOAT:
    case ALM_T_DOUBLE:
        return alm_type_array(1);
    case ALM_T_DECIMAL:
        return alm_type_list(ALM_LIST_NUMERIC);
    case ALM_T_UUID:
        return alm_type_list(ALM_LIST_UUID);
    case ALM_T_DATE:
    case ALM_T_TIMESTAMP:
    case ALM_T_TIMESTAMP_NS:
        return alm_type_list(ALM_LIST_TIME);
    default:
        return alm_type_list(ALM_LIST_TEXT);
    }
}

static alm_status no_element(alm_planner *planner, alm_type type, alm_str text, int32_t pos)
{
    return alm_fail(planner->cx, ALM_E_VALUE, pos, "inconvertible value: `%.*s` [STRING -> %s]",
                    (int)ALM_MIN(text.len, 100U), text.ptr, alm_type_name(type));
}

static alm_status constant(alm_planner *planner, alm_type type, const void *value, int32_t pos,
                           alm_expr **out)
{
    alm_vec vec = {0};
    ALM_TRY(alm_vec_new(planner->cx, planner->cx->arena, type, 1, &vec));
    (void)memcpy(vec.data, value, alm_type_info_of(type)->width);
    return alm_expr_const(planner->cx, &vec, pos, out);
}

/* A number is compared as it is written: 1.5 equals no INT. */
static alm_status number_element(alm_planner *planner, alm_type type, alm_str text, int32_t pos,
                                 alm_expr **out)
{
    int64_t whole = 0;
    double value = 0;
    if (alm_int64_parse(text, &whole) == ALM_NUM_OK)
        return constant(planner, ALM_TY(LONG), &whole, pos, out);
    if (alm_double_parse(text, &value) == ALM_NUM_OK) {
        alm_values_settle(ALM_TY(DOUBLE), &value, 1);
        return constant(planner, ALM_TY(DOUBLE), &value, pos, out);
    }
    return no_element(planner, type, text, pos);
}

static alm_status decimal_element(alm_planner *planner, alm_type type, alm_str text, int32_t pos,
                                  alm_expr **out)
{
    alm_i256 value;
    uint32_t precision = 0, scale = 0;
    if (!alm_decimal_parse(text, &value, &precision, &scale))
        return no_element(planner, type, text, pos);
    alm_vec vec = {0};
    const alm_type own = alm_type_decimal(ALM_MAX(precision, scale), scale);
    ALM_TRY(alm_vec_new(planner->cx, planner->cx->arena, own, 1, &vec));
    ALM_TRY(alm_value_parse(planner->cx, pos, own, text, vec.data));
    return alm_expr_const(planner->cx, &vec, pos, out);
}

static alm_status bool_element(alm_planner *planner, alm_type type, alm_str text, int32_t pos,
                               alm_expr **out)
{
    bool value = false;
    if (alm_value_scan(type, text, &value) != ALM_SCAN_OK)
        return no_element(planner, type, text, pos);
    return alm_expr_bool(planner->cx, value, pos, out);
}

/* Drivers leave the hyphens out. */
static alm_status uuid_element(alm_planner *planner, alm_str text, int32_t pos, alm_expr **out)
{
    char *dest = NULL;
    size_t count = 0;
    if (text.len != 32)
        return alm_expr_text(planner->cx, ALM_TY(STRING), text, pos, out);
    ALM_TRY(alm_arena_bytes(planner->cx, planner->cx->arena, ALM_UUID_TEXT, &dest));
    for (size_t i = 0; i < text.len; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            dest[count++] = '-';
        dest[count++] = text.ptr[i];
    }
    return alm_expr_text(planner->cx, ALM_TY(STRING), (alm_str){dest, count}, pos, out);
}

/* An element as what x is compared with; texts take the type of x where they meet it. */
static alm_status bind_list_element(alm_planner *planner, alm_type type, alm_str text, int32_t pos,
                                    alm_expr **out)
{
    const alm_type_class cls = alm_type_info_of(type)->cls;
    if (cls == ALM_TC_INTEGER || cls == ALM_TC_FLOATING)
        return number_element(planner, type, text, pos, out);
    if (type.id == ALM_T_DECIMAL)
        return decimal_element(planner, type, text, pos, out);
    if (type.id == ALM_T_BOOLEAN)
        return bool_element(planner, type, text, pos, out);
    if (type.id == ALM_T_UUID)
        return uuid_element(planner, text, pos, out);
    return alm_expr_text(planner->cx, ALM_TY(STRING), text, pos, out);
}

static alm_status known_list(alm_scope *scope, const char *op, alm_expr *expr, alm_expr *list,
                             int32_t pos, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_arena *arena = planner->cx->arena;
    const alm_str text = alm_vec_text(&list->value, 0);
    alm_list_element list_element;
    alm_expr **args = NULL;
    uint32_t n = 1;
    for (alm_text_list text_list = alm_text_list_of(text);
         alm_text_list_next(&text_list, &list_element);)
        n++;
    ALM_TRY(ALM_NEWN(planner->cx, arena, n, &args));
    args[0] = expr;
    n = 1;
    for (alm_text_list text_list = alm_text_list_of(text);
         alm_text_list_next(&text_list, &list_element);) {
        char *bytes = NULL;
        if (alm_list_element_is_null(&list_element))
            continue;
        ALM_TRY(alm_arena_bytes(planner->cx, arena, list_element.raw.len + 1, &bytes));
        const size_t len = alm_list_element_text(&list_element, bytes);
        ALM_TRY(bind_list_element(planner, expr->type, (alm_str){bytes, len}, list->pos, &args[n]));
        n++;
    }
    return alm_bind_any_value(scope, op, pos, args, n, out);
}

/* x op ANY (list); args: the list and x, which stay what they are bound as. */
static alm_status any_of_list(alm_scope *scope, const alm_ast *ast, const char *op,
                              alm_expr *const *given, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr *args[2] = {given[0], given[1]};
    const bool equal = strcmp(op, "=") == 0;
    if (equal && args[0]->type.id == ALM_T_ARRAY) {
        ALM_TRY(alm_expr_call(planner, "array_position", ast->pos, args, 2, out));
        return alm_expr_null_test(planner, *out, true, ast->pos, out);
    }
    if (alm_type_is_text(args[0]->type) && args[0]->kind == ALM_X_CONST &&
        !alm_expr_is_null(args[0]))
        return known_list(scope, op, args[1], args[0], ast->pos, out);
    if (args[0]->kind == ALM_X_PARAM) /* described only: any boolean */
        return alm_expr_bool(planner->cx, true, ast->pos, out);
    if (!equal || !alm_type_is_text(args[0]->type))
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "ANY and ALL take ARRAY[...], a list {a,b} or a subquery");
    ALM_TRY(alm_expr_cast(planner, args[1], ALM_TY(STRING), ALM_CAST_EXPLICIT, &args[1]));
    return alm_expr_call(planner, "list_has", ast->pos, args, 2, out);
}

alm_status alm_bind_any_list(alm_scope *scope, const alm_ast *ast, const char *op, alm_expr **expr,
                             alm_expr **empty, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr *args[2] = {NULL, NULL}, *size[2] = {NULL, NULL};
    ALM_TRY(alm_bind_expr(scope, ast->arg[1], &args[0]));
    ALM_TRY(alm_bind_expr(scope, ast->arg[0], &args[1]));
    if (alm_expr_unknown(args[0]) && !alm_expr_unknown(args[1]))
        ALM_TRY(alm_param_infer(planner, &args[0], alm_list_type_of(args[1]->type)));
    ALM_TRY(alm_param_infer(planner, &args[0], ALM_TY(STRING)));
    ALM_TRY(alm_param_infer(planner, &args[1], ALM_TY(STRING)));
    *expr = args[1];
    ALM_TRY(any_of_list(scope, ast, op, args, out));
    if (empty == NULL)
        return ALM_OK;
    ALM_TRY(alm_expr_call(planner, "cardinality", ast->pos, args, 1, &size[0]));
    ALM_TRY(alm_expr_bits(planner->cx, size[0]->type, 0, ast->pos, &size[1]));
    return alm_expr_call(planner, "=", ast->pos, size, 2, empty);
}
