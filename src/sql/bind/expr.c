/*
 * expr.c - one expression of the tree to a bound one: dispatch by kind, operators, casts.
 */
#include "sql/bind/bind.h"

/* Declared ones are gone already: the parser puts their values in. */
static alm_status bind_var(alm_scope *scope, const alm_ast *ast)
{
    const bool at = ast->text.len > 0 && ast->text.ptr[0] == '@';
    return alm_fail(scope->p->cx, ALM_E_NAME, ast->pos, "Invalid column: %s%.*s", at ? "" : "@",
                    (int)ast->text.len, ast->text.ptr);
}

/* current_user and its like are written without parentheses. */
static bool bare_function(alm_str name)
{
    static const char *const names[] = {"current_user",      "session_user", "current_database",
                                        "current_timestamp", "current_date", "current_schema",
                                        "current_catalog",   "user"};
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (alm_str_ieq(name, alm_str_of(names[i])))
            return true;
    return false;
}

static alm_status bind_column(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    ALM_TRY(alm_bind_name(scope, ast, out));
    if (*out != NULL)
        return ALM_OK;
    if (ast->table.len == 0 && bare_function(ast->text) &&
        alm_registry_has(scope->p->env->registry, ast->text, ALM_FN_SCALAR))
        return alm_expr_call_str(scope->p, ast->text, ast->pos, NULL, 0, out);
    if (ast->table.len == 0 && !ast->quoted && alm_str_ieq(ast->text, ALM_STR("localtimestamp"))) {
        alm_ast call = *ast;
        call.kind = ALM_AST_CALL;
        return alm_bind_call(scope, &call, out);
    }
    return alm_no_name(scope, ast);
}

/* ------------------------------------------------------------------ operators */

static bool is_compare(alm_str op)
{
    return alm_str_eq(op, ALM_STR("=")) || alm_str_eq(op, ALM_STR("!=")) ||
           alm_str_eq(op, ALM_STR("<>")) || alm_str_eq(op, ALM_STR("<")) ||
           alm_str_eq(op, ALM_STR("<=")) || alm_str_eq(op, ALM_STR(">")) ||
           alm_str_eq(op, ALM_STR(">="));
}

static alm_status need_boolean(alm_scope *scope, alm_expr **expr, int32_t pos)
{
    if (alm_expr_unknown(*expr))
        return alm_param_infer(scope->p, expr, ALM_TY(BOOLEAN));
    if ((*expr)->type.id == ALM_T_BOOLEAN)
        return ALM_OK;
    if ((*expr)->type.id == ALM_T_NULL)
        return alm_expr_bool(scope->p->cx, false, (*expr)->pos, expr);
    return alm_fail(scope->p->cx, ALM_E_TYPE, pos,
                    "expression type mismatch, expected: BOOLEAN, actual: %s",
                    alm_type_name((*expr)->type));
}

/* and, or: long chains lean to the left; walk them with a loop. */
static alm_status bind_chain(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    uint32_t count = 0;
    for (const alm_ast *node = ast;
         node->kind == ALM_AST_BINARY && alm_str_eq(node->text, ast->text); node = node->arg[0])
        count++;
    const alm_ast **chain = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, count, &chain));
    const alm_ast *a = ast;
    for (uint32_t i = count; i-- > 0; a = a->arg[0])
        chain[i] = a;
    const bool conjunct = scope->conjunct && alm_str_eq(ast->text, ALM_STR("and"));
    alm_expr *args[2] = {NULL, NULL};
    scope->conjunct = conjunct;
    ALM_TRY(alm_bind_expr(scope, a, &args[0]));
    ALM_TRY(need_boolean(scope, &args[0], a->pos));
    for (uint32_t i = 0; i < count; i++) {
        scope->conjunct = conjunct;
        ALM_TRY(alm_bind_expr(scope, chain[i]->arg[1], &args[1]));
        ALM_TRY(need_boolean(scope, &args[1], chain[i]->arg[1]->pos));
        ALM_TRY(alm_expr_call_str(planner, ast->text, chain[i]->pos, args, 2, &args[0]));
    }
    *out = args[0];
    return ALM_OK;
}

