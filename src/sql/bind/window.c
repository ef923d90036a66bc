/*
 * window.c - calls with OVER: the function, its partition, order and frame.
 *
 * Frames      Always written out in the bound call. Without a frame clause: with ORDER BY, RANGE from
 *             the start of the partition to the current row; without, the whole partition.
 * Units       RANGE offsets with a time unit become ticks of the order column.
 */
#include "sql/bind/bind.h"
#include "time/timestamp.h"

static const alm_window_def *find_window(const alm_scope *scope, alm_str name)
{
    for (uint32_t i = 0; i < scope->sel->n_windows; i++)
        if (alm_str_ieq(scope->sel->windows[i].name, name))
            return scope->sel->windows[i].def;
    return NULL;
}

/* A window that refers to a named one takes over what it does not say itself. */
static alm_status resolve_def(alm_scope *scope, const alm_ast *ast, alm_window_def *out)
{
    static const alm_window_def whole = {0};
    const alm_window_def *def = ast->over;
    alm_str base = ast->over_name;
    if (def != NULL) {
        *out = *def;
        base = def->base;
    } else {
        *out = whole;
        out->pos = ast->pos;
    }
    for (int depth = 0; base.len > 0; depth++) {
        ALM_TRY(alm_steps_add(scope->p->cx, scope->sel->n_windows));
        const alm_window_def *named = find_window(scope, base);
        if (named == NULL || depth > 100)
            return alm_fail(scope->p->cx, ALM_E_NAME, out->pos, "window '%.*s' is not defined",
                            (int)base.len, base.ptr);
        if (out->n_partition == 0) {
            out->partition = named->partition;
            out->n_partition = named->n_partition;
        }
        if (out->n_order == 0) {
            out->order = named->order;
            out->n_order = named->n_order;
        }
        if (out->frame == ALM_FRAME_NONE) {
            out->frame = named->frame;
            out->lo_kind = named->lo_kind;
            out->hi_kind = named->hi_kind;
            out->lo = named->lo;
            out->hi = named->hi;
            out->lo_unit = named->lo_unit;
            out->hi_unit = named->hi_unit;
            out->exclude = named->exclude;
        }
        base = named->base;
    }
    return ALM_OK;
}

static int64_t unit_ticks(char unit, alm_type type)
{
    const int64_t second = type.id == ALM_T_TIMESTAMP_NS ? 1000000000
                           : type.id == ALM_T_DATE       ? 1000
                                                         : 1000000;
    switch (unit) {
    case 'n':
        return second / 1000000000;
    case 'U':
    case 'u':
        return second / 1000000;
    case 'T':
        return second / 1000;
    case 's':
        return second;
    case 'm':
        return second * 60;
    case 'h':
        return second * 3600;
    case 'd':
        return second * 86400;
    case 'w':
        return second * 86400 * 7;
    default:
        return 1;
    }
}

alm_status alm_frame_offset(alm_scope *scope, const alm_ast *ast, char unit, alm_type order,
                            int64_t *out)
{
    alm_planner *planner = scope->p;
    alm_expr *expr = NULL;
    ALM_TRY(alm_bind_const(planner, scope->names, ast, "frame offset", &expr));
    bool is_text = false;
    alm_str text = {0};
    ALM_TRY(alm_expr_string(planner->cx, expr, &is_text, &text));
    if (is_text) { /* '1' SECOND */
        alm_expr *number = NULL;
        ALM_TRY(alm_expr_try_cast(planner, expr, ALM_TY(LONG), ALM_CAST_EXPLICIT, &number));
        if (number != NULL)
            expr = number;
    }
    int64_t value = 0;
    if (expr->kind == ALM_X_PARAM) {
        *out = 0;
        return alm_param_infer(planner, &expr, ALM_TY(LONG));
    }
    if (!alm_expr_int(expr, &value) || value < 0 ||
        __builtin_mul_overflow(value, unit != 0 ? unit_ticks(unit, order) : 1, out))
        return alm_fail(planner->cx, ALM_E_ARG, ast->pos,
                        "non-negative integer expression expected");
    return ALM_OK;
}

