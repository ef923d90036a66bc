/*
 * source_if.h - the table functions as the binder sees them. exec/ owns them (exec/source/source.def) and
 * hands this table in, because sql/ may not include exec/.
 */
#ifndef ALM_SQL_SOURCE_IF_H
#define ALM_SQL_SOURCE_IF_H

#include "base/nearest.h"
#include "sql/plan/plan.h"

struct alm_source; /* a table function; opaque to sql/ */

typedef struct alm_source_if {
    const struct alm_source *(*find)(alm_str name); /* NULL: there is none of that name */
    bool (*by_name)(alm_str name);    /* may it stand in FROM without brackets, as a table does? */
    void (*offer)(alm_nearest *near); /* all names */
    alm_status (*bind)(alm_ctx *cx, const struct alm_source *source, const alm_source_call *call,
                       alm_source_bound *out);
    /* Of one that is scanned: do its rows come in ascending order of a column, without nulls? It may read them. */
    alm_status (*ordered)(alm_ctx *cx, const struct alm_source *source, void *data, uint32_t col,
                          bool *out);
    /* The number (in source.all) of a column that is this one as codes of a dictionary, type SYMBOL; -1: none. It may
     * read the dictionaries of files. */
    alm_status (*codes)(alm_ctx *cx, const struct alm_source *source, void *data, uint32_t col,
                        int32_t *out);
    /* type that a parameter has as argument i; NONE: that of the others */
    alm_type (*arg_type)(const struct alm_source *source, uint32_t i);
    /* constant folding: one element of an expression without columns */
    alm_status (*constant)(alm_ctx *cx, const alm_expr *expr, alm_vec *out);
} alm_source_if;

/* ALM_E_ARG for the name of a relation that the server has: FROM finds that before any table, which would be out of reach.
 * Functions that need an argument (`files('x')`) leave their names to tables. */
ALM_NODISCARD alm_status alm_check_new_relation(alm_ctx *cx, const alm_source_if *sources,
                                                alm_str name, int32_t pos);

/* The same question, for who words the refusal. */
bool alm_is_reserved_relation(const alm_source_if *sources, alm_str name);

#endif
