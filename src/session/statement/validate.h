/*
 * validate.h - what the statements of a text are, and what is wrong with them, without running any: for editors.
 *
 * Looked at    Each statement is read, and its names and types are resolved as they would be when it ran: of queries, INSERT,
 *              UPDATE, DELETE, CREATE TABLE and CREATE VIEW with their queries, ALTER TABLE, SHOW, EXPLAIN, DECLARE CURSOR, and the
 *              tables that DROP, TRUNCATE, RENAME and COMMENT name. Of anything else its grammar.
 * Not looked at A statement that names what one before it in the text makes, changes or takes away is read only: nothing of that
 *              is there yet. Values are not computed: no division by zero, no cast that fails.
 * Threads      As alm_execute. It can be cancelled as a statement can, and has the time limit of one.
 */
#ifndef ALM_SESSION_VALIDATE_H
#define ALM_SESSION_VALIDATE_H

#include "session/session.h"

enum { ALM_MISTAKES_MAX = 100 }; /* behind that many the rest of the text is not looked at */

typedef struct alm_mistake {
    alm_status code;
    int32_t pos, bytes; /* the token that is at fault, in the text */
    const char *message;
} alm_mistake;

typedef struct alm_validated {
    uint32_t n_statements; /* that could be read, the empty ones not counted */
    const char *type; /* of the first of them: "SELECT", "CREATE TABLE" ...; NULL: there is none */
    bool has_cols;    /* the first is a query */
    alm_plan_col *cols; /* of it */
    uint32_t n_cols;
    int32_t ts_col;        /* its designated timestamp, -1: none */
    alm_mistake *mistakes; /* in order */
    uint32_t n_mistakes;
} alm_validated;

/* Everything in *out stands in `arena`. Fails for what is no mistake of a statement: a text longer than sql.text.max, no memory,
 * a cancel, the time limit (alm_session_error). */
ALM_NODISCARD alm_status alm_validate(alm_session *session, alm_str text, alm_arena *arena,
                                      alm_validated *out);

#endif
