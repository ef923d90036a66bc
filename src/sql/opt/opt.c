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

static void number(alm_plan *plan, uint32_t *next)
{
    plan->id = (*next)++;
    if (plan->op == ALM_P_SHARED && plan->shared.of->id == 0)
        number(plan->shared.of, next);
    for (uint32_t i = 0; i < plan->n_children; i++)
        number(plan->child[i], next);
}

/* These two look at the plan and at what it shares together; others take each on its own. */
static bool is_whole(const rule *r)
{
    return r->run == alm_rule_share || r->run == alm_rule_prune;
}

static alm_status run_rule(alm_planner *p, const rule *r, alm_plan **plan)
{
    for (uint32_t k = 0; k < p->n_kept && !is_whole(r); k++)
        if (p->kept[k]->materialise.refs > 0)
            ALM_TRY(r->run(p, &p->kept[k]->child[0]));
    return r->run(p, plan);
}

static alm_status check(alm_planner *p, alm_plan *plan, const char *when)
{
    const alm_status st = alm_plan_check(p, plan, when, CHECK_EACH != 0);
#ifdef ALM_DEBUG
    if (st == ALM_E_INTERNAL)
        alm_assert_failed(p->cx->err.msg, when, 0);
#endif
    return st;
}

alm_status alm_optimise(alm_planner *p, alm_plan **plan)
{
    const uint32_t n = (*plan)->n_cols;
    const alm_plan_col *cols = (*plan)->cols;
    ALM_TRY(alm_check_reads(p));
    alm_plan_count_shared(p, *plan);
    ALM_TRY(check(p, *plan, "binding"));
    for (size_t i = 0; i < ALM_COUNT(RULES); i++) {
        if (is_off(p->env->opt_off, RULES[i].name))
            continue;
        ALM_TRY(run_rule(p, &RULES[i], plan));
        if (CHECK_EACH || i + 1 == ALM_COUNT(RULES))
            ALM_TRY(check(p, *plan, RULES[i].name));
    }
    /* names inside the plan mean nothing, those of the result are the statement's */
    ALM_ASSERT((*plan)->n_cols == n);
    alm_plan_col *named = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &named));
    for (uint32_t i = 0; i < n; i++)
        named[i] = (alm_plan_col){cols[i].name, (*plan)->cols[i].type};
    (*plan)->cols = named;
    uint32_t next = 0;
    number(*plan, &next);
    return alm_check_scans(p, *plan);
}

static alm_status trim(alm_planner *p, alm_plan **plan)
{
    return (*plan)->op == ALM_P_SCAN ? alm_prune_filtered(p, *plan) : ALM_OK;
}

alm_status alm_optimise_instance(alm_planner *p, alm_plan **plan)
{
    static const rule late[] = {{"constants", alm_rule_constants},
                                {"interval", alm_rule_interval},
                                {"in_list", alm_rule_in_list},
                                {"symbol", alm_rule_symbol},
                                {"estimate", alm_rule_estimate}};
    uint32_t next = 0;
    for (size_t i = 0; i < ALM_COUNT(late); i++)
        if (!is_off(p->env->opt_off, late[i].name))
            ALM_TRY(late[i].run(p, plan));
    ALM_TRY(alm_plan_bottom_up(p, plan, trim));
    number(*plan, &next);
    return CHECK_EACH ? check(p, *plan, "an instance") : ALM_OK;
}
