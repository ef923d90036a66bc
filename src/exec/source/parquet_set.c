/*
 * parquet_set.c - see parquet_set.h.
 *
 * Types       Whole numbers unite to the widest of them, with floating ones to DOUBLE; FLOAT with DOUBLE to that;
 *             texts to VARCHAR; times to the finest unit of them. Other differences are an error that names both files.
 */
#include "exec/source/parquet_set.h"

#include <stdio.h>

#include "base/access.h"
#include "codec/parquet/reader.h"
#include "exec/source/list.h"
#include "type/text.h"

/* ------------------------------------------------------------------------------------ arguments */

static alm_status parquet_set_place(alm_ctx *cx, alm_status status, int32_t pos)
{
    if (status != ALM_OK && cx->err.sql_pos < 0)
        cx->err.sql_pos = pos;
    return status;
}

static alm_status open_all(alm_ctx *cx, const char *pattern, const alm_pq_file *const **out,
                           const char *const **paths, uint32_t *n)
{
    const char *folder = NULL;
    const alm_pq_file **file = NULL;
    if (cx->lookup == NULL || cx->lookup->import_folder == NULL || cx->io == NULL)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1, "there are no files to read here");
    ALM_TRY(cx->lookup->import_folder(cx, cx->lookup->arg, cx->arena, &folder));
    ALM_TRY(alm_pq_files_find(cx, cx->arena, folder, pattern, paths, n));
    ALM_TRY(ALM_NEWN(cx, cx->arena, *n, &file));
    for (uint32_t i = 0; i < *n; i++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_pq_files_open(cx, cx->arena, folder, (*paths)[i], &file[i]));
    }
    *out = file;
    return ALM_OK;
}

alm_status alm_parquet_files(alm_ctx *cx, const char *function, const alm_source_call *call,
                             const alm_pq_file *const **out, const char *const **paths, uint32_t *n)
{
    char one[4] = {0};
    alm_str text = {0};
    const char *pattern = NULL;
    ALM_TRY(alm_access_may(cx, "READ FILE", NULL, call->pos));
    if (call->n_args != 1)
        return alm_fail(cx, ALM_E_ARG, call->pos, "%s takes one argument: %s(STRING constant)",
                        function, function);
    if (!alm_list_text_arg(call->args[0], one, &text))
        return alm_fail(cx, ALM_E_ARG, call->args[0]->pos, "%s: STRING constant expected, got %s",
                        function, alm_type_name(call->args[0]->type));
    if (text.len == 0 || memchr(text.ptr, 0, text.len) != NULL)
        return alm_fail(cx, ALM_E_ARG, call->args[0]->pos, "%s: the name of a file is missing",
                        function);
    ALM_TRY(alm_arena_zstr(cx, cx->arena, text, &pattern));
    return parquet_set_place(cx, open_all(cx, pattern, out, paths, n), call->args[0]->pos);
}

/* ---------------------------------------------------------------------------------------- types */

static bool parquet_set_is_class(alm_type type, alm_type_class cls)
{
    return alm_type_info_of(type)->cls == cls;
}

static bool unite_types(alm_type a, alm_type b, alm_type *out)
{
    const bool int_a = parquet_set_is_class(a, ALM_TC_INTEGER),
               int_b = parquet_set_is_class(b, ALM_TC_INTEGER);
    const bool num_a = int_a || parquet_set_is_class(a, ALM_TC_FLOATING);
    const bool num_b = int_b || parquet_set_is_class(b, ALM_TC_FLOATING);
    *out = a;
    if (alm_type_eq(a, b))
        return true;
    if (int_a && int_b)
        *out = alm_type_width(a) >= alm_type_width(b) ? a : b;
    else if (num_a && num_b)
        *out = ALM_TY(DOUBLE);
    else if (alm_type_is_text(a) && alm_type_is_text(b))
        *out = ALM_TY(VARCHAR);
    else if (parquet_set_is_class(a, ALM_TC_TIME) && parquet_set_is_class(b, ALM_TC_TIME))
        *out = a.id > b.id ? a : b; /* DATE, TIMESTAMP, TIMESTAMP_NS */
    else
        return false;
    return true;
}

static alm_status widen_ints(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, uint32_t n_rows,
                             alm_type target, alm_vec *out)
{
    ALM_TRY(alm_vec_new(cx, arena, target, n_rows, out));
    const bool real = target.id == ALM_T_DOUBLE;
    for (uint32_t i = 0; i < n_rows; i++) {
        int64_t value = 0;
        bool null = false;
        if (vec->type.id == ALM_T_BYTE)
            value = ((const int8_t *)vec->data)[i];
        else if (vec->type.id == ALM_T_SHORT)
            value = ((const int16_t *)vec->data)[i];
        else if (vec->type.id == ALM_T_INT)
            null = (value = ((const int32_t *)vec->data)[i]) == ALM_INT_NULL;
        else
            null = (value = ((const int64_t *)vec->data)[i]) == ALM_LONG_NULL;
        if (real)
            ((double *)out->data)[i] = null ? __builtin_nan("") : (double)value;
        else if (target.id == ALM_T_LONG)
            ((int64_t *)out->data)[i] = null ? ALM_LONG_NULL : value;
        else if (target.id == ALM_T_INT)
            ((int32_t *)out->data)[i] = (int32_t)value;
        else
            ((int16_t *)out->data)[i] = (int16_t)value;
    }
    return ALM_OK;
}