static bool bind_expr_is_array(const alm_expr *expr)
{
    return expr->type.id == ALM_T_ARRAY;
}

static bool bind_expr_is_number(const alm_expr *expr)
{
    const alm_type_class cls = alm_type_info_of(expr->type)->cls;
    return cls == ALM_TC_INTEGER || cls == ALM_TC_FLOATING;
}

/* Arrays end to end, with numbers as elements? A text among them makes all of them a text. */
static bool joins_arrays(alm_expr *const *args, uint32_t n_args)
{
    for (uint32_t i = 0; i < n_args; i++)
        if (!bind_expr_is_array(args[i]) && !bind_expr_is_number(args[i]) &&
            args[i]->type.id != ALM_T_NULL)
            return false;
    return bind_expr_is_array(args[0]) || bind_expr_is_array(args[1]);
}

static alm_status join_arrays(alm_planner *planner, int32_t pos, alm_expr **args, uint32_t n_args,
                              alm_expr **out)
{
    *out = args[0];
    for (uint32_t i = 1; i < n_args; i++) {
        alm_expr *both[2] = {*out, args[i]};
        const char *name = bind_expr_is_number(both[0])   ? "array_prepend"
                           : bind_expr_is_number(both[1]) ? "array_append"
                                                          : "array_cat";
        ALM_TRY(alm_expr_call(planner, name, pos, both, 2, out));
    }
    return ALM_OK;
}

/* a || b || c is concat(a, b, c), which shows null as nothing, or an array. */
static alm_status expr_bind_concat(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    uint32_t n = 1;
    const alm_ast *node = ast;
    for (; node->kind == ALM_AST_BINARY && alm_str_eq(node->text, ALM_STR("||"));
         node = node->arg[0])
        n++;
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n, &args));
    node = ast;
    for (uint32_t i = n; i-- > 1; node = node->arg[0]) {
        ALM_TRY(alm_bind_expr(scope, node->arg[1], &args[i]));
        ALM_TRY(alm_param_infer(planner, &args[i], ALM_TY(STRING)));
    }
    ALM_TRY(alm_bind_expr(scope, node, &args[0]));
    ALM_TRY(alm_param_infer(planner, &args[0], ALM_TY(STRING)));
    if (joins_arrays(args, n))
        return join_arrays(planner, ast->pos, args, n, out);
    return alm_expr_call(planner, "concat", ast->pos, args, n, out);
}

alm_type alm_type_beside(const alm_expr *expr)
{
    return expr->type.id == ALM_T_CHAR && expr->kind == ALM_X_CONST ? ALM_TY(STRING) : expr->type;
}

/* An untyped parameter beside a known operand takes its type. */
static alm_status infer_from(alm_planner *planner, alm_expr **args, uint32_t n_args)
{
    for (uint32_t i = 0; i < n_args; i++) {
        if (!alm_expr_unknown(args[i]))
            continue;
        for (uint32_t j = 0; j < n_args; j++)
            if (!alm_expr_unknown(args[j]))
                ALM_TRY(alm_param_infer(planner, &args[i], alm_type_beside(args[j])));
    }
    return ALM_OK;
}

