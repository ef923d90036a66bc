/*
 * wal.h - the log: segments, records, appending a group, reading back. Format and crash behaviour:
 * docs/internals/storage.md, section 2.
 *
 * Threads     one thread at a time (the leader of a commit group, or recovery), but alm_wal_sync_all
 *             and alm_wal_recycle, which take the lock themselves.
 */
#ifndef ALM_STORAGE_WAL_H
#define ALM_STORAGE_WAL_H

#include <pthread.h>

#include "base/counter.h"
#include "io/io.h"

enum {
    ALM_WAL_VERSION = 12,
    ALM_WAL_IDENTIFIED = 11, /* segments say of which database they are from here on */
    ALM_WAL_HEADER = 64,
    ALM_REC_HEADER = 48
};

typedef struct alm_wal_header {
    char magic[8];
    uint32_t version, crc;
    uint64_t number;
    uint64_t prev_lsn; /* of the last record before this segment */
    uint64_t salt;     /* random; every record of the segment repeats it */
    uint64_t database_id;
    uint64_t zero[2];
} alm_wal_header;
_Static_assert(sizeof(alm_wal_header) == ALM_WAL_HEADER, "on disk");

typedef struct alm_rec_header {
    char magic[4];
    uint32_t crc; /* payload, then bytes 8..47 of this */
    uint64_t bytes, lsn, prev_lsn, synced_lsn, salt;
} alm_rec_header;
_Static_assert(sizeof(alm_rec_header) == ALM_REC_HEADER, "on disk");

/* Behind the last record of a segment that is full: the log goes on in segment `next`, which was on
 * disk before this was. */
typedef struct alm_wal_mark {
    char magic[4];
    uint32_t crc; /* of bytes 8..47 */
    uint64_t next, salt;
    uint64_t
        lsn; /* of the record before; 0: of an older program. What a torn group leaves does not count behind another record. */
    uint64_t zero[2];
} alm_wal_mark;
_Static_assert(sizeof(alm_wal_mark) == ALM_REC_HEADER, "on disk");

typedef struct alm_wal_piece { /* of a payload; bytes a multiple of 8 */
    const void *ptr;
    size_t bytes;
} alm_wal_piece;

typedef struct alm_wal_record {
    uint64_t lsn;
    const alm_wal_piece *pieces;
    uint32_t n_pieces;
} alm_wal_record;

typedef struct alm_wal_segment {
    uint64_t number;
    uint64_t prev_lsn, last_lsn; /* records in it: prev_lsn < lsn <= last_lsn */
    int64_t bytes;               /* allocated */
    bool in_chain;               /* set by alm_wal_read */
} alm_wal_segment;

/* Segments that stay mapped after they were read, because somebody uses their bytes. */
typedef struct alm_wal_maps {
    struct alm_wal_map {
        const void *bytes;
        size_t n;
    } *maps;
    size_t n, cap;
    int64_t bytes;
} alm_wal_maps;

typedef struct alm_wal {
    const alm_io *io;
    char dir[4096 - 64];
    int64_t segment_bytes;
    uint64_t database_id; /* that its segments must have; 0: not known */
    pthread_mutex_t lock; /* of segments[], spares and handles */
    alm_wal_segment *segments;
    size_t n_segments, cap_segments;
    uint64_t spares[2];
    int64_t spare_bytes[2];
    uint32_t n_spares;
    uint64_t next_number;
    int handle; /* of the last segment, -1: none */
    uint64_t salt;
    int64_t at;   /* where the next record goes */
    int64_t room; /* bytes of the current segment; the leader's, as `at` */
    _Atomic uint64_t last_lsn;
    _Atomic uint64_t synced_lsn;
    _Atomic uint64_t keep_lsn;  /* segments with later records are not given up */
    uint64_t reading, scrubbed; /* segments that other threads copy, compare: not used again */
    atomic_bool roll;           /* the next group begins a new segment */
    bool
        outdated; /* it does, because the current one has an older version, which may not describe what comes */
    uint64_t limit_lsn;            /* reading: the log ends before a later record; 0: none */
    uint64_t next_lsn;             /* never used before, not even by a group that failed */
    _Atomic int64_t bytes_written; /* since open */
    alm_times *sync_times;         /* NULL: not counted */
    char *stage;                   /* small pieces of a group are written together */
    size_t stage_bytes;
    int64_t stage_at;
} alm_wal;

/* Called for every record in order. */
typedef alm_status (*alm_wal_each)(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                                   size_t bytes);

typedef struct alm_wal_scan {
    uint64_t last_lsn; /* of the last valid record, or the checkpoint's */
    size_t segment;    /* index in segments[] where the chain ends; n_segments: nowhere */
    int64_t at;        /* offset behind the last record */
    int64_t bytes;     /* read */
    uint64_t awaited;  /* segment that must follow and has not, 0: none */
    struct { /* alm_wal_read: damage before the record `after`, so that nothing of it was needed */
        uint64_t segment,
            lsn; /* its number (0: there is none); of the last record before the damage */
        int64_t at;
    } passed;
    uint64_t prev_lsn; /* alm_wal_walk: of the last record before the segment */
    uint32_t crc;      /* alm_wal_walk: of all bytes up to `at` and of the mark behind */
    bool marked;       /* alm_wal_walk: a mark is there, or the format has none */
} alm_wal_scan;

ALM_NODISCARD alm_status alm_wal_init(alm_ctx *cx, alm_wal *wal, const alm_io *io, const char *dir,
                                      int64_t segment_bytes);
