/*
 * origin.c - see origin.h.
 */
#include "exec/eval/origin.h"

#include "exec/source/source.h"

bool alm_origin_of(const alm_plan *plan, const alm_expr *expr, alm_origin *out)
{
    bool filtered = false;
    for (const alm_plan *p = plan; expr->kind == ALM_X_COL; p = p->child[0]) {
        if (p->op == ALM_P_SCAN) {
            const uint32_t place = p->scan.cols[expr->col];
            if (place == ALM_SCAN_ROW)
                return false;
            *out = (alm_origin){.scan = p,
                                .scan_col = expr->col,
                                .column = &p->scan.table->cols[place],
                                .filtered = filtered || p->scan.n_filters > 0};
            return true;
        }
        if (p->op == ALM_P_PROJECT)
            expr = p->project.expr[expr->col];
        else if (p->op == ALM_P_FILTER)
            filtered = true;
        else
            return false;
    }
    return false;
}

const alm_dict *alm_origin_dict(const alm_plan *plan, const alm_expr *expr)
{
    if (expr->kind != ALM_X_COL || expr->type.id != ALM_T_SYMBOL)
        return NULL;
    uint32_t col = expr->col;
    const alm_plan *p = plan;
    for (;;) {
        if (p->op == ALM_P_SCAN) {
            const uint32_t place = p->scan.cols[col];
            return place == ALM_SCAN_ROW ? NULL : p->scan.table->cols[place].dict;
        }
        if (p->op == ALM_P_PROJECT) {
            if (p->project.expr[col]->kind != ALM_X_COL)
                return NULL;
            col = p->project.expr[col]->col;
        } else if (p->op == ALM_P_JOIN) {
            const uint8_t kind = p->join.kind;
            const uint32_t n_left = p->child[0]->n_cols;
            if (kind == ALM_JOIN_RIGHT || kind == ALM_JOIN_FULL || kind == ALM_JOIN_SPLICE)
                return NULL; /* left columns may be nulls of any form */
            const bool right = col >= n_left;
            p = p->child[right];
            col -= right ? n_left : 0;
            continue;
        } else if (p->op == ALM_P_SOURCE && p->source.all != NULL) {
            const alm_source *source = p->source.function;
            return source->scan->dict != NULL
                       ? source->scan->dict(p->source.data, p->source.cols[col])
                       : NULL;
        } else if (p->op == ALM_P_HORIZON || p->op == ALM_P_WINDOW_JOIN) {
            if (col >= p->child[0]->n_cols)
                return NULL;
        } else if (p->op != ALM_P_FILTER) {
            return NULL;
        }
        p = p->child[0];
    }
}
