/* check.h - checks that the parts of a plan fit together; private to sql/. */
#ifndef ALM_SQL_CHECK_H
#define ALM_SQL_CHECK_H

#include "sql/plan/expr.h"

/* ALM_E_INTERNAL if they do not. `when` is named in the message. owners: check too that each list of expressions
 * belongs to one node. */
ALM_NODISCARD alm_status alm_plan_check(alm_planner *p, alm_plan *plan, const char *when,
                                        bool owners);

#endif
