/*
 * origin.c - see origin.h.
 */
#include "exec/origin.h"

bool alm_origin_of(const alm_plan *plan, const alm_expr *e, alm_origin *out)
{
    bool filtered = false;
    for (const alm_plan *p = plan; e->kind == ALM_X_COL; p = p->child[0]) {
        if (p->op == ALM_P_SCAN) {
            const uint32_t at = p->scan.cols[e->col];
            if (at == ALM_SCAN_ROW)
                return false;
            *out = (alm_origin){.scan = p,
                                .scan_col = e->col,
                                .column = &p->scan.table->cols[at],
                                .filtered = filtered || p->scan.n_filters > 0};
            return true;
        }
        if (p->op == ALM_P_PROJECT)
            e = p->project.expr[e->col];
        else if (p->op == ALM_P_FILTER)
            filtered = true;
        else
            return false;
    }
    return false;
}
