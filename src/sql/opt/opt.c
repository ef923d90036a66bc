/* opt.c - runs the rules of opt.def and numbers the nodes. */
#include "sql/opt/opt.h"
#include "sql/node/check.h"
#include "sql/node/prune.h"
#include "sql/plan/access.h"

typedef struct rule {
    const char *name;
    alm_status (*run)(alm_planner *p, alm_plan **plan);
} rule;

static const rule RULES[] = {
#define ALM_RULE(name, doc) {#name, alm_rule_##name},
#include "sql/opt/opt.def"
#undef ALM_RULE
};

#ifdef ALM_DEBUG
enum { CHECK_EACH = 1 };
#else
enum { CHECK_EACH = 0 };
#endif

/* Is the rule in the comma list? */
static bool is_off(const char *list, const char *name)
{
    const size_t n = strlen(name);
    while (list != NULL && *list != '\0') {
        const char *comma = strchr(list, ',');
        const size_t len = comma != NULL ? (size_t)(comma - list) : strlen(list);
        if (len == n && memcmp(list, name, n) == 0)
            return true;
        list = comma != NULL ? comma + 1 : NULL;
    }
    return false;
}

static void opt_number(alm_plan *plan, uint32_t *next)
{
    plan->id = (*next)++;
    if (plan->op == ALM_P_SHARED && plan->shared.of->id == 0)
        opt_number(plan->shared.of, next);
    for (uint32_t i = 0; i < plan->n_children; i++)
        opt_number(plan->child[i], next);
}

/* These two look at the plan and at what it shares together; others take each on its own. */
static bool opt_is_whole(const rule *applied)
{
    return applied->run == alm_rule_share || applied->run == alm_rule_prune;
}

static alm_status run_rule(alm_planner *planner, const rule *applied, alm_plan **plan)
{
    for (uint32_t kept = 0; kept < planner->n_kept && !opt_is_whole(applied); kept++)
        if (planner->kept[kept]->materialise.refs > 0)
            ALM_TRY(applied->run(planner, &planner->kept[kept]->child[0]));
    return applied->run(planner, plan);
}

static alm_status opt_check(alm_planner *planner, alm_plan *plan, const char *when)
{
    const alm_status status = alm_plan_check(planner, plan, when, CHECK_EACH != 0);
#ifdef ALM_DEBUG
    if (status == ALM_E_INTERNAL)
        alm_assert_failed(planner->cx->err.msg, when, 0);
#endif
    return status;
}

alm_status alm_optimise(alm_planner *planner, alm_plan **plan)
{
    const uint32_t n_nameds = (*plan)->n_cols;
    const alm_plan_col *cols = (*plan)->cols;
    ALM_TRY(alm_check_reads(planner));
    alm_plan_count_shared(planner, *plan);
    ALM_TRY(opt_check(planner, *plan, "binding"));
    for (size_t i = 0; i < ALM_COUNT(RULES); i++) {
        if (is_off(planner->env->opt_off, RULES[i].name))
            continue;
        ALM_TRY(run_rule(planner, &RULES[i], plan));
        if (CHECK_EACH || i + 1 == ALM_COUNT(RULES))
            ALM_TRY(opt_check(planner, *plan, RULES[i].name));
    }
    /* names inside the plan mean nothing, those of the result are the statement's */
    ALM_ASSERT((*plan)->n_cols == n_nameds);
    alm_plan_col *named = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_nameds + 1, &named));
    for (uint32_t i = 0; i < n_nameds; i++)
        named[i] = (alm_plan_col){cols[i].name, (*plan)->cols[i].type};
    (*plan)->cols = named;
    uint32_t next = 0;
    opt_number(*plan, &next);
    return alm_check_scans(planner, *plan);
}

static alm_status opt_trim(alm_planner *planner, alm_plan **plan)
{
    return (*plan)->op == ALM_P_SCAN ? alm_prune_filtered(planner, *plan) : ALM_OK;
}

alm_status alm_optimise_instance(alm_planner *planner, alm_plan **plan)
{
    static const rule late[] = {{"constants", alm_rule_constants},
                                {"interval", alm_rule_interval},
                                {"in_list", alm_rule_in_list},
                                {"symbol", alm_rule_symbol},
                                {"estimate", alm_rule_estimate}};
    uint32_t next = 0;
    for (size_t i = 0; i < ALM_COUNT(late); i++)
        if (!is_off(planner->env->opt_off, late[i].name))
            ALM_TRY(late[i].run(planner, plan));
    ALM_TRY(alm_plan_bottom_up(planner, plan, opt_trim));
    opt_number(*plan, &next);
    return CHECK_EACH ? opt_check(planner, *plan, "an instance") : ALM_OK;
}