/* time + INTERVAL '1 day 2 hours': one dateadd for each number and unit. */
static alm_status add_interval(alm_scope *scope, const alm_ast *ast, const alm_ast *interval,
                               alm_expr *time, alm_expr **out)
{
    static const struct {
        const char *word;
        char unit;
    } units[] = {{"year", 'y'},        {"month", 'M'},      {"week", 'w'},   {"day", 'd'},
                 {"hour", 'h'},        {"minute", 'm'},     {"second", 's'}, {"millisecond", 'T'},
                 {"microsecond", 'u'}, {"nanosecond", 'n'}, {"min", 'm'},    {"sec", 's'}};
    alm_planner *planner = scope->p;
    const alm_str text = interval->text;
    const bool minus = ast->text.ptr[0] == '-';
    size_t i = 0;
    int parts = 0;
    *out = time;
    for (;; parts++) {
        int64_t n = 0;
        bool negative = minus;
        const char *unit = NULL;
        while (i < text.len && text.ptr[i] == ' ')
            i++;
        if (i == text.len)
            break;
        if (text.ptr[i] == '-' || text.ptr[i] == '+')
            negative ^= text.ptr[i++] == '-';
        const size_t digits = i;
        for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && n <= INT32_MAX; i++)
            n = n * 10 + (text.ptr[i] - '0');
        const bool number = i > digits && n <= INT32_MAX;
        while (i < text.len && text.ptr[i] == ' ')
            i++;
        const size_t start = i;
        while (i < text.len && ((text.ptr[i] | 0x20) >= 'a' && (text.ptr[i] | 0x20) <= 'z'))
            i++;
        alm_str word = {text.ptr + start, i - start};
        for (size_t k = 0; k < ALM_COUNT(units); k++) {
            const alm_str name = alm_str_of(units[k].word);
            const alm_str one = {word.ptr, word.len > 0 ? word.len - 1 : 0};
            if (alm_str_ieq(word, name) ||
                (alm_str_ieq(one, name) && (word.ptr[word.len - 1] | 0x20) == 's'))
                unit = &units[k].unit;
        }
        if (!number || unit == NULL)
            return alm_fail(planner->cx, ALM_E_VALUE, interval->pos, "invalid interval: '%.*s'",
                            (int)text.len, text.ptr);
        alm_expr *args[3] = {NULL, NULL, *out};
        ALM_TRY(alm_expr_text(planner->cx, ALM_TY(STRING), (alm_str){unit, 1}, interval->pos,
                              &args[0]));
        ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(INT), (uint64_t)(negative ? -n : n),
                              interval->pos, &args[1]));
        ALM_TRY(alm_expr_call(planner, "dateadd", ast->pos, args, 3, out));
    }
    return parts > 0 ? ALM_OK
                     : alm_fail(planner->cx, ALM_E_VALUE, interval->pos, "invalid interval: ''");
}

/* f * 2 stays a FLOAT, which holds the 2, while a FLOAT beside a column of integers is computed in DOUBLE. A difference
 * is a DOUBLE anyway, as in the reference. */
static alm_status adapt_constant(alm_planner *planner, alm_str op, const alm_expr *with,
                                 alm_expr **expr)
{
    enum { EXACT = 1 << 24 };
    int64_t value = 0;
    if (with->type.id != ALM_T_FLOAT || alm_str_eq(op, ALM_STR("-")) ||
        (*expr)->kind != ALM_X_CONST || (*expr)->type.id != ALM_T_INT ||
        !alm_expr_int(*expr, &value) || value < -EXACT || value > EXACT)
        return ALM_OK;
    return alm_expr_cast(planner, *expr, ALM_TY(FLOAT), ALM_CAST_EXPLICIT, expr);
}

/* uuid LIKE $1: the pattern is a text, whatever it is looked for in. */
static alm_status infer_pattern(alm_planner *planner, alm_str op, alm_expr **args)
{
    static const char *const of_texts[] = {"like", "ilike", "~", "!~"};
    for (size_t i = 0; i < ALM_COUNT(of_texts); i++)
        if (alm_str_ieq(op, alm_str_of(of_texts[i])) && !alm_expr_unknown(args[0]) &&
            !alm_type_is_text(args[0]->type))
            return alm_param_infer(planner, &args[1], ALM_TY(STRING));
    return ALM_OK;
}

/* NaN is how the reference writes a null: beside & | ^ it is that of the other side's type, of an INT where that has
 * none. */
