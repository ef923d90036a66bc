/*
 * pack.h - small parts share a file, a *pack*: those of one flush or load, and those that a compaction gathers.
 *
 * Reason      A file takes 4 kB on the disk at least, a part of one row a few hundred bytes.
 * Files       A pack is an alm_file, as each part in it is; these hold a reference to it, so that it goes with the last of
 *             them. Parts keep their own numbers, checksums and damage: only the place of their bytes is in the pack.
 * Copies      Backups and the archive copy a part out of its pack, to a file under the number of the part. What a restore
 *             puts back is such a file: a part whose pack is not there is looked for under its own name.
 * Threads     A pack that is written belongs to one thread.
 */
#ifndef ALM_STORAGE_PACK_H
#define ALM_STORAGE_PACK_H

#include "storage/part/part.h"
#include "storage/version/version.h"

/* Then another begins: each part that is mapped takes addresses for all of it. */
enum { ALM_PACK_BYTES_MAX = 1 << 20 };

typedef struct alm_pack {
    alm_storage *st;
    uint64_t table_id;
    bool on;
    alm_file *file; /* that is being written; NULL: none */
    alm_part_pack at;
    char path[ALM_PATH_MAX];
} alm_pack;

/* For `n` parts that are written one after the other. */
void alm_pack_init(alm_pack *pack, alm_storage *storage, uint64_t table_id, size_t n);
/* Where the next part may go; NULL: to a file of its own. */
ALM_NODISCARD alm_status alm_pack_next(alm_ctx *cx, alm_pack *pack, alm_part_pack **out);
/* All parts are written: their pack is synced with them (alm_parts_sync). */
ALM_NODISCARD alm_status alm_pack_finish(alm_ctx *cx, alm_pack *pack);
/* Gives up what was not finished; after that, does nothing. */
void alm_pack_deinit(alm_pack *pack);

/* The file that the bytes of a part are in, and where; *shared false: all of the file is the part. */
void alm_file_where(const alm_file *file, char *path, size_t path_size, alm_part_place *place,
                    bool *shared);
/* Has a file of that size what it should have there? */
static inline bool alm_place_fits(const alm_part_place *place, bool shared, int64_t file_bytes)
{
    return shared ? place->bytes <= file_bytes && place->offset <= file_bytes - place->bytes
                  : file_bytes == place->bytes;
}

#endif
