/*
 * export_owner.h - whose the exported files and folders are: who is no administrator replaces his own alone.
 *
 * File      A pair of its Parquet metadata, `almanac.exporter`: SHA-256 of the identity of the exporting user, in hexadecimal. A file
 *           without it (of an older version, or put there by hand) is somebody else's.
 * Folder    A folder directly below the folder of exports that an export has made belongs, with all that is in it, to the exporting
 *           user: readers take its files together, so that a file that somebody added would be among their rows. It says so in a file
 *           `.exporter`. In a folder without it, which somebody made by hand, each file counts for itself.
 * Threads   The caller lets one export at a time place its files, or a file could come between the look and the rename.
 */
#ifndef ALM_SESSION_EXPORT_OWNER_H
#define ALM_SESSION_EXPORT_OWNER_H

#include "codec/parquet/writer.h"

#define ALM_EXPORT_FOLDER_FILE ".exporter"

typedef struct alm_export_owner {
    const struct alm_io *io;
    alm_arena *arena;
    int root;      /* handle of the folder of exports */
    char mark[65]; /* terminated; "": nobody logs in, and what is written has no mark */
    bool any;      /* may replace what is not his, as an administrator does */
} alm_export_owner;

/* identity NULL: nobody logs in. */
ALM_NODISCARD alm_status alm_export_owner_init(alm_ctx *cx, alm_export_owner *o,
                                               const char *identity);
ALM_NODISCARD alm_status alm_export_mark_file(alm_ctx *cx, const alm_export_owner *o,
                                              alm_pq_writer *w);
/* ALM_E_DENIED: the file `path` below the folder of exports is there and not his, or is in a folder that is another's. */
ALM_NODISCARD alm_status alm_export_may_place(alm_ctx *cx, const alm_export_owner *o,
                                              const char *path);
/* The folder, which an export has just made, is his. */
ALM_NODISCARD alm_status alm_export_mark_folder(alm_ctx *cx, const alm_export_owner *o, int folder);

#endif
