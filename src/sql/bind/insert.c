/*
 * insert.c - INSERT: VALUES straight into columns, SELECT with casts on top.
 *
 * Shapes      VALUES becomes one vector of n_rows elements for each column of the table (const null
 *             for those not named): thousands of rows cost no expression tree.
 * Casts       By the rules of assignment (func: alm_assign_fn); what does not fit is an error.
 */
#include "base/number.h"
#include "base/utf8.h"
#include "sql/bind/bind.h"
#include "sql/node/range.h"
#include "sql/opt/opt.h"
#include "sql/plan/access.h"
#include "time/timestamp.h"
#include "type/decimal.h"
#include "type/ops.h"
#include "type/text.h"

typedef struct insert_map { /* value i goes to table column target[i] */
    const alm_table *table;
    uint32_t *target;
    uint32_t n;
} insert_map;

static alm_status insert_map_columns(alm_planner *planner, const alm_stmt *stmt,
                                     const alm_table *table, insert_map *map)
{
    const uint32_t n = stmt->n_insert_cols > 0 ? stmt->n_insert_cols : table->n_cols;
    bool *seen = NULL;
    map->table = table;
    map->n = n;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &map->target));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &seen));
    for (uint32_t i = 0; i < n; i++) {
        if (stmt->n_insert_cols == 0) {
            map->target[i] = i;
            seen[i] = true;
            continue;
        }
        const alm_str name = stmt->insert_cols[i];
        const int32_t col = alm_table_col(table, name);
        if (col < 0)
            return alm_no_column(planner->cx, table, name, stmt->insert_pos[i]);
        if (seen[col])
            return alm_fail(planner->cx, ALM_E_DUPLICATE, stmt->insert_pos[i],
                            "Duplicate column [name=%.*s]", (int)name.len, name.ptr);
        seen[col] = true;
        map->target[i] = (uint32_t)col;
    }
    if (table->ts_col >= 0 && !seen[table->ts_col])
        return alm_fail(planner->cx, ALM_E_VALUE, stmt->table_pos,
                        "insert statement must populate timestamp");
    return ALM_OK;
}

/* ------------------------------------------------------------------- one cell */

static alm_status insert_inconvertible(alm_planner *planner, const alm_ast *ast, alm_type from,
                                       const alm_column *col, int32_t pos)
{
    const char *text = "";
    if (ast != NULL)
        ALM_TRY(alm_ast_name(planner->cx, ast, &text));
    return alm_fail(planner->cx, ALM_E_TYPE, pos, "inconvertible types: %s -> %s [from=%s, to=%s]",
                    alm_type_name(from), alm_type_name(col->type), text, col->name);
}

bool alm_exact_literal(const alm_ast *ast)
{
    alm_i256 value;
    uint32_t precision = 0, scale = 0;
    return ast->kind == ALM_AST_NUMBER && ast->text.len > 0 &&
           ast->text.ptr[ast->text.len - 1] <= '9' &&
           alm_decimal_parse(ast->text, &value, &precision, &scale);
}

alm_cast_mode alm_assign_mode(const alm_ast *ast, alm_type target)
{
    const bool bytes = target.id == ALM_T_BINARY && ast->kind == ALM_AST_STRING &&
                       ast->text.len >= 2 && memcmp(ast->text.ptr, "\\x", 2) == 0;
    /* drivers have no other type for a number with a fraction than float8 */
    const bool fraction = target.id == ALM_T_DECIMAL && ast->kind == ALM_AST_PARAM;
    return bytes || fraction ? ALM_CAST_EXPLICIT : ALM_CAST_ASSIGN;
}

