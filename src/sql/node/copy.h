/* copy.h - copies of plans whose lists are their own; private to sql/. */
#ifndef ALM_SQL_NODE_COPY_H
#define ALM_SQL_NODE_COPY_H

#include "sql/node/ops.h"
#include "sql/plan/make.h"

/* Nodes and lists are new, expressions are shared. */
ALM_NODISCARD alm_status alm_plan_copy(alm_planner *p, const alm_plan *plan, alm_plan **out);

/* A copy of `bytes` in the planner's arena; NULL for none. */
ALM_NODISCARD alm_status alm_copy_bytes(alm_planner *planner, const void *from, size_t bytes,
                                        void **out);
ALM_NODISCARD alm_status alm_copy_aggs(alm_planner *p, alm_agg_call **aggs, uint32_t n);

/* Replaces a list of a node that was copied by a list of its own. In functions that return a status and have the planner p. */
#define ALM_COPY_LIST(field, n)                                                                    \
    do {                                                                                           \
        void *list_ = NULL;                                                                        \
        ALM_TRY(alm_copy_bytes(p, (field), (size_t)(n) * sizeof *(field), &list_));                \
        (field) = list_;                                                                           \
    } while (0)

#endif