static alm_status adapt_nan(alm_planner *planner, alm_str op, const alm_expr *with, alm_expr **expr)
{
    const bool bits = alm_str_eq(op, ALM_STR("&")) || alm_str_eq(op, ALM_STR("|")) ||
                      alm_str_eq(op, ALM_STR("^"));
    if (!bits || (*expr)->type.id != ALM_T_DOUBLE || with->type.id == ALM_T_DOUBLE ||
        !alm_expr_is_null(*expr))
        return ALM_OK;
    const bool none = with->type.id == ALM_T_BYTE || with->type.id == ALM_T_SHORT;
    return alm_expr_null(planner->cx, none ? ALM_TY(INT) : with->type, (*expr)->pos, expr);
}

static alm_status bind_arith(alm_scope *scope, const alm_ast *ast, alm_expr **args, alm_expr **out)
{
    ALM_TRY(infer_pattern(scope->p, ast->text, args));
    ALM_TRY(infer_from(scope->p, args, 2));
    ALM_TRY(adapt_nan(scope->p, ast->text, args[0], &args[1]));
    ALM_TRY(adapt_nan(scope->p, ast->text, args[1], &args[0]));
    ALM_TRY(adapt_constant(scope->p, ast->text, args[0], &args[1]));
    ALM_TRY(adapt_constant(scope->p, ast->text, args[1], &args[0]));
    return alm_expr_call_str(scope->p, ast->text, ast->pos, args, 2, out);
}

static alm_status bind_binary(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    if (alm_str_eq(ast->text, ALM_STR("and")) || alm_str_eq(ast->text, ALM_STR("or")))
        return bind_chain(scope, ast, out);
    if (alm_str_eq(ast->text, ALM_STR("||")))
        return expr_bind_concat(scope, ast, out);
    /* left-deep chains of arithmetic by loop as well */
    uint32_t count = 0;
    const alm_ast *node = ast;
    for (; node->kind == ALM_AST_BINARY && !is_compare(node->text) &&
           !alm_str_eq(node->text, ALM_STR("and")) && !alm_str_eq(node->text, ALM_STR("or")) &&
           !alm_str_eq(node->text, ALM_STR("||"));
         node = node->arg[0])
        count++;
    if (count == 0 && (ast->arg[0]->kind == ALM_AST_ROW || ast->arg[1]->kind == ALM_AST_ROW))
        return alm_bind_row_compare(scope, ast->text, ast->pos, ast->arg[0], ast->arg[1], out);
    if (count == 0) {
        alm_expr *left = NULL, *right = NULL;
        ALM_TRY(alm_bind_expr(scope, ast->arg[0], &left));
        ALM_TRY(alm_bind_expr(scope, ast->arg[1], &right));
        ALM_TRY(alm_bind_beside_decimal(scope->p, left, ast->arg[1], &right));
        ALM_TRY(alm_bind_beside_decimal(scope->p, right, ast->arg[0], &left));
        const char *op = NULL;
        ALM_TRY(alm_arena_zstr(scope->p->cx, scope->p->cx->arena, ast->text, &op));
        return alm_bind_compare(scope, op, ast->pos, left, right, out);
    }
    const alm_ast **chain = NULL;
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, count, &chain));
    node = ast;
    for (uint32_t i = count; i-- > 0; node = node->arg[0])
        chain[i] = node;
    alm_expr *args[2] = {NULL, NULL};
    uint32_t first = 0;
    if (node->kind == ALM_AST_INTERVAL && alm_str_eq(chain[0]->text, ALM_STR("+"))) {
        ALM_TRY(alm_bind_expr(scope, chain[0]->arg[1], &args[0])); /* interval + time */
        ALM_TRY(add_interval(scope, chain[0], node, args[0], &args[0]));
        first = 1;
    } else {
        ALM_TRY(alm_bind_expr(scope, node, &args[0]));
    }
    for (uint32_t i = first; i < count; i++) {
        const bool shift =
            alm_str_eq(chain[i]->text, ALM_STR("+")) || alm_str_eq(chain[i]->text, ALM_STR("-"));
        if (shift && chain[i]->arg[1]->kind == ALM_AST_INTERVAL) {
            ALM_TRY(add_interval(scope, chain[i], chain[i]->arg[1], args[0], &args[0]));
            continue;
        }
        ALM_TRY(alm_bind_expr(scope, chain[i]->arg[1], &args[1]));
        ALM_TRY(bind_arith(scope, chain[i], args, &args[0]));
        if (chain[i]->negated) /* not like, not ilike */
            ALM_TRY(alm_expr_not(scope->p, args[0], chain[i]->pos, &args[0]));
    }
    *out = args[0];
    return ALM_OK;
}