/* Any expression: bound, cast by the rules of assignment, folded. */
static alm_status cell_expr(alm_planner *planner, const alm_ast *ast, const alm_column *col,
                            void *ptr, size_t width)
{
    alm_expr *expr = NULL, *cast = NULL;
    ALM_TRY(alm_bind_const_for(planner, NULL, ast, "a value of INSERT", col->type, &expr));
    ALM_TRY(alm_expr_try_cast(planner, expr, col->type, alm_assign_mode(ast, col->type), &cast));
    if (cast == NULL)
        return insert_inconvertible(planner, ast, expr->type, col, ast->pos);
    if (cast->kind != ALM_X_CONST && alm_describing(planner) && !alm_expr_has_col(cast))
        return ALM_OK; /* stays null */
    if (cast->kind != ALM_X_CONST && planner->env->sources != NULL && cast->kind == ALM_X_CALL &&
        !alm_expr_has_col(cast)) {
        alm_vec vec = {0};
        ALM_TRY(planner->env->sources->constant(planner->cx, cast, &vec));
        vec.type = col->type;
        ALM_TRY(alm_expr_const(planner->cx, &vec, cast->pos, &cast));
    }
    if (cast->kind != ALM_X_CONST)
        return alm_fail(planner->cx, ALM_E_ARG, ast->pos, "a value of INSERT must be constant");
    if (alm_expr_is_null(cast))
        return ALM_OK;
    if (alm_is_infinity(cast) && alm_type_info_of(expr->type)->cls == ALM_TC_TIME)
        return alm_fail(planner->cx, ALM_E_VALUE, ast->pos,
                        "infinity is no time that can be stored");
    if (alm_type_has_heap(col->type) || col->type.id == ALM_T_SYMBOL) {
        const alm_view view = alm_view_of(alm_vec_text(&cast->value, 0));
        memcpy(ptr, &view, sizeof view);
    } else {
        memcpy(ptr, cast->value.data, width);
    }
    return ALM_OK;
}

/* *done is false where the general way must decide. */
static alm_status cell_string(alm_planner *planner, const alm_ast *ast, const alm_column *col,
                              void *ptr, bool *done)
{
    if (alm_type_is_text(col->type)) {
        const alm_str text = {ast->text.ptr != NULL ? ast->text.ptr : "", ast->text.len};
        const alm_view view = alm_view_of(text);
        memcpy(ptr, &view, sizeof view);
        *done = true;
    } else if (alm_type_info_of(col->type)->cls == ALM_TC_TIME) {
        int64_t ticks = 0;
        if (!alm_time_read(ast->text, alm_type_unit(col->type), &ticks))
            return alm_fail(
                planner->cx, ALM_E_TIME, ast->pos, "inconvertible value: `%.*s` [STRING -> %s]",
                (int)ALM_MIN(ast->text.len, 200), ast->text.ptr, alm_type_name(col->type));
        memcpy(ptr, &ticks, sizeof ticks);
        *done = true;
    } else if (col->type.id == ALM_T_BOOLEAN) { /* 't' as drivers write it; others stay refused */
        *done = alm_value_scan(col->type, ast->text, ptr) == ALM_SCAN_OK;
    } else if (alm_type_info_of(col->type)->ops->scan_stored != NULL &&
               alm_value_scan_stored(col->type, ast->text, ptr) == ALM_SCAN_OK) {
        *done = true;
    } else if (alm_type_written(col->type) == ALM_WRITTEN_WIDE) {
        const alm_str text = {ast->text.ptr != NULL ? ast->text.ptr : "", ast->text.len};
        ALM_TRY(alm_value_parse(planner->cx, ast->pos, col->type, text, ptr));
        *done = true;
    }
    return ALM_OK;
}

static void insert_put_int(alm_type type, int64_t value, void *ptr, bool *done)
{
    const int8_t b = (int8_t)value;
    const int16_t s = (int16_t)value;
    const int32_t i = (int32_t)value;
    *done = true;
    if (type.id == ALM_T_BYTE && b == value)
        memcpy(ptr, &b, sizeof b);
    else if (type.id == ALM_T_SHORT && s == value)
        memcpy(ptr, &s, sizeof s);
    else if (type.id == ALM_T_INT && i == value && i != ALM_INT_NULL)
        memcpy(ptr, &i, sizeof i);
    else if (value != ALM_LONG_NULL &&
             (type.id == ALM_T_LONG || alm_type_info_of(type)->cls == ALM_TC_TIME))
        memcpy(ptr, &value, sizeof value);
    else
        *done = false;
}