/* RANGE over a floating column: a distance of its values. */
static alm_status real_offset(alm_scope *scope, const alm_ast *ast, double *out)
{
    alm_planner *planner = scope->p;
    alm_expr *expr = NULL, *number = NULL;
    ALM_TRY(alm_bind_const(planner, scope->names, ast, "frame offset", &expr));
    if (expr->kind == ALM_X_PARAM) {
        *out = 0;
        return alm_param_infer(planner, &expr, ALM_TY(DOUBLE));
    }
    ALM_TRY(alm_expr_try_cast(planner, expr, ALM_TY(DOUBLE), ALM_CAST_EXPLICIT, &number));
    if (number != NULL && number->kind == ALM_X_CONST)
        memcpy(out, number->value.data, sizeof *out);
    if (number == NULL || number->kind != ALM_X_CONST || !(*out >= 0 && *out - *out == 0))
        return alm_fail(planner->cx, ALM_E_ARG, ast->pos, "non-negative number expected");
    return ALM_OK;
}

static bool bind_window_is_floating(alm_type type)
{
    return type.id == ALM_T_DOUBLE || type.id == ALM_T_FLOAT;
}

static alm_status bind_offsets(alm_scope *scope, const alm_window_def *def, alm_type order,
                               alm_window_call *call)
{
    const bool lo = call->lo_kind == ALM_BOUND_PRECEDING || call->lo_kind == ALM_BOUND_FOLLOWING;
    const bool hi = call->hi_kind == ALM_BOUND_PRECEDING || call->hi_kind == ALM_BOUND_FOLLOWING;
    const bool real = call->frame == ALM_FRAME_RANGE && bind_window_is_floating(order);
    if (lo && real)
        ALM_TRY(real_offset(scope, def->lo, &call->lo_real));
    else if (lo)
        ALM_TRY(alm_frame_offset(scope, def->lo, def->lo_unit, order, &call->lo));
    if (hi && real)
        ALM_TRY(real_offset(scope, def->hi, &call->hi_real));
    else if (hi)
        ALM_TRY(alm_frame_offset(scope, def->hi, def->hi_unit, order, &call->hi));
    const bool more = real ? call->lo_real > call->hi_real : call->lo > call->hi;
    const bool less = real ? call->lo_real < call->hi_real : call->lo < call->hi;
    if ((call->lo_kind == ALM_BOUND_PRECEDING && call->hi_kind == ALM_BOUND_PRECEDING && less) ||
        (call->lo_kind == ALM_BOUND_FOLLOWING && call->hi_kind == ALM_BOUND_FOLLOWING && more))
        return alm_fail(scope->p->cx, ALM_E_ARG, def->lo->pos,
                        "start of window must be lower than end");
    return ALM_OK;
}

static alm_status bind_frame(alm_scope *scope, const alm_window_def *def, alm_window_call *call)
{
    alm_planner *planner = scope->p;
    if (def->frame == ALM_FRAME_NONE) {
        call->frame = call->n_order > 0 ? ALM_FRAME_RANGE : ALM_FRAME_ROWS;
        call->lo_kind = ALM_BOUND_UNBOUNDED_PRECEDING;
        call->hi_kind = call->n_order > 0 ? ALM_BOUND_CURRENT : ALM_BOUND_UNBOUNDED_FOLLOWING;
        call->exclude = def->exclude;
        return ALM_OK;
    }
    call->frame = def->frame;
    call->lo_kind = def->lo_kind;
    call->hi_kind = def->hi_kind != ALM_BOUND_NONE ? def->hi_kind : (uint8_t)ALM_BOUND_CURRENT;
    call->exclude = def->exclude;
    const int32_t lo_pos = def->lo != NULL ? def->lo->pos : def->pos;
    if (call->lo_kind == ALM_BOUND_CURRENT && call->hi_kind == ALM_BOUND_PRECEDING)
        return alm_fail(planner->cx, ALM_E_ARG, def->hi != NULL ? def->hi->pos : def->pos,
                        "start row is CURRENT, end row must not be PRECEDING");
    if (call->lo_kind == ALM_BOUND_FOLLOWING &&
        (call->hi_kind == ALM_BOUND_PRECEDING || call->hi_kind == ALM_BOUND_CURRENT))
        return alm_fail(planner->cx, ALM_E_ARG, lo_pos,
                        "start row is FOLLOWING, end row must follow");
    if (call->lo_kind == ALM_BOUND_UNBOUNDED_FOLLOWING ||
        call->hi_kind == ALM_BOUND_UNBOUNDED_PRECEDING)
        return alm_fail(planner->cx, ALM_E_ARG, def->pos, "'preceding' expected");
    const bool offsets =
        call->lo_kind == ALM_BOUND_PRECEDING || call->lo_kind == ALM_BOUND_FOLLOWING ||
        call->hi_kind == ALM_BOUND_PRECEDING || call->hi_kind == ALM_BOUND_FOLLOWING;
    const alm_type order = call->n_order > 0 ? call->order[0].expr->type : ALM_TY(NONE);
    if (call->frame == ALM_FRAME_RANGE && offsets) {
        if (call->n_order != 1)
            return alm_fail(planner->cx, ALM_E_ARG, lo_pos,
                            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY "
                            "column");
        const bool units = def->lo_unit != 0 || def->hi_unit != 0;
        const bool number =
            alm_type_info_of(order)->cls == ALM_TC_INTEGER || bind_window_is_floating(order);
        if (!alm_type_is_timestamp(order) && (units || !number))
            return alm_fail(planner->cx, ALM_E_ARG, call->order[0].expr->pos,
                            units ? "RANGE is supported only for queries ordered by designated "
                                    "timestamp"
                                  : "RANGE with an offset needs ORDER BY a number or a timestamp");
    }
    return bind_offsets(scope, def, order, call);
}

