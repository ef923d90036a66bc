/* pushdown.c - conditions move down as far as they mean the same (node/push.h). */
#include "sql/node/push.h"
#include "sql/opt/opt.h"

alm_status alm_rule_pushdown(alm_planner *planner, alm_plan **plan)
{
    alm_exprs none = {0};
    return alm_push(planner, plan, &none);
}