/* Plain decimal numbers without suffixes. For a DECIMAL column they are exact, as written. */
static alm_status cell_number(alm_planner *planner, const alm_ast *ast, bool negative,
                              alm_type type, void *ptr, bool *done)
{
    const alm_type_class cls = alm_type_info_of(type)->cls;
    const alm_str text = ast->text;
    char buf[96];
    if (text.len == 0 || text.len + 1 >= sizeof buf)
        return ALM_OK;
    size_t count = 0;
    if (negative)
        buf[count++] = '-';
    memcpy(buf + count, text.ptr, text.len);
    const alm_str number = {buf, count + text.len};
    if (cls == ALM_TC_INTEGER || cls == ALM_TC_TIME) {
        int64_t value = 0;
        if (alm_int64_parse(number, &value) == ALM_NUM_OK)
            insert_put_int(type, value, ptr, done);
    } else if (type.id == ALM_T_DOUBLE) {
        double value = 0;
        if (alm_double_parse(number, &value) == ALM_NUM_OK) {
            memcpy(ptr, &value, sizeof value);
            *done = true;
        }
    } else if (type.id == ALM_T_FLOAT) {
        float f = 0;
        if (alm_float_parse(number, &f) == ALM_NUM_OK) {
            memcpy(ptr, &f, sizeof f);
            *done = true;
        }
    } else if (type.id == ALM_T_DECIMAL && alm_exact_literal(ast)) {
        ALM_TRY(alm_value_parse(planner->cx, ast->pos, type, number, ptr));
        *done = true;
    }
    return ALM_OK;
}

static alm_status put_cell(alm_planner *planner, const alm_ast *ast, const alm_column *col,
                           void *ptr, size_t width)
{
    bool done = false;
    switch ((int)ast->kind) {
    case ALM_AST_NULL:
        return ALM_OK; /* the column is null already */
    case ALM_AST_STRING:
        ALM_TRY(cell_string(planner, ast, col, ptr, &done));
        break;
    case ALM_AST_NUMBER:
        ALM_TRY(cell_number(planner, ast, false, col->type, ptr, &done));
        break;
    case ALM_AST_UNARY:
        if (alm_str_eq(ast->text, ALM_STR("-")) && ast->arg[0]->kind == ALM_AST_NUMBER)
            ALM_TRY(cell_number(planner, ast->arg[0], true, col->type, ptr, &done));
        break;
    case ALM_AST_BOOL:
        if (col->type.id == ALM_T_BOOLEAN) {
            *(uint8_t *)ptr = (ast->text.ptr[0] | 0x20) == 't';
            done = true;
        }
        break;
    default:
        break;
    }
    return done ? ALM_OK : cell_expr(planner, ast, col, ptr, width);
}

/* --------------------------------------------------------------------- VALUES */

/* n elements, all null. */
static alm_status insert_null_column(alm_planner *planner, alm_type type, size_t n_rows,
                                     alm_vec *out)
{
    alm_vec one = {0};
    ALM_TRY(alm_vec_null(planner->cx, planner->cx->arena, type, &one));
    ALM_TRY(alm_vec_new(planner->cx, planner->cx->arena, type, n_rows, out));
    const size_t width = out->width;
    for (size_t i = 0; i < n_rows; i++)
        memcpy((char *)out->data + i * width, one.data, width);
    return ALM_OK;
}

static alm_status check_rows(alm_planner *planner, const alm_stmt *stmt, uint32_t expected)
{
    for (uint32_t row = 0; row < stmt->n_rows; row++) {
        const uint32_t n = stmt->row_lens[row];
        if (n == expected)
            continue;
        return alm_fail(planner->cx, ALM_E_ARG, stmt->row_end[row],
                        "row value count does not match column count [expected=%u, actual=%u, "
                        "tuple=%u]",
                        expected, n, row + 1);
    }
    return ALM_OK;
}

/* VARCHAR(n): as storage says it of any row, with the place of the value. */
static alm_status insert_check_length(alm_planner *planner, const alm_ast *ast,
                                      const alm_column *col, const alm_view *view)
{
    size_t n = 0;
    if (alm_view_is_null(view) || !alm_text_exceeds(col, alm_view_str(view, NULL), &n))
        return ALM_OK;
    return alm_fail(planner->cx, ALM_E_LENGTH, ast->pos,
                    "value too long for type character varying(%u) [column=%s, length=%zu]",
                    col->length, col->name, n);
}

