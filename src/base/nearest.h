/*
 * nearest.h - of the names that exist, the one a wrong name was probably meant to be: "did you mean".
 *
 *     alm_nearest near = alm_nearest_of(name);
 *     for (each known name)
 *         alm_nearest_offer(&near, known);
 *     return alm_fail_near(cx, ALM_E_NAME, pos, &near, "Invalid column: %.*s", ...);
 *
 * Distance    Letters left out, added, replaced or swapped with the next; the case of ASCII letters
 *             does not count. A name is near up to a third of its length, at most three. Of equally near ones the first wins.
 * Ownership   `found` is borrowed from who offered it.
 * Cost        One name against one: the product of their lengths; for errors only.
 */
#ifndef ALM_BASE_NEAREST_H
#define ALM_BASE_NEAREST_H

#include "base/base.h"

typedef struct alm_nearest {
    alm_str name;
    alm_str found; /* empty: nothing is near */
    size_t best;   /* distances below this are nearer */
} alm_nearest;

alm_nearest alm_nearest_of(alm_str name);
void alm_nearest_offer(alm_nearest *near, alm_str known);
/* As alm_fail; ", did you mean 'x'?" follows the message when something is near. */
alm_status alm_fail_near(alm_ctx *cx, alm_status code, int32_t sql_pos, const alm_nearest *near,
                         const char *format, ...) ALM_PRINTF(5, 6);

#endif
