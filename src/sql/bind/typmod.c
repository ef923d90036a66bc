/*
 * typmod.c - what PostgreSQL's names of types say beyond the type: varchar(20), timestamp(3).
 *
 * A cast cuts a text and rounds a time, as there. A column keeps its length (storage/text_length.h) and refuses what is
 * longer; the digits of a TIMESTAMP column are not kept, it stores all it gets.
 */
#include "sql/bind/bind.h"

/* To the nearest multiple of a power of ten. */
static alm_status round_time(alm_planner *planner, alm_expr *expr, int8_t digits, alm_expr **out)
{
    static const int32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    const bool nanos = expr->type.id == ALM_T_TIMESTAMP_NS;
    const int8_t finest = nanos ? 9 : 6;
    if (digits >= finest)
        return ALM_OK;
    const int32_t step = powers[ALM_MIN(finest - digits, 6)];
    const char *unit = NULL;
    alm_expr *args[3] = {NULL, NULL, expr}, *half = NULL, *floor_args[2] = {NULL, NULL};
    ALM_TRY(
        alm_arena_printf(planner->cx, planner->cx->arena, &unit, "%d%c", step, nanos ? 'n' : 'U'));
    ALM_TRY(alm_expr_text(planner->cx, ALM_TY(STRING), nanos ? ALM_STR("n") : ALM_STR("u"),
                          expr->pos, &args[0]));
    ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(INT), (uint64_t)step / 2, expr->pos, &args[1]));
    ALM_TRY(alm_expr_call(planner, "dateadd", expr->pos, args, 3, &half));
    ALM_TRY(
        alm_expr_text(planner->cx, ALM_TY(STRING), alm_str_of(unit), expr->pos, &floor_args[0]));
    floor_args[1] = half;
    return alm_expr_call(planner, "timestamp_floor", expr->pos, floor_args, 2, out);
}

alm_status alm_bind_typmod(alm_planner *planner, const alm_ast *cast, alm_expr **expr)
{
    alm_ctx quiet = {0};
    alm_type type = ALM_TY(NONE);
    alm_type_mod mod;
    alm_expr *args[2] = {*expr, NULL};
    if (alm_type_read_mod(&quiet, -1, alm_type_without_schema(cast->type_name), &type, &mod) !=
        ALM_OK)
        return ALM_OK; /* the cast has said what is wrong with it */
    if (mod.digits >= 0 && (*expr)->type.id == type.id)
        return round_time(planner, *expr, mod.digits, expr);
    if (mod.length == 0 || (*expr)->type.id != ALM_T_VARCHAR)
        return ALM_OK;
    ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(INT), mod.length, cast->type_pos, &args[1]));
    return alm_expr_call(planner, "left", cast->pos, args, 2, expr);
}
