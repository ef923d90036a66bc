/*
 * explain.h - plans as text and as JSON; private to sql/. The files of nodes write what is special to them with these
 * functions; errors are those of memory.
 */
#ifndef ALM_SQL_NODE_EXPLAIN_H
#define ALM_SQL_NODE_EXPLAIN_H

#include "sql/node/ops.h"

struct alm_printer {
    alm_ctx *cx;
    alm_buf buf;
    const char **lines;
    const alm_plan **nodes;
    uint32_t n, cap, cap_nodes;
};

ALM_NODISCARD alm_status alm_print(alm_printer *printer, const char *text);
ALM_NODISCARD alm_status alm_print_time(alm_printer *printer, int64_t ticks, alm_type type);
ALM_NODISCARD alm_status alm_print_const(alm_printer *printer, const alm_expr *expr);
/* An expression over the columns of left, then those of right (or NULL). right == left: over the columns that a scan reads. */
ALM_NODISCARD alm_status alm_print_expr(alm_printer *printer, const alm_expr *expr,
                                        const alm_plan *left, const alm_plan *right);
ALM_NODISCARD alm_status alm_print_list(alm_printer *printer, alm_expr *const *list, uint32_t n,
                                        const alm_plan *left, const alm_plan *right);
/* Conditions behind a label, joined by "and"; nothing if there are none. */
ALM_NODISCARD alm_status alm_print_conjuncts(alm_printer *printer, const char *label,
                                             alm_expr *const *list, uint32_t n,
                                             const alm_plan *left, const alm_plan *right);
ALM_NODISCARD alm_status alm_print_keys(alm_printer *printer, const char *label,
                                        alm_expr *const *keys, uint32_t n, const alm_plan *child);
ALM_NODISCARD alm_status alm_print_sort_keys(alm_printer *printer, const alm_sort_key *keys,
                                             uint32_t n_keys, const alm_plan *child);
ALM_NODISCARD alm_status alm_print_aggs(alm_printer *printer, const alm_agg_call *aggs,
                                        uint32_t n_aggs, const alm_plan *child);

/* "name": "value" of the JSON object of a node (explain_json.c). */
ALM_NODISCARD alm_status alm_explain_json_text(alm_explain_json *json, const char *name,
                                               const char *value);

#endif