static alm_status refine_times(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, uint32_t n_rows,
                               alm_type target, alm_vec *out)
{
    const int64_t factor =
        vec->type.id == ALM_T_DATE && target.id == ALM_T_TIMESTAMP_NS ? 1000000 : 1000;
    bool over = false;
    ALM_TRY(alm_vec_new(cx, arena, target, n_rows, out));
    for (uint32_t i = 0; i < n_rows; i++) {
        const int64_t x = ((const int64_t *)vec->data)[i];
        int64_t y = 0;
        over |= x != ALM_TS_NULL && __builtin_mul_overflow(x, factor, &y);
        ((int64_t *)out->data)[i] = x == ALM_TS_NULL ? x : y;
    }
    return over ? alm_fail(cx, ALM_E_TIME_RANGE, -1, "a time is beyond the range of %s",
                           alm_type_name(target))
                : ALM_OK;
}

alm_status alm_parquet_cast(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, uint32_t n_rows,
                            alm_type target, alm_vec *out)
{
    if (alm_type_eq(vec->type, target)) {
        *out = *vec;
        return ALM_OK;
    }
    if (parquet_set_is_class(vec->type, ALM_TC_INTEGER))
        return widen_ints(cx, arena, vec, n_rows, target, out);
    if (parquet_set_is_class(vec->type, ALM_TC_TIME))
        return refine_times(cx, arena, vec, n_rows, target, out);
    if (vec->type.id == ALM_T_FLOAT) {
        ALM_TRY(alm_vec_new(cx, arena, target, n_rows, out));
        for (uint32_t i = 0; i < n_rows; i++)
            ((double *)out->data)[i] = (double)((const float *)vec->data)[i];
        return ALM_OK;
    }
    ALM_ASSERT(alm_type_is_text(vec->type) && alm_type_is_text(target));
    *out = *vec;
    out->type = target;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------------- columns */

typedef struct uniting {
    alm_ctx *cx;
    int32_t pos;
    alm_parquet_set *set;
    const char **first_in; /* by column: the file it appeared in first */
    uint32_t cap;
} uniting;

static int32_t parquet_set_find_col(const alm_parquet_set *set, alm_str name, uint32_t guess)
{
    if (guess < set->n_cols && alm_str_ieq(alm_str_of(set->col[guess].name), name))
        return (int32_t)guess;
    for (uint32_t i = 0; i < set->n_cols; i++)
        if (alm_str_ieq(alm_str_of(set->col[i].name), name))
            return (int32_t)i;
    return -1;
}

static alm_status parquet_set_add_col(uniting *self, const char *name, alm_type type,
                                      const char *path)
{
    alm_parquet_set *set = self->set;
    if (set->n_cols == self->cap) {
        const uint32_t cap = ALM_MAX(2 * self->cap, 32U);
        alm_plan_col *wider = NULL;
        const char **first_in = NULL;
        if (set->n_cols >= ALM_PQ_COLUMNS_MAX)
            return alm_fail(self->cx, ALM_E_LIMIT, self->pos, "the files have more than %d columns",
                            ALM_PQ_COLUMNS_MAX);
        ALM_TRY(ALM_NEWN(self->cx, self->cx->arena, cap, &wider));
        ALM_TRY(ALM_NEWN(self->cx, self->cx->arena, cap, &first_in));
        if (set->n_cols > 0) {
            memcpy(wider, set->col, set->n_cols * sizeof *wider);
            memcpy(first_in, self->first_in, set->n_cols * sizeof *first_in);
        }
        set->col = wider;
        self->first_in = first_in;
        self->cap = cap;
    }
    set->col[set->n_cols] = (alm_plan_col){name, type};
    self->first_in[set->n_cols++] = path;
    return ALM_OK;
}

static alm_status parquet_set_take_columns(uniting *self, const alm_pq_file *file, const char *path)
{
    uint32_t n_cols = 0;
    const alm_pq_read_col *col = alm_pq_columns(file, &n_cols);
    for (uint32_t i = 0; i < n_cols; i++) {
        const int32_t at = parquet_set_find_col(self->set, alm_str_of(col[i].name), i);
        if (at < 0) {
            ALM_TRY(parquet_set_add_col(self, col[i].name, col[i].type, path));
            continue;
        }
        alm_plan_col *have = &self->set->col[at];
        alm_type type = have->type;
        if (col[i].refused == NULL && !unite_types(have->type, col[i].type, &type)) {
            char name[64]; /* names of types with parameters share a buffer */
            (void)snprintf(name, sizeof name, "%s", alm_type_name(have->type));
            return alm_fail(self->cx, ALM_E_TYPE, self->pos,
                            "column '%s' is %s in '%s' and %s in '%s'", have->name, name,
                            self->first_in[at], alm_type_name(col[i].type), path);
        }
        have->type = type;
    }
    return ALM_OK;
}

static bool parquet_set_is_whole(alm_str text)
{
    int64_t value = 0;
    return alm_value_scan(ALM_TY(LONG), text, &value) == ALM_SCAN_OK && value != ALM_LONG_NULL;
}

/* Names of folders of all files; their values are LONG where all are whole numbers, else VARCHAR. */
static alm_status take_folders(uniting *self, alm_pq_folder_value *const *value, const uint32_t *n,
                               uint32_t n_files, const char *const *paths)
{
    const uint32_t n_own = self->set->n_cols;
    for (uint32_t file = 0; file < n_files; file++)
        for (uint32_t k = 0; k < n[file]; k++) {
            const char *name = NULL;
            const alm_pq_folder_value *folder_value = &value[file][k];
            int32_t at = parquet_set_find_col(self->set, folder_value->name, n_own + k);
            if (at < 0) {
                at = (int32_t)self->set->n_cols;
                ALM_TRY(alm_arena_zstr(self->cx, self->cx->arena, folder_value->name, &name));
                ALM_TRY(parquet_set_add_col(self, name, ALM_TY(LONG), paths[file]));
            }
            if ((uint32_t)at >= n_own && folder_value->value.ptr != NULL &&
                !parquet_set_is_whole(folder_value->value))
                self->set->col[at].type = ALM_TY(VARCHAR);
        }
    return ALM_OK;
}

static alm_status parquet_set_place_columns(uniting *self, alm_parquet_file *file,
                                            const alm_pq_folder_value *value, uint32_t n_values)
{
    alm_ctx *cx = self->cx;
    const alm_parquet_set *set = self->set;
    uint32_t n = 0;
    const alm_pq_read_col *col = alm_pq_columns(file->file, &n);
    ALM_TRY(ALM_NEWN(cx, cx->arena, set->n_cols + 1, &file->col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, set->n_cols + 1, &file->folder));
    for (uint32_t i = 0; i < set->n_cols; i++)
        file->col[i] = ALM_PARQUET_NONE;
    for (uint32_t i = n; i-- > 0;)
        file->col[parquet_set_find_col(set, alm_str_of(col[i].name), i)] = (int32_t)i;
    for (uint32_t k = 0; k < n_values; k++) {
        const int32_t at = parquet_set_find_col(set, value[k].name, UINT32_MAX);
        if (file->col[at] != ALM_PARQUET_NONE)
            continue;
        file->col[at] = ALM_PARQUET_FOLDER;
        const alm_type type = set->col[at].type;
        if (value[k].value.ptr == NULL)
            ALM_TRY(alm_vec_null(cx, cx->arena, type, &file->folder[at]));
        else
            ALM_TRY(
                alm_vec_parse(cx, cx->arena, self->pos, type, value[k].value, &file->folder[at]));
    }
    return ALM_OK;
}

static alm_status parquet_set_add_codes(alm_ctx *cx, alm_parquet_set *set)
{
    alm_plan_col *col = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, 2 * (size_t)set->n_cols + 1, &col));
    for (uint32_t i = 0; i < set->n_cols; i++) {
        col[i] = set->col[i];
        col[set->n_cols + i] = (alm_plan_col){set->col[i].name, ALM_TY(SYMBOL)};
    }
    set->col = col;
    return ALM_OK;
}

alm_status alm_parquet_unite(alm_ctx *cx, int32_t pos, const alm_pq_file *const *files,
                             const char *const *paths, uint32_t n, alm_parquet_set **out)
{
    uniting self = {.cx = cx, .pos = pos};
    alm_pq_folder_value **value = NULL;
    uint32_t *n_values = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self.set));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &self.set->file));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &value));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &n_values));
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(parquet_set_take_columns(&self, files[i], paths[i]));
        ALM_TRY(alm_pq_folder_values(cx, cx->arena, paths[i], &value[i], &n_values[i]));
        self.set->rows += (double)alm_pq_rows(files[i]);
    }
    ALM_TRY(take_folders(&self, value, n_values, n, paths));
    self.set->n_files = n;
    for (uint32_t i = 0; i < n; i++) {
        self.set->file[i].file = files[i];
        ALM_TRY(parquet_set_place_columns(&self, &self.set->file[i], value[i], n_values[i]));
    }
    *out = self.set;
    return parquet_set_add_codes(cx, self.set);
}
