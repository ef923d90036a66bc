/*
 * tagged.h - statements over HTTP that their clients gave a name (/exec?tag=), so that they can be asked about and ended
 * before their answer begins, when X-Query-Id is not known yet. Private to net/http.
 *
 * Names       a letter, then up to 63 letters, digits, - and _.
 * Threads     Any. An entry belongs to the run that entered it, and is in the list until that leaves.
 * Rights      A tag is known to the user who gave it.
 */
#ifndef ALM_NET_HTTP_TAGGED_H
#define ALM_NET_HTTP_TAGGED_H

#include "session/session.h"

typedef struct alm_tagged_list alm_tagged_list;

typedef struct alm_tagged {
    struct alm_tagged *next, *prev;
    alm_tagged_list *list; /* NULL: it is in none */
    alm_session *session;
    int64_t begin_ns;
    _Atomic int64_t rows; /* that came so far */
    char tag[65];
} alm_tagged;

ALM_NODISCARD alm_status alm_tagged_list_new(alm_ctx *cx, alm_tagged_list **out);
void alm_tagged_list_free(alm_tagged_list *list); /* NULL is fine */

bool alm_tag_is_good(alm_str tag);
void alm_tagged_enter(alm_tagged_list *list, alm_tagged *entry, alm_str tag, alm_session *session);
void alm_tagged_leave(alm_tagged *entry);

/* False: none of that name runs for that user. */
bool alm_tagged_end(alm_tagged_list *list, alm_str tag, const alm_session *session);
bool alm_tagged_progress(alm_tagged_list *list, alm_str tag, const alm_session *session,
                         int64_t *rows, int64_t *elapsed_ns, uint64_t *statement);

#endif