static alm_status insert_fill_column(alm_planner *planner, const alm_stmt *stmt,
                                     const alm_table *table, uint32_t value, uint32_t target,
                                     alm_vec *vec)
{
    const alm_column *col = &table->cols[target];
    const size_t width = vec->width;
    const bool designated = (int32_t)target == table->ts_col;
    char *ptr = vec->data;
    for (uint32_t row = 0; row < stmt->n_rows; row++, ptr += width) {
        if (row % ALM_BATCH_ROWS == 0)
            ALM_TRY(alm_check(planner->cx));
        const alm_ast *ast = stmt->rows[row][value];
        ALM_TRY(put_cell(planner, ast, col, ptr, width));
        if (col->length > 0)
            ALM_TRY(insert_check_length(planner, ast, col, (const alm_view *)(const void *)ptr));
        int64_t ticks = 0;
        if (!designated)
            continue;
        memcpy(&ticks, ptr, sizeof ticks);
        const char *why = alm_designated_fault(ticks, col->type.id == ALM_T_TIMESTAMP_NS);
        if (why != NULL && !alm_describing(planner))
            return alm_fail(planner->cx, ALM_E_VALUE, ast->pos, "%s", why);
    }
    return ALM_OK;
}

static alm_status table_shape(alm_planner *planner, const alm_table *table, alm_plan *node)
{
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &node->cols));
    for (uint32_t col = 0; col < table->n_cols; col++)
        node->cols[col] = (alm_plan_col){table->cols[col].name, table->cols[col].type};
    node->n_cols = table->n_cols;
    return ALM_OK;
}

static alm_status insert_values(alm_planner *planner, const alm_stmt *stmt, const insert_map *map,
                                alm_plan **out)
{
    const alm_table *table = map->table;
    alm_plan *node = NULL;
    bool *given = NULL;
    ALM_TRY(check_rows(planner, stmt, map->n));
    ALM_TRY(alm_plan_new(planner, ALM_P_VALUES, stmt->pos, NULL, &node));
    ALM_TRY(table_shape(planner, table, node));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &node->values.vecs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &given));
    for (uint32_t i = 0; i < map->n; i++) {
        const uint32_t target = map->target[i];
        alm_vec *vec = &node->values.vecs[target];
        given[target] = true;
        ALM_TRY(insert_null_column(planner, table->cols[target].type, stmt->n_rows, vec));
        ALM_TRY(insert_fill_column(planner, stmt, table, i, target, vec));
    }
    for (uint32_t col = 0; col < table->n_cols; col++)
        if (!given[col])
            ALM_TRY(alm_vec_null(planner->cx, planner->cx->arena, table->cols[col].type,
                                 &node->values.vecs[col]));
    node->values.n_rows = stmt->n_rows;
    node->est_rows = stmt->n_rows;
    node->ts_col = table->ts_col;
    *out = node;
    return ALM_OK;
}

/* --------------------------------------------------------------------- SELECT */

/* Where the i-th of n output columns is written: its item, where the items are written one by one. */
static int32_t output_pos(const alm_select *sel, uint32_t i, uint32_t n)
{
    if (sel->op != ALM_SET_NONE || sel->n_items != n)
        return sel->pos;
    const alm_ast *expr = sel->items[i].expr;
    return expr->kind == ALM_AST_STAR ? sel->pos : expr->pos;
}

/* A parameter that is an item by itself is of the type of the column that it is for, as in VALUES. */
static alm_status infer_items(alm_planner *planner, const alm_select *sel, const insert_map *map)
{
    if (sel->op != ALM_SET_NONE)
        return ALM_OK;
    for (uint32_t i = 0; i < ALM_MIN(sel->n_items, map->n); i++) {
        const alm_ast *item = sel->items[i].expr;
        if (item->kind == ALM_AST_STAR)
            return ALM_OK; /* as many columns as there are: what comes behind has another place */
        const alm_type target = map->table->cols[map->target[i]].type;
        alm_expr *expr = NULL;
        if (item->kind != ALM_AST_PARAM)
            continue;
        ALM_TRY(alm_bind_param(planner, item, &expr));
        ALM_TRY(alm_param_infer(planner, &expr, target));
    }
    return ALM_OK;
}

/*
 * Where the columns of a query are taken by position, a number for the designated timestamp is most often a column in the
 * wrong place, and would be a moment of 1970: it has to be cast.
 */
