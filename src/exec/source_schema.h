/* source_schema.h - words for options of tables, shared by the sources that show them. */
#ifndef ALM_EXEC_SOURCE_SCHEMA_H
#define ALM_EXEC_SOURCE_SCHEMA_H

#include "storage/catalog.h"

const char *alm_schema_partition(const alm_table *t); /* "DAY" */
/* Time to live in its largest whole unit: 10, "WEEK"; 0, "HOUR" for none. */
void alm_schema_ttl(const alm_table *t, int64_t *value, const char **unit);

#endif
