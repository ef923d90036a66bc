/*
 * reverse.c - see reverse.h.
 */
#include "exec/stream/reverse.h"

bool alm_reverse_can(const alm_plan *plan)
{
    for (const alm_plan *p = plan;; p = p->child[0]) {
        if (p->op == ALM_P_SCAN)
            return !p->scan.backward;
        if (p->op == ALM_P_PROJECT) {
            for (uint32_t i = 0; i < p->n_cols; i++)
                if (alm_eval_expr_volatile(p->project.expr[i]))
                    return false;
        } else if (p->op == ALM_P_FILTER) {
            for (uint32_t i = 0; i < p->filter.n; i++)
                if (alm_eval_expr_volatile(p->filter.conjunct[i]))
                    return false;
        } else {
            return p->op == ALM_P_SAMPLE && alm_sample_turns(&p->sample) && !p->sample.backward;
        }
    }
}

alm_status alm_reverse_plan(alm_ctx *cx, const alm_plan *plan, alm_plan **out)
{
    ALM_TRY(ALM_NEW(cx, cx->arena, out));
    **out = *plan;
    if (plan->op == ALM_P_SCAN) {
        (*out)->scan.backward = true;
        return ALM_OK;
    }
    if (plan->op == ALM_P_SAMPLE) {
        (*out)->sample.backward = true;
        return ALM_OK;
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &(*out)->child));
    return alm_reverse_plan(cx, plan->child[0], &(*out)->child[0]);
}
