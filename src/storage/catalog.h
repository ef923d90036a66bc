/*
 * catalog.h - tables and columns as one snapshot sees them. Read-only; lives as long as the
 * snapshot. The only header of storage/ that sql/ may include.
 */
#ifndef ALM_STORAGE_CATALOG_H
#define ALM_STORAGE_CATALOG_H

#include "base/nearest.h"
#include "type/vector.h"

typedef enum alm_partition_by {
    ALM_PART_NONE,
    ALM_PART_HOUR,
    ALM_PART_DAY,
    ALM_PART_WEEK,
    ALM_PART_MONTH,
    ALM_PART_YEAR
} alm_partition_by;

typedef struct alm_column {
    const char *name;
    alm_type type;
    uint32_t id;          /* never reused within a table; column numbers may shift, ids do not */
    const alm_dict *dict; /* SYMBOL: values of this snapshot */
    bool indexed, dedup_key, symbol_cached;
    int64_t symbol_capacity, index_capacity;
    uint32_t length; /* VARCHAR(n): characters of a value at most; 0: any number */
} alm_column;

/* Has the text more characters than the column takes? Then *chars of them. */
bool alm_text_exceeds(const alm_column *col, alm_str text, size_t *chars);

typedef enum alm_table_kind { ALM_TABLE_BASE, ALM_TABLE_VIEW, ALM_TABLE_MATVIEW } alm_table_kind;

typedef enum alm_refresh_kind {
    ALM_REFRESH_IMMEDIATE,
    ALM_REFRESH_MANUAL,
    ALM_REFRESH_TIMER
} alm_refresh_kind;

typedef struct alm_every { /* "3 h": unit s m h d w M y; count 0: none */
    uint32_t count;
    char unit;
} alm_every;

/*
 * What a view is: its query, and of a materialized one how it is refreshed and how far that has come.
 * Texts are never NULL. Times are microseconds since 1970 (ALM_TS_NULL: none) but `period_hi`.
 */
typedef struct alm_view_def {
    const char *sql;    /* the query */
    const char *reason; /* why it is invalid; "": it is valid */
    int64_t status_us;  /* when it became what it is */
    /* materialized */
    const char *base; /* table whose changes it follows */
    uint64_t base_id;
    alm_refresh_kind refresh;
    bool deferred;
    alm_every every, period, delay, limit; /* of the timer; PERIOD (LENGTH, DELAY); REFRESH LIMIT */
    int64_t start_us;                      /* of the timer */
    const char *zone;                      /* of timer and period; "": UTC */
    /* how long the buckets are that are computed one by one, at the most; none: the query is computed as a whole */
    alm_every bucket;
    /* state: the view holds its query over the base table at `lsn`, rows before period_hi only */
    uint64_t lsn;                    /* 0: never refreshed */
    int64_t period_hi;               /* in the unit of the base's timestamp; INT64_MAX: no period */
    int64_t started_us, finished_us; /* of the last refresh */
} alm_view_def;

typedef struct alm_table {
    const char *name;        /* as created; looked up without case */
    uint64_t id;             /* never reused */
    uint64_t schema_version; /* grows with every change of the columns */
    uint64_t version; /* of all that is said here and of the rows; no two states of a table have the
                         same while the process lives. An equal one is the same object */
    const alm_column *cols;
    uint32_t n_cols;
    int32_t ts_col; /* designated timestamp, -1 none */
    alm_partition_by partition;
    bool wal; /* as declared; shown, changes nothing */
    bool dedup;
    int64_t ttl_hours; /* > 0 hours, < 0 months, 0 none */
    /* hides: rows before visible_from have expired, and are there for materialized views alone. Those before
     * kept_from are gone for ever; INT64_MIN: none is */
    bool hides;
    int64_t visible_from, kept_from;
    int64_t row_count;      /* rows of this snapshot, those that have expired too */
    int64_t min_ts, max_ts; /* of these rows; min > max when empty */
    int64_t max_uncommitted_rows, o3_max_lag_us; /* as declared; shown, change nothing */
    alm_table_kind kind;                         /* a VIEW has columns and nothing else */
    const alm_view_def *view;                    /* NULL: a table */
    const char *
        closed; /* why its rows can be neither read nor written: alm_table_is_open; NULL: they can */
    uint64_t handle; /* storage's own */
} alm_table;

