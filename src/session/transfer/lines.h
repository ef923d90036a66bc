/*
 * lines.h - rows of the line protocol: collected per table, in the types of its columns, and committed
 * together. Tables and columns that do not exist come into being with the commit.
 *
 * Use         begin, feed bytes (any cut), then commit or drop. One transaction over all tables: all rows
 *             are on disk and visible when commit returns ALM_OK, or none is.
 * Bad lines   are counted, the first few are kept with their line numbers; rows of good lines stay. Whether
 *             such a unit is committed is the caller's choice.
 * Memory      of rows that are not committed is of the user's requests (core/requests.h), up to what a statement may have.
 * Threads     one thread at a time.
 */
#ifndef ALM_SESSION_LINES_H
#define ALM_SESSION_LINES_H

#include "codec/ilp/ilp.h"
#include "session/session.h"

typedef struct alm_lines alm_lines;

enum { ALM_LINES_ERRORS_MAX = 10 };

typedef struct alm_line_error {
    int64_t line; /* from 1, blank lines count */
    alm_status code;
    char message[300];
} alm_line_error;

typedef struct alm_lines_options {
    alm_ilp_unit unit;  /* of times without a suffix */
    bool stop_at_error; /* lines behind the first bad one are not read */
    bool
        within_bad; /* the input begins within a bad line: alm_lines_within_bad of the unit before */
} alm_lines_options;

/* Can the server start with these settings? */
ALM_NODISCARD alm_status alm_lines_check_conf(alm_ctx *cx, const struct alm_conf *conf);

ALM_NODISCARD alm_status alm_lines_begin(alm_session *session, const alm_lines_options *options,
                                         alm_lines **out);
/*
 * Reads complete lines of `bytes`; *used: how many bytes were taken, the rest comes again with more behind
 * it. `last`: nothing comes. Fails for want of memory and by cancel, not for bad lines.
 */
ALM_NODISCARD alm_status alm_lines_feed(alm_lines *lines, const char *bytes, size_t n, bool last,
                                        size_t *used);
int64_t alm_lines_rows(const alm_lines *lines);
/* All bad lines so far; the first ALM_LINES_ERRORS_MAX in order of their lines. */
int64_t alm_lines_error_count(const alm_lines *lines);
const alm_line_error *alm_lines_error_at(const alm_lines *lines, size_t i);
/* A line was found bad before its end has come: what comes up to its LF belongs to it. */
bool alm_lines_within_bad(const alm_lines *lines);
/* Ends the unit, successful or not; errors are on the session. */
ALM_NODISCARD alm_status alm_lines_commit(alm_lines *lines);
void alm_lines_drop(alm_lines *lines);

#endif