static alm_status bind_unary(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr *expr = NULL;
    if (alm_str_eq(ast->text, ALM_STR("-")) && ast->arg[0]->kind == ALM_AST_NUMBER &&
        !ast->arg[0]->parens) {
        /* the sign belongs to the number, so that the smallest LONG can be written */
        alm_ast number = *ast->arg[0];
        const char *text = NULL;
        ALM_TRY(alm_arena_printf(planner->cx, planner->cx->arena, &text, "-%.*s",
                                 (int)number.text.len, number.text.ptr));
        const bool hex = number.text.len > 1 && (number.text.ptr[1] | 0x20) == 'x';
        number.text = hex ? number.text : alm_str_of(text);
        if (!hex)
            return alm_bind_number(planner, &number, out);
    }
    ALM_TRY(alm_bind_expr(scope, ast->arg[0], &expr));
    if (alm_str_eq(ast->text, ALM_STR("not"))) {
        if (expr->type.id == ALM_T_BOOLEAN || expr->type.id == ALM_T_NULL ||
            alm_expr_unknown(expr)) {
            ALM_TRY(need_boolean(scope, &expr, ast->arg[0]->pos));
            return scope->turns ? alm_expr_not(planner, expr, ast->pos, out)
                                : alm_expr_call(planner, "not", ast->pos, &expr, 1, out);
        }
        return alm_fail(planner->cx, ALM_E_FUNCTION, ast->arg[0]->pos,
                        "argument type mismatch for function `not` at #1 expected: BOOLEAN, "
                        "actual: %s",
                        alm_type_name(expr->type));
    }
    if (alm_str_eq(ast->text, ALM_STR("+"))) {
        *out = expr;
        return ALM_OK;
    }
    ALM_TRY(alm_param_infer(planner, &expr, ALM_TY(LONG)));
    return alm_expr_call_str(planner, ast->text, ast->pos, &expr, 1, out);
}

/* --------------------------------------------------------------------- casts */

static alm_status cast_to(alm_scope *scope, const alm_ast *ast, alm_expr *expr, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_type target = ALM_TY(NONE);
    ALM_TRY(alm_bind_object_cast(scope, ast, expr, out)); /* regclass and its like */
    if (*out != NULL)
        return ALM_OK;
    ALM_TRY(alm_type_read(planner->cx, ast->type_pos, ast->type_name, &target));
    if (target.id == ALM_T_NONE)
        return alm_no_type(planner->cx, ast->type_pos,
                           ast->double_colon ? "invalid constant" : "unsupported cast",
                           ast->type_name);
    if (ast->double_colon && target.id == ALM_T_FLOAT &&
        alm_str_ieq(ast->type_name, ALM_STR("float")))
        target = ALM_TY(DOUBLE); /* x::float is PostgreSQL's float; CAST(x AS FLOAT) is ours */
    if (alm_expr_unknown(expr)) {
        ALM_TRY(alm_param_infer(planner, &expr, target));
        return alm_expr_cast(planner, expr, target, ALM_CAST_EXPLICIT, out);
    }
    ALM_TRY(alm_bind_infinity(planner, expr, target, out));
    if (*out != NULL)
        return ALM_OK;
    /* a time that a client sends for nanoseconds is no null where they have not got it */
    const bool sent = target.id == ALM_T_TIMESTAMP_NS && expr->type.id == ALM_T_TIMESTAMP &&
                      ast->n_args > 0 && ast->arg[0]->kind == ALM_AST_PARAM;
    ALM_TRY(alm_expr_try_cast(planner, expr, target, sent ? ALM_CAST_IMPLICIT : ALM_CAST_EXPLICIT,
                              out));
    if (*out == NULL)
        return alm_fail(planner->cx, ALM_E_TYPE, ast->pos, "unsupported cast: %s -> %s",
                        alm_type_name(expr->type), alm_type_name(target));
    return ALM_OK;
}

