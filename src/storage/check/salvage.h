/*
 * salvage.h - what the files of `almanac check --salvage` share (docs/internals/storage.md, section 17). Private to salvage*.c.
 *
 * Order       The directory is read (salvage_read.c), words of damaged dictionaries are looked for (salvage_words.c), then each part
 *             is written (salvage_part.c), and files that nothing names where catalogue or log are damaged (salvage_found.c).
 * Errors      Damage of ROOT is a line of the report. What a function returns ended the work: OUT cannot be written, no memory, a
 *             cancel.
 */
#ifndef ALM_STORAGE_SALVAGE_H
#define ALM_STORAGE_SALVAGE_H

#include "storage/part/part.h"
#include "storage/state.h"

typedef enum alm_saved {
    ALM_SAVED,         /* every value */
    ALM_SAVED_PARTIAL, /* some values are null or left out */
    ALM_SAVED_FOUND,   /* every value, but nothing says that these rows were the newest */
    ALM_SAVED_LOST     /* nothing */
} alm_saved;

typedef struct alm_salvage_line { /* of report.csv */
    const alm_version *v;         /* NULL: of no table */
    const char *partition;        /* "": none */
    const char *from, *to;        /* files below ROOT/db and OUT; "": none */
    int64_t rows;                 /* saved; if nothing was: lost, -1: nobody knows how many */
    alm_saved saved;
    const char *reason;
} alm_salvage_line;

typedef struct alm_salvage {
    alm_ctx *cx;
    const alm_io *io;
    alm_storage *st;
    const char *out;
    int report; /* handle of report.csv */
    int64_t report_at;
    void (*tell)(void *arg, const char *line); /* may be NULL */
    void *tell_arg;
    alm_salvage_result *done;
    alm_arena arena; /* of one file that is written */
    bool gaps;       /* catalogue or log are damaged: files that nothing names may be parts */
} alm_salvage;

/* One error of a part that is read: damage, or something that ends the work? */
static inline bool alm_is_damage(alm_status status)
{
    return status == ALM_E_CORRUPT || status == ALM_E_UNSUPPORTED || status == ALM_E_IO ||
           status == ALM_E_FORMAT;
}

/* ------------------------------------------------------------ salvage_report.c */

ALM_NODISCARD alm_status alm_salvage_report_open(alm_salvage *salvage);
ALM_NODISCARD alm_status alm_salvage_report_close(alm_salvage *salvage);
ALM_NODISCARD alm_status alm_salvage_report(alm_salvage *salvage, const alm_salvage_line *line);
/* Of a file that is no part. */
ALM_NODISCARD alm_status alm_salvage_note(alm_salvage *salvage, const alm_version *version,
                                          const char *from, alm_saved saved, const char *reason);

/* ------------------------------------------------------------------- salvage.c */

/* ALM_E_ARG: it is no data directory. */
ALM_NODISCARD alm_status alm_salvage_check_root(alm_ctx *cx, const alm_io *io, const char *root);

/* -------------------------------------------------------------- salvage_read.c */

/* Catalogue and log into memory as far as they go, where a start would refuse them; `why` it would. */
ALM_NODISCARD alm_status alm_salvage_read(alm_salvage *salvage, const char *why);

/* ------------------------------------------------------------- salvage_words.c */

/* Looks for the symbols of all dictionaries that are lost, and says how many were found. */
ALM_NODISCARD alm_status alm_salvage_words(alm_salvage *salvage);
/* The same for one column; the schema of the version shows what was found. */
ALM_NODISCARD alm_status alm_words_find(alm_ctx *cx, alm_storage *storage,
                                        const alm_version *version, uint32_t col);

/* -------------------------------------------------------------- salvage_part.c */

ALM_NODISCARD alm_status alm_salvage_part(alm_salvage *salvage, const alm_version *version,
                                          const alm_part_ref *ref, bool detached);
/* A part that only its file speaks for; `id`: for the name of what is written. */
ALM_NODISCARD alm_status alm_salvage_found_part(alm_salvage *salvage, const alm_version *version,
                                                const char *path, const alm_part_place *place,
                                                uint64_t id, const char *reason);
/* The rows of a table that are in no part. */
ALM_NODISCARD alm_status alm_salvage_head(alm_salvage *salvage, const alm_version *version);

/* ------------------------------------------------------------- salvage_write.c */

/* One Parquet file of OUT. */
typedef struct alm_salvage_out {
    alm_salvage *s;
    const alm_version *v;
    char path[ALM_PATH_MAX];
    const char *name; /* in `path`, below OUT */
    int handle;
    int64_t at, rows;
    struct alm_pq_writer *w;
} alm_salvage_out;

/* Columns `cols` (positions in version->schema). The file is `stem`.parquet in the directory of the table. */
ALM_NODISCARD alm_status alm_salvage_out_open(alm_salvage_out *out, alm_salvage *salvage,
                                              const alm_version *version, const uint32_t *cols,
                                              uint32_t n, const char *stem);
ALM_NODISCARD alm_status alm_salvage_out_write(alm_salvage_out *out, const alm_batch *batch);
ALM_NODISCARD alm_status alm_salvage_out_close(alm_salvage_out *out, alm_status status);
/* Codes of a SYMBOL vector over `rows` rows, those without a word null. *wordless counts them. */
ALM_NODISCARD alm_status alm_salvage_codes(alm_salvage *salvage, alm_arena *arena,
                                           const alm_version *version, uint32_t col, alm_vec *vec,
                                           uint32_t rows, int64_t *wordless);

/* ------------------------------------------------------------- salvage_found.c */

/* Of all tables in the directory that the build lacks and that are not in `made` (ids, which the log creates): what their part files say. */
ALM_NODISCARD alm_status alm_salvage_rebuild(alm_salvage *salvage, alm_build *build,
                                             const alm_dict_list *made);
/* The id that most part files say, 0: none does. */
ALM_NODISCARD alm_status alm_salvage_database_id(alm_salvage *salvage, uint64_t *id);
/* Saves the part files that nothing names. */
ALM_NODISCARD alm_status alm_salvage_found(alm_salvage *salvage);
/* A file that is not the part of `version` that it should be, if it is a sound part: by what it says itself. */
ALM_NODISCARD alm_status alm_salvage_misplaced(alm_salvage *salvage, const alm_version *version,
                                               const char *path, const alm_part_place *place,
                                               uint64_t id);

#endif