/* Aggregates as windows sum into DOUBLE and keep extremes of integers as LONG, of FLOAT as DOUBLE. */
static alm_status bind_window_widen(alm_planner *planner, alm_str name, alm_expr **args, uint32_t n)
{
    const bool real = n > 0 && args[0]->type.id == ALM_T_FLOAT;
    if (n == 0 || (!real && alm_type_info_of(args[0]->type)->cls != ALM_TC_INTEGER))
        return ALM_OK;
    const bool sums = alm_str_ieq(name, ALM_STR("sum")) || alm_str_ieq(name, ALM_STR("avg"));
    const bool keeps = alm_str_ieq(name, ALM_STR("min")) || alm_str_ieq(name, ALM_STR("max"));
    if (!sums && !keeps)
        return ALM_OK;
    return alm_expr_cast(planner, args[0], sums || real ? ALM_TY(DOUBLE) : ALM_TY(LONG),
                         ALM_CAST_EXPLICIT, &args[0]);
}

/* Errors about -1 point at its sign. */
static alm_status place_constant(alm_planner *planner, const alm_ast *ast, alm_expr **expr)
{
    if (ast->kind != ALM_AST_UNARY || (*expr)->kind != ALM_X_CONST)
        return ALM_OK;
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &copy));
    *copy = **expr;
    copy->pos = ast->pos;
    *expr = copy;
    return ALM_OK;
}

/* What a call reads: of written groups their names, else columns, which become keys. */
static alm_status bind_part(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    if (scope->sel->has_group && !scope->sel->group_all)
        return alm_bind_by_keys(scope, ast, out);
    const bool before = scope->by_keys;
    scope->by_keys = false;
    ALM_TRY(alm_bind_expr(scope, ast, out));
    scope->by_keys = before;
    return ALM_OK;
}

/* An average that may weigh by time is given the time that orders the rows. */
static alm_status add_time(alm_scope *scope, const alm_ast *ast, const alm_window_def *def,
                           alm_window_call *call)
{
    alm_expr *time = NULL;
    if (call->n_args < 3 || def->n_order == 0 || !alm_str_ieq(ast->text, ALM_STR("avg")))
        return ALM_OK;
    ALM_TRY(bind_part(scope, def->order[0].expr, &time));
    if (alm_type_is_timestamp(time->type))
        call->args[call->n_args++] = time;
    return ALM_OK;
}