/* json_extract(text, path) behind a cast is one call, which knows the kind of the JSON value. *out stays
 * NULL where it is not that. */
static alm_status json_cast(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    const alm_ast *call = ast->arg[0];
    alm_type target = ALM_TY(NONE);
    char name[40] = "json_extract::";
    const size_t offset = strlen(name);
    if (call->kind != ALM_AST_CALL || !alm_str_ieq(call->text, ALM_STR("json_extract")) ||
        call->n_args != 2 || call->over != NULL || !alm_type_parse(ast->type_name, &target))
        return ALM_OK;
    if (ast->double_colon && alm_str_ieq(ast->type_name, ALM_STR("float")))
        target = ALM_TY(DOUBLE);
    const char *type = alm_type_name(target);
    for (size_t i = 0; type[i] != '\0' && offset + i + 1 < sizeof name; i++)
        name[offset + i] = (char)(type[i] >= 'A' && type[i] <= 'Z' ? type[i] | 0x20 : type[i]);
    if (!alm_registry_has(planner->env->registry, alm_str_of(name), ALM_FN_SCALAR))
        return ALM_OK;
    alm_expr *args[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 2; i++)
        ALM_TRY(alm_bind_expr(scope, call->arg[i], &args[i]));
    return alm_expr_call(planner, name, call->pos, args, 2, out);
}

/* $1::float8[]: such an array has any dimensions in PostgreSQL, so that drivers write no more brackets. */
static bool keeps_dimensions(const alm_ast *cast, const alm_expr *expr)
{
    alm_type target = ALM_TY(NONE);
    return cast->arg[0]->kind == ALM_AST_PARAM && expr->type.id == ALM_T_ARRAY &&
           alm_type_parse(cast->type_name, &target) && target.id == ALM_T_ARRAY && target.dims == 1;
}

static alm_status bind_cast(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_expr *expr = NULL;
    *out = NULL;
    alm_type target = ALM_TY(NONE);
    ALM_TRY(json_cast(scope, ast, out));
    if (*out != NULL)
        return alm_bind_typmod(scope->p, ast, out);
    ALM_TRY(alm_bind_list_literal(scope, ast, out));
    if (*out == NULL && alm_type_parse(ast->type_name, &target) && target.id == ALM_T_DECIMAL)
        ALM_TRY(alm_bind_written_decimal(scope->p, ast->arg[0], target, out));
    if (*out != NULL)
        return ALM_OK;
    ALM_TRY(alm_bind_expr(scope, ast->arg[0], &expr));
    if (keeps_dimensions(ast, expr)) {
        *out = expr;
        return ALM_OK;
    }
    ALM_TRY(cast_to(scope, ast, expr, out));
    return alm_bind_typmod(scope->p, ast, out);
}

static alm_status bind_typed(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_expr *expr = NULL;
    ALM_TRY(alm_expr_text(scope->p->cx, ALM_TY(STRING), ast->text, ast->pos, &expr));
    return cast_to(scope, ast, expr, out);
}

/* ------------------------------------------------------------------ dispatch */

