/*
 * prune.h - every node gives only the columns somebody above reads; scans read no others. Private to sql/.
 *
 * Method      Top down with a set of wanted columns, bottom up with a map from old to new numbers. A
 *             node may still give more than wanted (what its own conditions read); parents renumber.
 */
#ifndef ALM_SQL_NODE_PRUNE_H
#define ALM_SQL_NODE_PRUNE_H

#include "sql/node/ops.h"
#include "sql/plan/make.h"

#define ALM_PRUNE_NONE UINT32_MAX /* in a map: the column is gone */

/* The plan and what it shares; the root gives exactly its columns, in their order. */
ALM_NODISCARD alm_status alm_prune_plan(alm_planner *planner, alm_plan **plan);
/* A scan no longer reads what only conditions read that are gone. */
ALM_NODISCARD alm_status alm_prune_filtered(alm_planner *planner, alm_plan *scan);

/* ---------------------------------------------------------------- for the files of nodes */

/* need[n_cols]: columns that are read above. (*map)[n_cols]: their numbers afterwards. */
ALM_NODISCARD alm_status alm_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                                   uint32_t **map);
ALM_NODISCARD alm_status alm_prune_flags(alm_planner *planner, uint32_t n,
                                         bool **out); /* all false */
ALM_NODISCARD alm_status alm_prune_identity(alm_planner *planner, uint32_t n, uint32_t **map);

/* Visitors: sets flags of the columns that are read; gives columns their new numbers. */
bool alm_prune_mark_col(void *flags, const alm_expr *col);
ALM_NODISCARD alm_status alm_prune_mark(void *flags, alm_expr **expr);
typedef struct alm_prune_map {
    alm_ctx *cx;
    const uint32_t *map;
} alm_prune_map;
ALM_NODISCARD alm_status alm_prune_renumber(void *map, alm_expr **expr);

int32_t alm_prune_mapped(const uint32_t *map, int32_t col); /* -1: none, or gone */
void alm_prune_take_child(alm_plan *plan); /* its columns are those of its only child */
/* A node that passes its child's columns on. */
ALM_NODISCARD alm_status alm_prune_passing(alm_planner *planner, alm_plan **slot, const bool *need,
                                           uint32_t **map);
/* A SCAN, or a SOURCE that is scanned: (*of)[*n_of] are the columns it reads, the first *n_out its result. */
ALM_NODISCARD alm_status alm_prune_leaf(alm_planner *planner, alm_plan *plan, const bool *need,
                                        uint32_t **map, uint32_t **of, uint32_t *n_of,
                                        uint32_t *n_out);
/* The child gives exactly the wanted columns, in their order; map is what alm_prune gave. */
ALM_NODISCARD alm_status alm_prune_exact(alm_planner *planner, alm_plan **slot, const bool *need,
                                         uint32_t n_needs, const uint32_t *map);

typedef struct alm_shared_use alm_shared_use;
struct
    alm_shared_use { /* a SHARED of a MATERIALISE: its columns are renumbered when all uses are known */
    alm_plan *node;
    alm_shared_use *next;
};

#endif