/* Number in pg_class of the table or view with that id. Those below are of what PostgreSQL has itself. */
static inline int32_t alm_table_oid(uint64_t table_id)
{
    return (int32_t)(16384 + (table_id & 0x1fffffff));
}

typedef struct alm_snapshot alm_snapshot; /* all tables at one LSN; counted */

/* NULL: no such table. Names without case. */
const alm_table *alm_snapshot_find(const alm_snapshot *snap, alm_str name);
/* ALM_E_CORRUPT: a dictionary of the table is lost. It can be described, dropped, truncated, and lose the column. */
ALM_NODISCARD alm_status alm_table_is_open(alm_ctx *cx, const alm_table *table, int32_t pos);
/*
 * What writing to one table needs of the snapshot: the table without its rows, and the records. Keeps no files, so it may be had
 * for as long as a client sends. alm_snapshot_find has the table; alm_table of `snap` are none of it. NULL: no table.
 */
ALM_NODISCARD alm_status alm_snapshot_narrow(alm_ctx *cx, const alm_snapshot *snap,
                                             const alm_table *table, alm_snapshot **out);
size_t alm_snapshot_count(const alm_snapshot *snap);
const alm_table *alm_snapshot_at(const alm_snapshot *snap, size_t i);
/* The rows that statements see: all but those that have expired. min_ts > max_ts: there are none. */
typedef struct alm_visible {
    int64_t rows, min_ts, max_ts;
} alm_visible;
alm_visible alm_table_visible(const alm_table *table);
/* COMMENT ON: of a column by its id, 0: of the table; NULL: none. */
const char *alm_table_comment(const alm_table *table, uint32_t col_id);
/* Column number, -1: none. Names without case. */
int32_t alm_table_col(const alm_table *table, alm_str name);
/* May a table be called so? Names become parts of URLs and of file names of others: no separators, no
 * control characters, no dots or blanks at the ends. */
enum { ALM_TABLE_NAME_MAX = 127, ALM_TABLE_COLS_MAX = 4096 };
bool alm_table_name_ok(alm_str name);
/* The errors for names that are not found; they say which name is near. pos: in the SQL text. */
alm_status alm_no_table(alm_ctx *cx, const alm_snapshot *snap, alm_str name, int32_t pos);
alm_status alm_no_column(alm_ctx *cx, const alm_table *table, alm_str name, int32_t pos);
alm_nearest alm_nearest_column(const alm_table *table, alm_str name);

/* Records: small values by key that others keep in the catalogue (auth/: who may do what), by ascending key.
 * Borrowed from the snapshot. */
typedef struct alm_record {
    alm_str key, value;
} alm_record;
uint64_t
alm_snapshot_records_lsn(const alm_snapshot *snap); /* of their newest change; 0: none yet */
size_t alm_snapshot_record_count(const alm_snapshot *snap);
alm_record alm_snapshot_record_at(const alm_snapshot *snap, size_t i);
/* All of a snapshot, for as long as they are kept; NULL: there are none. Keys have a zero behind their last byte. */
typedef struct alm_records alm_records;
alm_records *alm_snapshot_records(const alm_snapshot *snap);
/* Of rows in any order, which are nobody's snapshot; refs = 1. */
ALM_NODISCARD alm_status alm_records_new(alm_ctx *cx, const alm_record *rows, uint32_t n,
                                         alm_records **out);
alm_records *alm_records_retain(alm_records *records); /* NULL: nothing */
void alm_records_release(alm_records *records);
alm_record alm_records_at(const alm_records *records, size_t i);
/* Place of the first key that is not below; their number: there is none. */
uint32_t alm_records_from(const alm_records *records, alm_str key);

#endif
