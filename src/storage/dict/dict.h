/*
 * dict.h - the dictionary of one SYMBOL column: text <-> code, append-only, shared by all versions
 * of the table.
 *
 * Shapes      Codes 1.. in order of arrival, code 0 is null. alm_dict (type/vector.h) is the view
 * of a snapshot: the first `count` codes. Ten million values and more work. Invariants  An entry
 * below the count never changes; text bytes and published arrays never move while the dictionary
 * lives (arrays that were outgrown are kept until the end, which costs at most what is in use).
 * Threads     alm_symbols_intern, _put, _save, _rewrite take the one lock; finding a text, reading a code and
 *             making a view take none.
 * Durability  Interning is memory only. Whoever commits rows puts the values that no log record
 *             carried yet into its record (alm_symbols_text of codes from its own mark on);
 * recovery gives them back with alm_symbols_put, in any order of files and log, twice if need be.
 *
 * File        append-only, one record per save (checkpoint), little-endian:
 *             "ALMDICT1", u32 version, u32 column id, u64 table id, u64 database id, u32 CRC32C of the bytes before,
 *             u32 0 (version 1 has no database id); then records: u32 magic, u32 first code, u32 n, u32 CRC32C of all other
 *             fields but the magic (before version 3: of those behind it), u64 text bytes, u32 length x n, text bytes. All
 *             records of a file have the format of the version in its header, also those that a newer program appends, because
 *             readers know one version per file. The next save truncates the file behind the records that the checkpoint
 *             counts: a crash during a save can leave more.
 */
#ifndef ALM_STORAGE_DICT_H
#define ALM_STORAGE_DICT_H

#include "io/io.h"
#include "type/vector.h"

typedef struct alm_symbols alm_symbols;

/* Memory of many dictionaries together. Zeroed: no limit. */
typedef struct alm_symbols_space {
    _Atomic int64_t bytes;
    int64_t
        bytes_max; /* over it new symbols are refused (ALM_E_LIMIT), those with an account above 7/8 of it; 0: never */
} alm_symbols_space;

enum {
    ALM_SYMBOLS_VERSION = 3,
    ALM_SYMBOLS_EMPTY_BYTES = 512 /* what a dictionary without values counts for in an account */
};

/* `id` is alm_dict.id of all its views: unique in the process. */
ALM_NODISCARD alm_status alm_symbols_new(alm_ctx *cx, uint32_t id, uint64_t table_id,
                                         uint32_t col_id, alm_symbols **out);
/* The database that its file is of: before the first load or save. */
void alm_symbols_identify(alm_symbols *sym, uint64_t database_id);
/* Its memory counts in `space`, which outlives it, from now on; before others see it. Values that are interned with an account
 * (alm_ctx.symbols) count there, too, until the dictionary is freed: the account must outlive it. So does that of `maker`, in which the dictionary itself counts; NULL:
 * in none. */
void alm_symbols_join(alm_symbols *sym, alm_symbols_space *space, alm_mem *maker);
/* May n more columns have a dictionary? Asked before a client's change that adds them; ALM_E_LIMIT names the setting. */
ALM_NODISCARD alm_status alm_symbols_room(alm_ctx *cx, const alm_symbols_space *space, size_t n);
/* Once no view is in use. */
alm_symbols *alm_symbols_retain(alm_symbols *sym);
/* The last release frees it. NULL: nothing. */
void alm_symbols_release(alm_symbols *sym);

/* Codes in use + 1, now. */
uint32_t alm_symbols_count(const alm_symbols *sym);
/* Text of a code below the count; code 0 gives ptr NULL. Lives as long as the dictionary. */
alm_str alm_symbols_text(const alm_symbols *sym, uint32_t code);
/* 0: not there. */
uint32_t alm_symbols_find(const alm_symbols *sym, alm_str text);
/* The first `count` codes (<= alm_symbols_count) as a snapshot sees them. */
void alm_symbols_view(const alm_symbols *sym, uint32_t count, alm_dict *out);
/* Bytes of memory in use. */
int64_t alm_symbols_bytes(const alm_symbols *sym);

/* A dictionary of the first codes [1, count) of another one, with the same file, for the same column; `id` as for alm_symbols_new. The
 * file must not be written meanwhile, and have no more than these. */
ALM_NODISCARD alm_status alm_symbols_copy(alm_ctx *cx, alm_symbols *from, uint32_t id,
                                          uint32_t count, alm_symbols **out);
/* Another dictionary has the column from now on: this one is read, and gets no values any more. */
void alm_symbols_replace(alm_symbols *sym);
bool alm_symbols_is_replaced(const alm_symbols *sym);
/* The largest of n codes of 1, 2 or 4 bytes; 0: there are none. */
uint32_t alm_codes_largest(const void *codes, uint32_t width, size_t n);
/* Memory of the values from a code on, some bytes more or less. */
int64_t alm_symbols_bytes_from(const alm_symbols *sym, uint32_t code);

/* Code of each of n texts, new ones are added. Null gives 0. */
ALM_NODISCARD alm_status alm_symbols_intern(alm_ctx *cx, alm_symbols *sym, const alm_view *views,
                                            const char *heap, size_t n, uint32_t *codes);
ALM_NODISCARD alm_status alm_symbols_intern_one(alm_ctx *cx, alm_symbols *sym, alm_str text,
                                                uint32_t *code);
/* Codes of a vector of SYMBOL or text (views or codes of any dictionary, dense or const), n
 * elements. A translation of a foreign dictionary costs one look-up per value in use. */
ALM_NODISCARD alm_status alm_symbols_encode(alm_ctx *cx, alm_symbols *sym, const alm_vec *vec,
                                            size_t n_rows, uint32_t *codes);
