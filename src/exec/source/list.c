/*
 * list.c - see list.h. Rows are columns of fixed width from the start, so that a batch is
 * a slice of them.
 */
#include "exec/source/list.h"

#include "base/access.h"
#include "base/utf8.h"

enum { ROWS_MIN = 64 };

/* ------------------------------------------------------------------------------------ cells */

static size_t cell_width(alm_type type)
{
    return type.id == ALM_T_SYMBOL ? sizeof(alm_view) : alm_type_width(type);
}

static void *cell(alm_list *list, uint32_t col)
{
    ALM_ASSERT(col < list->n_cols && list->n > 0);
    return list->data[col] + (size_t)(list->n - 1) * cell_width(list->cols[col].type);
}

static alm_status source_list_grow(alm_ctx *cx, alm_list *list)
{
    const uint32_t cap = ALM_MAX(2 * list->cap, (uint32_t)ROWS_MIN);
    for (uint32_t col = 0; col < list->n_cols; col++) {
        const size_t width = cell_width(list->cols[col].type);
        char *data = NULL;
        ALM_TRY(alm_arena_bytes(cx, cx->arena, cap * width, &data));
        if (list->n > 0)
            memcpy(data, list->data[col], list->n * width);
        list->data[col] = data;
    }
    list->cap = cap;
    return ALM_OK;
}

alm_status alm_list_new(alm_ctx *cx, const alm_plan_col *cols, uint32_t n_cols, alm_list **out)
{
    ALM_TRY(ALM_NEW(cx, cx->arena, out));
    (*out)->cols = cols;
    (*out)->n_cols = n_cols;
    return ALM_NEWN(cx, cx->arena, n_cols, &(*out)->data);
}

alm_status alm_list_row(alm_ctx *cx, alm_list *list)
{
    if (list->n == list->cap)
        ALM_TRY(source_list_grow(cx, list));
    list->n++;
    for (uint32_t col = 0; col < list->n_cols; col++)
        alm_value_set_null(list->cols[col].type, cell(list, col));
    return ALM_OK;
}

void alm_list_str(alm_list *list, uint32_t col, alm_str text)
{
    const alm_view view = alm_view_of(text);
    ALM_ASSERT(alm_type_is_text(list->cols[col].type));
    memcpy(cell(list, col), &view, sizeof view);
}

void alm_list_text(alm_list *list, uint32_t col, const char *text)
{
    if (text != NULL)
        alm_list_str(list, col, alm_str_of(text));
}

void alm_list_int(alm_list *list, uint32_t col, int64_t value)
{
    void *dest = cell(list, col);
    switch (cell_width(list->cols[col].type)) {
    case 8:
        memcpy(dest, &value, 8);
        return;
    case 4:
        memcpy(dest, &(int32_t){(int32_t)value}, 4);
        return;
    case 2:
        memcpy(dest, &(int16_t){(int16_t)value}, 2);
        return;
    case 1:
        memcpy(dest, &(int8_t){(int8_t)value}, 1);
        return;
    default:
        ALM_UNREACHABLE("an integer cell of another width");
    }
}

void alm_list_bool(alm_list *list, uint32_t col, bool value)
{
    ALM_ASSERT(list->cols[col].type.id == ALM_T_BOOLEAN);
    alm_list_int(list, col, value);
}

/* ----------------------------------------------------------------------------------- source */

bool alm_list_text_arg(const alm_expr *expr, char one[4], alm_str *out)
{
    if (expr->kind != ALM_X_CONST ||
        (!alm_type_is_text(expr->value.type) && expr->value.type.id != ALM_T_CHAR))
        return false;
    if (expr->value.type.id != ALM_T_CHAR) {
        *out = alm_vec_text(&expr->value, 0);
        return true;
    }
    const uint16_t letter = *(const uint16_t *)expr->value.data;
    *out = (alm_str){one, alm_utf8_from_unit(letter, one)};
    return true;
}

/* Name of a table from a constant text argument. */
static alm_status table_arg(alm_ctx *cx, const alm_expr *expr, const char *name, alm_snapshot *snap,
                            const alm_table **out)
{
    alm_str text = {0};
    char one[4] = {0};
    if (!alm_list_text_arg(expr, one, &text))
        return alm_fail(cx, ALM_E_ARG, expr->pos, "%s: name of a table expected", name);
    if (text.ptr != NULL)
        ALM_TRY(alm_access_name(cx, "SELECT", text, expr->pos));
    *out = text.ptr == NULL ? NULL : alm_snapshot_find(snap, text);
    if (*out == NULL)
        return alm_no_table(cx, snap, text, expr->pos);
    return alm_access_any(cx, "SELECT", (*out)->name, expr->pos);
}

alm_status alm_list_bind(alm_ctx *cx, const alm_list_kind *kind, const alm_source_call *call,
                         alm_source_bound *out)
{
    const alm_table *table = NULL;
    if (call->n_args != (kind->takes_table ? 1 : 0))
        return alm_fail(cx, ALM_E_ARG, call->pos,
                        kind->takes_table ? "%s takes the name of a table"
                                          : "%s takes no arguments",
                        kind->name);
    if (kind->takes_table)
        ALM_TRY(table_arg(cx, call->args[0], kind->name, call->snap, &table));
    ALM_TRY(ALM_NEWN(cx, cx->arena, kind->n_cols, &out->cols));
    memcpy(out->cols, kind->cols, kind->n_cols * sizeof *kind->cols);
    out->n_cols = kind->n_cols;
    out->ts_col = -1;
    out->est_rows = 100;
    if (table != NULL) { /* by name: the plan may outlive the snapshot it was made with */
        const char *copy = NULL;
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(table->name), &copy));
        out->data = (void *)(uintptr_t)copy;
    }
    return ALM_OK;
}

alm_status alm_list_open(alm_ctx *cx, alm_run *run, const alm_plan *plan, const alm_plan_col *cols,
                         uint32_t n_cols, alm_list_fill fill, void **state)
{
    alm_list *list = NULL;
    alm_list_args args = {.run = run, .pos = plan->pos};
    if (plan->source.data != NULL) {
        args.table = alm_snapshot_find(run->env.snapshot, alm_str_of(plan->source.data));
        if (args.table == NULL)
            return alm_no_table(cx, run->env.snapshot, alm_str_of(plan->source.data), plan->pos);
    }
    ALM_TRY(alm_list_new(cx, cols, n_cols, &list));
    ALM_TRY(fill(cx, &args, list));
    *state = list;
    return ALM_OK;
}

alm_status alm_list_next(alm_ctx *cx, void *state, alm_arena *arena, alm_batch *out)
{
    (void)cx;
    (void)arena;
    alm_list *list = state;
    out->rows = ALM_MIN(list->n - list->at, (uint32_t)ALM_BATCH_ROWS);
    for (uint32_t col = 0; out->rows > 0 && col < list->n_cols; col++) {
        const size_t width = cell_width(list->cols[col].type);
        out->cols[col] = (alm_vec){.type = list->cols[col].type,
                                   .width = (uint8_t)width,
                                   .data = list->data[col] + list->at * width};
    }
    list->at += out->rows;
    return ALM_OK;
}

int64_t alm_list_count(const void *state)
{
    const alm_list *list = state;
    return (int64_t)list->n - list->at;
}

void alm_list_skip(void *state, int64_t rows)
{
    alm_list *list = state;
    list->at += (uint32_t)ALM_MIN(rows, (int64_t)(list->n - list->at));
}