static alm_status dispatch(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    switch (ast->kind) {
    case ALM_AST_NULL:
        return alm_expr_null(planner->cx, ALM_TY(NULL), ast->pos, out);
    case ALM_AST_BOOL:
        return alm_expr_bool(planner->cx, (ast->text.ptr[0] | 0x20) == 't', ast->pos, out);
    case ALM_AST_NUMBER:
        return alm_bind_number(planner, ast, out);
    case ALM_AST_STRING:
        return alm_bind_string(planner, ast->text, ast->pos, out);
    case ALM_AST_NAME:
        return bind_column(scope, ast, out);
    case ALM_AST_PARAM:
        return alm_bind_param(planner, ast, out);
    case ALM_AST_VAR:
        return bind_var(scope, ast);
    case ALM_AST_UNARY:
        return bind_unary(scope, ast, out);
    case ALM_AST_BINARY:
        return bind_binary(scope, ast, out);
    case ALM_AST_CALL:
        return alm_bind_call(scope, ast, out);
    case ALM_AST_CAST:
        return bind_cast(scope, ast, out);
    case ALM_AST_TYPED:
        return bind_typed(scope, ast, out);
    case ALM_AST_CASE:
        return alm_bind_case(scope, ast, out);
    case ALM_AST_IN:
        return alm_bind_in(scope, ast, out);
    case ALM_AST_BETWEEN:
        return alm_bind_between(scope, ast, out);
    case ALM_AST_IS_NULL: {
        alm_expr *expr = NULL;
        if (ast->arg[0]->kind == ALM_AST_ROW)
            return alm_bind_row_is_null(scope, ast, out);
        ALM_TRY(alm_bind_expr(scope, ast->arg[0], &expr));
        ALM_TRY(alm_param_infer(planner, &expr, ALM_TY(STRING)));
        return alm_expr_null_test(planner, expr, ast->negated, ast->pos, out);
    }
    case ALM_AST_SUBQUERY:
        return alm_bind_scalar_subquery(scope, ast, out);
    case ALM_AST_EXISTS:
        return alm_bind_exists(scope, ast, out);
    case ALM_AST_QUANTIFIED:
        return alm_bind_quantified(scope, ast, out);
    case ALM_AST_ROW:
        return alm_bind_row(scope, ast, out);
    case ALM_AST_STAR:
        return alm_fail(planner->cx, ALM_E_SYNTAX, ast->pos, "'*' cannot stand here");
    case ALM_AST_GEOHASH:
        return alm_bind_geohash(planner, ast, out);
    case ALM_AST_ARRAY:
        return alm_bind_array(scope, ast, out);
    case ALM_AST_INDEX:
        return alm_bind_index(scope, ast, out);
    case ALM_AST_SLICE:
        return alm_fail(planner->cx, ALM_E_SYNTAX, ast->pos, "a slice can only stand in [ ]");
    case ALM_AST_INTERVAL:
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "an INTERVAL literal can only be added to a time or taken from it");
    }
    return alm_fail(planner->cx, ALM_E_INTERNAL, ast->pos, "unknown kind of expression %d",
                    (int)ast->kind);
}

static bool is_logic(const alm_ast *ast)
{
    return (ast->kind == ALM_AST_UNARY && alm_str_eq(ast->text, ALM_STR("not"))) ||
           (ast->kind == ALM_AST_BINARY &&
            (alm_str_eq(ast->text, ALM_STR("and")) || alm_str_eq(ast->text, ALM_STR("or"))));
}

alm_status alm_bind_expr(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    /* only a conjunct itself, or an and of conjuncts, or a NOT around IN, stays one */
    const bool keeps = ast->kind == ALM_AST_IN || ast->kind == ALM_AST_QUANTIFIED ||
                       ast->kind == ALM_AST_EXISTS ||
                       (ast->kind == ALM_AST_BINARY && alm_str_eq(ast->text, ALM_STR("and")));
    const bool turns = scope->turns;
    scope->conjunct = scope->conjunct && keeps;
    scope->turns = turns && is_logic(ast);
    ALM_TRY(alm_enter(scope->p, ast->pos));
    ALM_TRY(alm_nodes_add(scope->p->cx, 1, ast->pos));
    ALM_TRY(dispatch(scope, ast, out));
    scope->p->depth--;
    scope->turns = turns;
    return ALM_OK;
}