/* Recovery: value of `code`, which is the next one or holds the same text already (else
 * ALM_E_CORRUPT). */
ALM_NODISCARD alm_status alm_symbols_put(alm_ctx *cx, alm_symbols *sym, uint32_t code,
                                         alm_str text);

/* CRC32C of the values of codes [1, count), however their file is cut into records: of each u32 length, text. Costs what came since the
 * last call, or all of them where that was for more. */
uint32_t alm_symbols_crc(alm_symbols *sym, uint32_t count);

/* Codes below `count` that are not in the file yet, or there is no file. */
bool alm_symbols_has_new(alm_symbols *sym, uint32_t count);
/* Appends them to the file, in two steps, so that many dictionaries are synced together: writes what is new, and takes it for saved
 * when file and name are durable. Between the two nobody else saves or rewrites it: the caller holds checkpoint_lock. */
typedef struct alm_symbols_saving {
    alm_symbols *sym;
    int handle; /* open; the caller syncs and closes it */
    bool fresh; /* the file was made: its directory is to be synced, too */
    uint32_t count;
    int64_t bytes;
} alm_symbols_saving;
ALM_NODISCARD alm_status alm_symbols_write(alm_ctx *cx, alm_symbols *sym, const alm_io *io,
                                           const char *dir, const char *name, uint32_t count,
                                           alm_symbols_saving *out);
void alm_symbols_saved(const alm_symbols_saving *saving);
/* Does the header of a file say this database (0: any), table and column? ALM_E_CORRUPT: another, or it is damaged. */
ALM_NODISCARD alm_status alm_dict_is_of(alm_ctx *cx, const alm_io *io, const char *path,
                                        uint64_t database_id, uint64_t table_id, uint32_t col_id);
/* Writes the codes [1, count) as a file of their own, synced. */
ALM_NODISCARD alm_status alm_symbols_export(alm_ctx *cx, const alm_symbols *sym, const alm_io *io,
                                            const char *path, uint32_t count);
/* Does the file have what was saved to it? ALM_E_CORRUPT names the file and the offset. *bytes: of it that count, 0: nothing
 * was saved yet. */
ALM_NODISCARD alm_status alm_symbols_compare(alm_ctx *cx, alm_symbols *sym, const alm_io *io,
                                             const char *dir, const char *name, int64_t *bytes);
/* The file anew, from memory: it has the bytes that it had, all of them or those before. */
ALM_NODISCARD alm_status alm_symbols_rewrite(alm_ctx *cx, alm_symbols *sym, const alm_io *io,
                                             const char *dir, const char *name);
/* Loads into an empty dictionary the `count` codes a checkpoint promised, if they have that checksum (0: it is not known).
 * ALM_E_CORRUPT names the file and the offset, and leaves the dictionary empty. */
ALM_NODISCARD alm_status alm_symbols_load(alm_ctx *cx, alm_symbols *sym, const alm_io *io,
                                          const char *path, uint32_t count, uint32_t crc);

/*
 * The file of an empty dictionary is not the one that is meant: `count` and `crc` of it are known, `why` is kept. Nobody may read or
 * intern values from then on (alm_table.closed), until the process ends.
 */
ALM_NODISCARD alm_status alm_symbols_lose(alm_ctx *cx, alm_symbols *sym, uint32_t count,
                                          uint32_t crc, const char *why);
/* Why; NULL: it is not lost. */
const char *alm_symbols_lost(const alm_symbols *sym);
ALM_NODISCARD alm_status alm_symbols_usable(alm_ctx *cx, const alm_symbols *sym);
/* Of the codes [1, count): how many its file has, or must have, + 1, and their checksum. */
void alm_symbols_in_file(alm_symbols *sym, uint32_t count, uint32_t *in_file, uint32_t *crc);

/*
 * What is left of a dictionary that is lost, for programs that have the directory alone. Codes whose text is not known have
 * placeholders.
 */
bool alm_symbols_knows(const alm_symbols *sym, uint32_t code);
/* Placeholders for the codes from its count up to `count`. */
ALM_NODISCARD alm_status alm_symbols_pad(alm_ctx *cx, alm_symbols *sym, uint32_t count);
/* The text of a code that has a placeholder, or is beyond the count. *agrees false: the code has another text. */
ALM_NODISCARD alm_status alm_symbols_learn(alm_ctx *cx, alm_symbols *sym, uint32_t code,
                                           alm_str text, bool *agrees);
/* Forgets all texts of codes [1, count). */
ALM_NODISCARD alm_status alm_symbols_forget(alm_ctx *cx, alm_symbols *sym, uint32_t count);
/* Names the codes without a text: TEXT is `lost symbol N/CODE`, N the first with which no known text begins so. *prefix: up to the `/`.
 * How many there were. */
ALM_NODISCARD alm_status alm_symbols_name_lost(alm_ctx *cx, alm_symbols *sym, char *prefix,
                                               size_t prefix_size, uint32_t *lost);
/* All codes have texts: writes them to a file, synced, that will have the name of the lost one. The dictionary is not lost any more;
 * schemas that were made before say so still, and their text of it is gone. */
ALM_NODISCARD alm_status alm_symbols_regain(alm_ctx *cx, alm_symbols *sym, const alm_io *io,
                                            const char *path);
/*
 * Learns what the sound records of its file say of the codes [1, count), whose checksum is `crc` (count 0, crc 0: it is not known). Of
 * a file that is provably another one: nothing; nor, if `proven`, of one that has not all of them.
 */
ALM_NODISCARD alm_status alm_symbols_learn_file(alm_ctx *cx, alm_symbols *sym, const alm_io *io,
                                                const char *path, uint32_t count, uint32_t crc,
                                                bool proven);

#endif
