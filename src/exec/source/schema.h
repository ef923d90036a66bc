/* schema.h - words for options of tables, shared by the sources that show them. */
#ifndef ALM_EXEC_SOURCE_SCHEMA_H
#define ALM_EXEC_SOURCE_SCHEMA_H

#include "base/base.h"
#include "storage/catalog.h"

const char *alm_schema_partition(const alm_table *table); /* "DAY" */
/* Time to live in its largest whole unit: 10, "WEEK"; 0, "HOUR" for none. */
void alm_schema_ttl(const alm_table *table, int64_t *value, const char **unit);
/* The statement that would make it, of its kind. */
ALM_NODISCARD alm_status alm_schema_put_table(alm_ctx *cx, alm_buf *buf, const alm_table *table);
ALM_NODISCARD alm_status alm_schema_put_view(alm_ctx *cx, alm_buf *buf, const alm_table *table);
ALM_NODISCARD alm_status alm_schema_put_matview(alm_ctx *cx, alm_buf *buf, const alm_table *table);

#endif
