/*
 * recover.h - an alm_storage from its directory; the catalogue file; checkpoints; the sweep.
 */
#ifndef ALM_STORAGE_RECOVER_H
#define ALM_STORAGE_RECOVER_H

#include "storage/state.h"

/* ----------------------------------------------------------------- checkpoints */

/* Flushes the largest heads until all together hold at most `keep_bytes`, writes the catalogue file, gives old log back; while
 * a checkpoint is held, it flushes heads only. */
ALM_NODISCARD alm_status alm_checkpoint(alm_ctx *cx, alm_storage *storage, int64_t keep_bytes);
/* At the end: the catalogue has everything, and the log behind it is an empty segment. */
ALM_NODISCARD alm_status alm_checkpoint_last(alm_ctx *cx, alm_storage *storage);
enum { ALM_CHECKPOINT_KEEP_BYTES = 16 << 20 };
/* The last part of it: catalogue file and log. Caller holds checkpoint_lock. */
ALM_NODISCARD alm_status alm_checkpoint_write(alm_ctx *cx, alm_storage *storage);

/* Appends what is new in all dictionaries to their files, with few syncs. */
ALM_NODISCARD alm_status alm_dicts_save(alm_ctx *cx, alm_storage *storage, const alm_catver *cat);

/* The catalogue file. `read` maps and checks it: *bytes == 0, there is none. */
typedef struct alm_catalog_file {
    const void *map;
    size_t bytes;
    uint64_t lsn;
    uint64_t database_id; /* 0: older catalogues do not say */
} alm_catalog_file;
/* Writes it as a file, synced: of the tables with these ids (NULL: all). */
typedef struct alm_catalog_choice {
    const uint64_t *ids;
    uint32_t n;
} alm_catalog_choice;
ALM_NODISCARD alm_status alm_catalog_write_to(alm_ctx *cx, alm_storage *storage,
                                              const alm_catver *cat, const alm_catalog_choice *only,
                                              const char *path);
ALM_NODISCARD alm_status alm_catalog_read(alm_ctx *cx, alm_storage *storage, const char *name,
                                          alm_catalog_file *out);
/* What its header says, if all of it has its checksum; no map. */
ALM_NODISCARD alm_status alm_catalog_peek(alm_ctx *cx, alm_storage *storage, const char *name,
                                          alm_catalog_file *out);
/* Is the file what a checkpoint at that record wrote? ALM_E_CORRUPT. The caller holds checkpoint_lock. */
ALM_NODISCARD alm_status alm_catalog_compare(alm_ctx *cx, alm_storage *storage, const char *name,
                                             uint64_t lsn, int64_t *bytes);
void alm_catalog_unmap(alm_storage *storage, alm_catalog_file *file);
/* Does the catalogue file that was read name the dictionary? Then it stays, though its table may be gone:
 * the next recovery may begin with that catalogue. */
bool alm_catalog_names_dict(alm_storage *storage, uint64_t table_id, uint32_t col_id);
struct alm_flush_marks;
ALM_NODISCARD alm_status alm_catalog_load(alm_ctx *cx, alm_build *build,
                                          const alm_catalog_file *file,
                                          const struct alm_flush_marks *marks);

/* Recovery: dictionaries may have got values whose rows are in parts. Schemas show them from then on. */
ALM_NODISCARD alm_status alm_build_show_symbols(alm_ctx *cx, alm_build *build);
/* Opens without writing anything: catalogue and log into memory. `scan` says where the log ends. */
ALM_NODISCARD alm_status alm_storage_recover(alm_ctx *cx, alm_storage *storage, alm_wal_scan *scan);
ALM_NODISCARD alm_status alm_storage_new(alm_ctx *cx, const alm_io *io, const char *root,
                                         const alm_storage_conf *conf, alm_storage **out);
void alm_storage_free(alm_storage *storage);
/* Removes files under tables/ that nobody knows. */
void alm_sweep(alm_storage *storage, uint64_t table_id_end);

#endif
