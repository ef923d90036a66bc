/* prune.c - every node gives only the columns somebody above reads; scans read no others (node/prune.h). */
#include "sql/node/prune.h"
#include "sql/opt/opt.h"

alm_status alm_rule_prune(alm_planner *planner, alm_plan **plan)
{
    return alm_prune_plan(planner, plan);
}
