/*
 * standing.h - does what began still count? One answer for everything that lives longer than a statement: sessions of all
 * interfaces, cookies, cursors, held results, lines, jobs. Private to session/; session.h offers what net/ asks.
 *
 * Version     What decides about permissions has one version (alm_seen): the epoch of the records, and a counter for what is
 *             no record (settings, transient tokens). Two loads tell that nothing has changed; only then are logins and
 *             questions looked at again.
 * Logins      alm_began of a principal says what it was proved by; the login is over when that is not there any more, or another.
 * Questions   What a statement was allowed is kept as the questions that it asked (alm_asked). Rows that are fetched later, by
 *             a cursor or from a held result, need the same answers.
 */
#ifndef ALM_SESSION_STANDING_H
#define ALM_SESSION_STANDING_H

#include "session/access/access.h"

/* A question that was answered with yes; texts of the arena that it was kept in. permission NULL: is the table (in small letters) seen? */
typedef struct alm_asked {
    const struct alm_asked *next;
    alm_access_ask ask;
} alm_asked;

/* ALM_E_LOGIN_OVER: who logged in, or the account that is assumed, may not go on. seen->until_us: when to look again. */
ALM_NODISCARD alm_status alm_session_stands(alm_ctx *cx, const alm_session *session,
                                            const alm_acl *acl, alm_seen *seen);

/* Into cursor->asked; memory of cursor->cx.arena. */
ALM_NODISCARD alm_status alm_asked_add(alm_cursor *cursor, const alm_access_ask *ask);
/* The next rows, the next piece of a load: has the session still what the statement was allowed? ALM_E_DENIED, ALM_E_LOGIN_OVER. */
ALM_NODISCARD alm_status alm_cursor_check(alm_cursor *cursor);

#endif