static alm_status insert_select(alm_planner *planner, const alm_stmt *stmt, insert_map *map,
                                alm_plan **out)
{
    const alm_table *table = map->table;
    alm_plan *plan = NULL;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    bool *numbers = NULL;
    int32_t designated_at = -1;
    ALM_TRY(infer_items(planner, stmt->select, map));
    ALM_TRY(alm_bind_query(planner, NULL, stmt->select, &plan));
    const bool ts_missing =
        table->ts_col >= 0 && stmt->n_insert_cols == 0 && plan->n_cols <= (uint32_t)table->ts_col;
    if (ts_missing)
        return alm_fail(planner->cx, ALM_E_VALUE, stmt->table_pos,
                        "select clause must provide timestamp column");
    if (plan->n_cols > map->n || (stmt->n_insert_cols > 0 && plan->n_cols != map->n))
        return alm_fail(planner->cx, ALM_E_ARG, stmt->table_pos,
                        "column count mismatch [selected=%u, columns=%u]", plan->n_cols, map->n);
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols + 1, &names));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &numbers));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        const alm_column *col = &table->cols[map->target[i]];
        const int32_t pos = output_pos(stmt->select, i, plan->n_cols);
        alm_expr *expr = NULL, *cast = NULL;
        numbers[i] = !alm_type_is_text(col->type);
        if (numbers[i])
            ALM_TRY(alm_plan_widen_col(planner, plan, i, true));
        ALM_TRY(alm_expr_col(planner->cx, i, plan->cols[i].type, pos, &expr));
        const alm_type_class cls = alm_type_info_of(expr->type)->cls;
        const bool designated = (int32_t)map->target[i] == table->ts_col;
        if (designated)
            designated_at = (int32_t)i;
        if (designated && (cls == ALM_TC_INTEGER || expr->type.id == ALM_T_CHAR))
            return alm_fail(planner->cx, ALM_E_TYPE, pos,
                            "expected timestamp column but type is %s [from=%s, to=%s]",
                            alm_type_name(expr->type), plan->cols[i].name, col->name);
        ALM_TRY(alm_expr_try_cast(planner, expr, col->type, ALM_CAST_ASSIGN, &cast));
        if (cast == NULL)
            return alm_fail(
                planner->cx, ALM_E_TYPE, pos, "inconvertible types: %s -> %s [from=%s, to=%s]",
                alm_type_name(expr->type), alm_type_name(col->type), plan->cols[i].name, col->name);
        exprs[map->target[i]] = cast;
    }
    ALM_TRY(alm_range_below(planner, plan, numbers));
    ALM_TRY(alm_plan_finite_times(planner, designated_at, &plan));
    for (uint32_t column = 0; column < table->n_cols; column++) {
        names[column] = table->cols[column].name;
        if (exprs[column] == NULL)
            ALM_TRY(
                alm_expr_null(planner->cx, table->cols[column].type, stmt->pos, &exprs[column]));
    }
    return alm_plan_project(planner, plan, exprs, names, table->n_cols, out);
}

alm_status alm_plan_insert(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                           const alm_table **table, alm_plan **out)
{
    alm_planner planner = {.cx = cx, .env = env};
    insert_map map = {0};
    ALM_TRY(alm_access_name(cx, "INSERT", stmt->table, stmt->table_pos));
    const alm_table *found = alm_snapshot_find(env->snapshot, stmt->table);
    if (found == NULL)
        return alm_no_table(cx, env->snapshot, stmt->table, stmt->table_pos);
    ALM_TRY(alm_refuse_view(cx, found, stmt->table_pos));
    ALM_TRY(alm_access_may(cx, "INSERT", found->name, stmt->table_pos));
    ALM_TRY(insert_map_columns(&planner, stmt, found, &map));
    if (stmt->select != NULL)
        ALM_TRY(insert_select(&planner, stmt, &map, out));
    else
        ALM_TRY(insert_values(&planner, stmt, &map, out));
    *table = found;
    bool queries = stmt->select != NULL;
    if (stmt->returning != NULL)
        ALM_TRY(alm_insert_returning(&planner, stmt, found, out, &queries));
    return queries ? alm_optimise(&planner, out) : ALM_OK;
}
