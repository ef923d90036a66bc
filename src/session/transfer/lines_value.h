/*
 * lines_value.h - one value of the line protocol as a value of a column. Private to session/.
 */
#ifndef ALM_SESSION_LINES_VALUE_H
#define ALM_SESSION_LINES_VALUE_H

#include "codec/ilp/ilp.h"
#include "type/vector.h"

/* The type of a column that is made for such a value, as configured; NONE: it has to be made by hand (DECIMAL). */
alm_type alm_line_type(const struct alm_conf *conf, const alm_ilp_field *field);
/* Of a time whose number has that suffix, 0: none. */
alm_type alm_line_time_type(const struct alm_conf *conf, alm_ilp_unit unit);
/*
 * Writes the value to `at` (alm_type_width bytes; SYMBOL: a view). Long texts are copied to `texts`. *why is
 * set, and nothing written, where the column does not take it: a static text, or one in `room`.
 */
enum { ALM_LINE_WHY_MAX = 160 };
ALM_NODISCARD alm_status alm_line_store(alm_ctx *cx, alm_arena *texts, const alm_ilp_field *field,
                                        alm_type type, void *ptr, char room[ALM_LINE_WHY_MAX],
                                        const char **why);
/* Time `time` in `unit` as ticks of a time type; false: out of its range. Excess digits are cut. */
bool alm_line_time(int64_t time, alm_ilp_unit unit, alm_type type, int64_t *out);

#endif
