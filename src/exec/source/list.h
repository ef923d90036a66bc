/*
 * list.h - table functions whose rows are few and known at once: lists of tables, columns,
 * settings, functions. A source of this kind is an array of columns and a function that fills rows.
 *
 * Ownership   Texts are borrowed: they live as long as the snapshot, or in cx->arena.
 * Null rule   A text of NULL is null; cells not set are null (false for BOOLEAN, 0 for SHORT).
 */
#ifndef ALM_EXEC_SOURCE_LIST_H
#define ALM_EXEC_SOURCE_LIST_H

#include "exec/source/source.h"

typedef struct alm_list {
    const alm_plan_col *cols;
    uint32_t n_cols;
    uint32_t n, cap, at;
    char **data; /* by column */
} alm_list;

typedef struct alm_list_args {
    alm_run *run;
    const alm_table *table; /* of a source that takes a table name */
    int32_t pos;            /* of the call */
} alm_list_args;

typedef alm_status (*alm_list_fill)(alm_ctx *cx, const alm_list_args *args, alm_list *list);

ALM_NODISCARD alm_status alm_list_new(alm_ctx *cx, const alm_plan_col *cols, uint32_t n_cols,
                                      alm_list **out);
/* A new row of nulls; the setters below write to the newest row. */
ALM_NODISCARD alm_status alm_list_row(alm_ctx *cx, alm_list *list);
void alm_list_text(alm_list *list, uint32_t col, const char *text);
void alm_list_str(alm_list *list, uint32_t col, alm_str text);
void alm_list_int(alm_list *list, uint32_t col, int64_t value); /* any integer or time type, CHAR */
void alm_list_bool(alm_list *list, uint32_t col, bool value);

/* "17.0 KiB", in cx->arena. */
ALM_NODISCARD alm_status alm_list_bytes(alm_ctx *cx, int64_t bytes, const char **out);
/* Text of a constant argument; a literal of one letter is a CHAR, kept in `one`. false: it is none. */
bool alm_list_text_arg(const alm_expr *expr, char one[4], alm_str *out);

/* The parts of alm_source, for ALM_LIST_SOURCE. */
typedef struct alm_list_kind {
    const char *name;
    bool takes_table; /* the name of one */
    const alm_plan_col *cols;
    uint32_t n_cols;
} alm_list_kind;
ALM_NODISCARD alm_status alm_list_bind(alm_ctx *cx, const alm_list_kind *kind,
                                       const alm_source_call *call, alm_source_bound *out);
ALM_NODISCARD alm_status alm_list_open(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                       const alm_plan_col *cols, uint32_t n_cols,
                                       alm_list_fill fill, void **state);
ALM_NODISCARD alm_status alm_list_next(alm_ctx *cx, void *state, alm_arena *arena, alm_batch *out);
int64_t alm_list_count(const void *state);
void alm_list_skip(void *state, int64_t rows);

/* Defines `alm_source_<id>` from an array of columns and a fill function. */
#define ALM_LIST_SOURCE(id, sql_name, takes_table, columns, fill, doc_, example_)                  \
    static alm_status id##_bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)   \
    {                                                                                              \
        static const alm_list_kind kind = {sql_name, takes_table, columns, ALM_COUNT(columns)};    \
        return alm_list_bind(cx, &kind, call, out);                                                \
    }                                                                                              \
    static alm_status id##_open(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)     \
    {                                                                                              \
        return alm_list_open(cx, run, plan, columns, ALM_COUNT(columns), fill, state);             \
    }                                                                                              \
    const alm_source alm_source_##id = {.name = sql_name,                                          \
                                        .signature = takes_table ? "(table STRING)" : "()",        \
                                        .doc = doc_,                                               \
                                        .example = example_,                                       \
                                        .bind = id##_bind,                                         \
                                        .open = id##_open,                                         \
                                        .next = alm_list_next,                                     \
                                        .count = alm_list_count,                                   \
                                        .skip = alm_list_skip}

#endif