void alm_wal_deinit(alm_wal *wal);
/* Lists the segments. Reads only. */
ALM_NODISCARD alm_status alm_wal_list(alm_ctx *cx, alm_wal *wal);
/*
 * The database that the listed segments are of. *id: as it is known, 0: not yet; `from` says where from. ALM_E_CORRUPT: a segment is
 * of another one. Afterwards no other segment of another one is read. Reads only.
 */
ALM_NODISCARD alm_status alm_wal_identify(alm_ctx *cx, alm_wal *wal, const char *from,
                                          uint64_t *id);
void alm_wal_maps_free(const alm_io *io, alm_wal_maps *maps);
/* Forgets what was listed. */
void alm_wal_forget(alm_wal *wal);
/* Walks the chain; calls `each` for records with lsn > after. ALM_E_CORRUPT for a log damaged in the
 * middle, or one that begins after `after`; of damage before the record `after` only out->passed tells, if that record or the one that follows
 * it is whole. Reads only. The bytes that `each` is given stay until `maps` is freed, also by `each`;
 * NULL: while it runs. */
ALM_NODISCARD alm_status alm_wal_read(alm_ctx *cx, alm_wal *wal, uint64_t after, alm_wal_each each,
                                      void *arg, alm_wal_maps *maps, alm_wal_scan *out);
/* out->passed in words. */
void alm_wal_passed_text(const alm_wal *wal, const alm_wal_scan *scan, char *text, size_t size);
/* Behind alm_wal_read: takes segments before the chain into it, back to the record behind `lsn`. *reached false: they do not go back so
 * far, and the chain is as it was. Reads only. */
ALM_NODISCARD alm_status alm_wal_reach_back(alm_ctx *cx, alm_wal *wal, uint64_t lsn, bool *reached);
/* What alm_wal_read_whole passed over. */
typedef struct alm_wal_gaps {
    uint64_t last_lsn; /* of the last record that was read, or `after` */
    uint32_t n;        /* stretches of the log that are missing */
    uint64_t from,
        to; /* the first of them lies between the records of these numbers; to 0: it ends nowhere */
    uint32_t unread; /* segments of which nothing can be read */
} alm_wal_gaps;
/*
 * Of a damaged log: calls `each` for every whole record with lsn > after, in order, and passes over what is damaged. A segment whose
 * header is damaged counts if a record stands at its beginning, and segments of another database (alm_wal.database_id) do not. Reads
 * only.
 */
ALM_NODISCARD alm_status alm_wal_read_whole(alm_ctx *cx, alm_wal *wal, uint64_t after,
                                            alm_wal_each each, void *arg, alm_wal_gaps *out);
/* Did somebody begin to write a record behind the chain that was read? Reads only. */
ALM_NODISCARD alm_status alm_wal_is_torn(alm_ctx *cx, const alm_wal *wal, const alm_wal_scan *scan,
                                         bool *torn);
/* Erases its header. */
ALM_NODISCARD alm_status alm_wal_cut(alm_ctx *cx, const alm_wal *wal, const alm_wal_scan *scan);
/* Walks the records of one segment; *out has where they end. Reads only. */
ALM_NODISCARD alm_status alm_wal_walk(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                                      alm_wal_each each, void *arg, alm_wal_scan *out);
/* A finished segment: did the walk that gave `scan` come to its last record? Where last_lsn is not known (0), to the
 * mark: a crash may have left none. ALM_E_CORRUPT says where the first record is that fails its checksum. */
ALM_NODISCARD alm_status alm_wal_whole(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                                       const alm_wal_scan *scan);
ALM_NODISCARD alm_status alm_wal_verify(alm_ctx *cx, const alm_wal *wal,
                                        const alm_wal_segment *seg);
/* Of an archive: does segment i end where the next begins, or with a mark? ALM_E_CORRUPT. */
ALM_NODISCARD alm_status alm_wal_ends(alm_ctx *cx, const alm_wal *wal, size_t i,
                                      const alm_wal_scan *scan);
/* Of the last record before a segment, by its header; 0: that is damaged. */
ALM_NODISCARD alm_status alm_wal_prev_lsn(alm_ctx *cx, const alm_wal *wal,
                                          const alm_wal_segment *seg, uint64_t *lsn);
/* Makes the log ready for appending behind the chain that was read; removes what lies beyond. */
ALM_NODISCARD alm_status alm_wal_start(alm_ctx *cx, alm_wal *wal, const alm_wal_scan *scan);

/* Writes the records (LSNs ascending) and syncs if asked. On an error *fatal says whether the state
 * of the disk is unknown; if not, the log is as it was before. */
ALM_NODISCARD alm_status alm_wal_append(alm_ctx *cx, alm_wal *wal, const alm_wal_record *records,
                                        size_t n_records, bool sync, bool *fatal);
/* Ends the current segment, if it has a record, and begins the next one, of `bytes`. Errors as of alm_wal_append. */
ALM_NODISCARD alm_status alm_wal_begin_segment(alm_ctx *cx, alm_wal *wal, int64_t bytes,
                                               bool *fatal);
/* Syncs what alm_wal_append did not. */
ALM_NODISCARD alm_status alm_wal_sync_all(alm_ctx *cx, alm_wal *wal, uint64_t *synced_lsn);
/* Of segments that a checkpoint at `to` lets go, and one at `from` does not. */
int64_t alm_wal_bytes_between(alm_wal *wal, uint64_t from, uint64_t to);
/* Gives up segments whose records are all <= lsn (never the current one). */
ALM_NODISCARD alm_status alm_wal_recycle(alm_ctx *cx, alm_wal *wal, uint64_t lsn);

#endif
