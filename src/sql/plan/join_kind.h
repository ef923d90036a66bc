/* join_kind.h - how an item of FROM joins the items before it; shared by syntax trees and plans. */
#ifndef ALM_SQL_JOIN_KIND_H
#define ALM_SQL_JOIN_KIND_H

typedef enum alm_join_kind {
    ALM_JOIN_NONE, /* the first item */
    ALM_JOIN_CROSS,
    ALM_JOIN_INNER,
    ALM_JOIN_LEFT,
    ALM_JOIN_RIGHT,
    ALM_JOIN_FULL,
    ALM_JOIN_ASOF,
    ALM_JOIN_LT,
    ALM_JOIN_SPLICE,
    ALM_JOIN_WINDOW,
    ALM_JOIN_HORIZON,
    ALM_JOIN_LATERAL_INNER,
    ALM_JOIN_LATERAL_LEFT,
    ALM_JOIN_SEMI, /* of the planner: left rows that have a match, and those that have none */
    ALM_JOIN_ANTI
} alm_join_kind;

/* Which right row an ASOF or LT join takes: the last one before, the first one after, the nearer one. */
typedef enum alm_asof_direction {
    ALM_ASOF_BACKWARD,
    ALM_ASOF_FORWARD,
    ALM_ASOF_NEAREST
} alm_asof_direction;

#endif
