/*
 * comment.h - comments of a table and of its columns, as versions share them. Private to the folder.
 */
#ifndef ALM_STORAGE_COMMENT_H
#define ALM_STORAGE_COMMENT_H

#include "storage/state.h"

typedef struct alm_comment {
    uint32_t col_id; /* 0: the table */
    const char *text;
} alm_comment;

/* Counted, immutable; its texts lie behind the rows. A version without comments has none (NULL). */
typedef struct alm_comments {
    _Atomic uint32_t refs;
    uint32_t n;
    alm_comment rows[];
} alm_comments;

alm_comments *alm_comments_retain(alm_comments *comments); /* NULL: nothing */
void alm_comments_release(alm_comments *comments);

/* `old` (may be NULL) with one row replaced, added or ("") left out. */
ALM_NODISCARD alm_status alm_comments_with(alm_ctx *cx, const alm_comments *old, uint32_t col_id,
                                           alm_str text, alm_comments **out);
/* "": no comment. The version goes into the build. */
ALM_NODISCARD alm_status alm_change_comment(alm_ctx *cx, alm_build *build, uint64_t table_id,
                                            uint32_t col_id, alm_str text);
/* The comments of `from` for `to`, which is not published yet: those of columns that are gone go, new
 * columns take the comment of the one that had their name. */
ALM_NODISCARD alm_status alm_comments_follow(alm_ctx *cx, const alm_version *from, alm_version *to);

#endif