static alm_status window_bind_function(alm_scope *scope, const alm_ast *ast,
                                       const alm_window_def *def, alm_window_call *call)
{
    alm_planner *planner = scope->p;
    const alm_registry *reg = planner->env->registry;
    const bool window = alm_registry_has(reg, ast->text, ALM_FN_WINDOW);
    if (!window && !alm_registry_has(reg, ast->text, ALM_FN_AGGREGATE)) {
        alm_nearest near = alm_nearest_of(ast->text);
        if (alm_registry_has(reg, ast->text, ALM_FN_SCALAR))
            return alm_fail(planner->cx, ALM_E_FUNCTION, ast->pos,
                            "non-window function called in window context");
        alm_registry_offer(reg, &near);
        return alm_fail_near(planner->cx, ALM_E_FUNCTION, ast->pos, &near,
                             "unknown function name: %.*s", (int)ast->text.len, ast->text.ptr);
    }
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, ast->n_args + 2, &call->args));
    for (uint32_t i = 0; i < ast->n_args; i++) {
        ALM_TRY(bind_part(scope, ast->arg[i], &call->args[i]));
        ALM_TRY(place_constant(planner, ast->arg[i], &call->args[i]));
    }
    call->n_args = ast->n_args;
    ALM_TRY(add_time(scope, ast, def, call));
    if (ast->n_order > 0)
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "ORDER BY inside a window function: it stands in OVER (...)");
    if (ast->distinct && window)
        return alm_fail(planner->cx, ALM_E_ARG, ast->pos, "DISTINCT: '%.*s' is no aggregate",
                        (int)ast->text.len, ast->text.ptr);
    alm_str name = ast->text;
    if (!window)
        ALM_TRY(bind_window_widen(planner, name, call->args, call->n_args));
    alm_resolved resolved;
    ALM_TRY(alm_args_resolve(planner, name, window ? ALM_FN_WINDOW : ALM_FN_AGGREGATE, ast->pos,
                             call->args, call->n_args, &resolved));
    call->fn = resolved.fn;
    call->data = resolved.data;
    call->type = resolved.result;
    call->ignore_nulls = ast->ignore_nulls;
    if (ast->filter != NULL && window && (call->n_args == 0 || alm_str_ieq(name, ALM_STR("ntile"))))
        return alm_fail(planner->cx, ALM_E_ARG, ast->pos, "FILTER: '%.*s' counts all rows",
                        (int)ast->text.len, ast->text.ptr);
    if (ast->filter == NULL)
        return ALM_OK;
    ALM_TRY(bind_part(scope, ast->filter, &call->filter));
    return alm_bind_condition(planner, &call->filter, ast->filter->pos);
}

/* Each value once; of extremes that makes no difference. */
static bool is_distinct(const alm_ast *ast, const alm_window_call *call)
{
    const bool extreme =
        alm_str_ieq(ast->text, ALM_STR("min")) || alm_str_ieq(ast->text, ALM_STR("max"));
    return ast->distinct && !extreme && call->n_args > 0;
}

alm_status alm_bind_window(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    if (!scope->windows_allowed)
        return alm_fail(planner->cx, ALM_E_FUNCTION, ast->pos,
                        "window functions are not allowed here");
    alm_window_def def;
    alm_window_call call = {.pos = ast->pos};
    ALM_TRY(resolve_def(scope, ast, &def));
    scope->windows_allowed = false;
    ALM_TRY(window_bind_function(scope, ast, &def, &call));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, def.n_partition + 1, &call.partition));
    call.n_partition = def.n_partition;
    for (uint32_t i = 0; i < def.n_partition; i++)
        ALM_TRY(bind_part(scope, def.partition[i], &call.partition[i]));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, def.n_order + 1, &call.order));
    call.n_order = def.n_order;
    for (uint32_t i = 0; i < def.n_order; i++) {
        alm_expr *key = NULL;
        ALM_TRY(alm_order_refuse_text(planner, def.order[i].expr));
        ALM_TRY(bind_part(scope, def.order[i].expr, &key));
        ALM_TRY(alm_sort_key_make(planner, key, &def.order[i], &call.order[i]));
    }
    if ((call.fn->flags & ALM_FN_RUNNING) != 0) {
        call.frame = ALM_FRAME_ROWS;
        call.lo_kind = ALM_BOUND_UNBOUNDED_PRECEDING;
        call.hi_kind = ALM_BOUND_CURRENT;
    } else {
        ALM_TRY(bind_frame(scope, &def, &call));
    }
    call.distinct = is_distinct(ast, &call);
    scope->windows_allowed = true;
    return alm_late_add(scope, &(alm_late){.call = call}, out);
}
