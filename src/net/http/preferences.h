/*
 * preferences.h - what pages keep on the server for all their users (name and colour of the instance ...): a flat
 * JSON object with a version. Private to net/.
 *
 * File        ROOT/conf/preferences.json: {"version":n,"preferences":{...}}, replaced as a whole and synced before
 *             a change is acknowledged. Each change raises the version by one, and names the one that it saw.
 * Threads     Any; a change waits for the disk.
 */
#ifndef ALM_NET_HTTP_PREFERENCES_H
#define ALM_NET_HTTP_PREFERENCES_H

#include "io/io.h"

typedef struct alm_preferences alm_preferences;

/* Reads the file, if there is one. ALM_E_CORRUPT: it is not what was written. */
ALM_NODISCARD alm_status alm_preferences_open(alm_ctx *cx, const alm_io *io, const char *root,
                                              int64_t bytes_max, alm_preferences **out);
void alm_preferences_free(alm_preferences *preferences);

/* Appends the object: `keys` of it (the last is NULL), or all (NULL). preferences NULL: there are none, at version 0. cx->arena is
 * used where it is not all. */
ALM_NODISCARD alm_status alm_preferences_get(alm_ctx *cx, alm_preferences *preferences,
                                             const char *const *keys, int64_t *version,
                                             alm_buf *json);
typedef enum alm_preferences_change {
    ALM_PREFERENCES_REPLACE,
    ALM_PREFERENCES_MERGE /* members of the body are added or replaced; null takes them away */
} alm_preferences_change;
/*
 * `body` is a JSON object of texts, numbers and booleans. ALM_E_CONFLICT: `seen` is not the version (any more).
 * ALM_E_VALUE: no such object, with the position in bytes. ALM_E_LIMIT: more than bytes_max.
 */
ALM_NODISCARD alm_status alm_preferences_put(alm_ctx *cx, alm_preferences *preferences,
                                             alm_str body, alm_preferences_change how,
                                             int64_t seen);

#endif
