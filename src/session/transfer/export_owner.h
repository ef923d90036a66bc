/*
 * export_owner.h - who owns an exported file or folder. COPY TO replaces a file only for its owner or an administrator.
 *
 * File      The Parquet metadata has a pair `almanac.exporter`: the SHA-256, in hexadecimal, of the exporting user's identity. A file
 *           without the pair, from an older version or copied in by hand, has no owner, and only administrators replace it.
 * Folder    A folder directly below the export root that an export created belongs to that user; a file `.exporter` in it holds the same
 *           hash. Nobody else adds files to it or below it, because readers load all files of a folder together. In a folder without
 *           `.exporter`, that is, one that was created by hand, each file is checked by its own owner.
 * Threads   The caller must hold a lock from alm_export_may_place to the rename, so that no other export puts a file there in between.
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
ALM_NODISCARD alm_status alm_export_owner_init(alm_ctx *cx, alm_export_owner *owner,
                                               const char *identity);
ALM_NODISCARD alm_status alm_export_mark_file(alm_ctx *cx, const alm_export_owner *owner,
                                              alm_pq_writer *writer);
/* ALM_E_DENIED: the file `path` below the folder of exports is there and not his, or is in a folder that is another's. */
ALM_NODISCARD alm_status alm_export_may_place(alm_ctx *cx, const alm_export_owner *owner,
                                              const char *path);
/* The folder, which an export has just made, is his. */
ALM_NODISCARD alm_status alm_export_mark_folder(alm_ctx *cx, const alm_export_owner *owner,
                                                int folder);

#endif
