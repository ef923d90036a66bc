/* aggs.h - what nodes with aggregates share; private to sql/node. */
#ifndef ALM_SQL_NODE_AGGS_H
#define ALM_SQL_NODE_AGGS_H

#include "sql/node/prune.h"

/* The aggregates of a node, behind `first` other columns. */
typedef struct alm_agg_list {
    uint32_t first;
    alm_agg_call *aggs;
    uint32_t *n_aggs;
    alm_fill_spec *fill; /* SAMPLE BY: one per aggregate, or NULL */
    bool keep_one;       /* without any the node would mean something else */
} alm_agg_list;

/* Aggregates that nobody reads go, and with them their columns. */
ALM_NODISCARD alm_status alm_prune_aggs(alm_planner *planner, alm_plan *plan, const bool *need,
                                        const alm_agg_list *list, uint32_t **map);
/* Then the child gives what the node still reads, and column `time` of it (ALM_PRUNE_NONE: none). */
ALM_NODISCARD alm_status alm_prune_under_aggs(alm_planner *planner, alm_plan *plan, uint32_t time,
                                              uint32_t **below);

#endif
