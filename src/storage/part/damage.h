/*
 * damage.h - what is known to be damaged, until it is gone: for the log of the server, /warnings, the health check and
 * the metrics. One entry for a file, so that as many are kept as files are damaged.
 *
 * Found       by a read, by whoever reads to write again, by BACKUP, by the archiver and by the scrub.
 * Ends        when the file goes (its partition or table was dropped, it was merged or restored), or when a scrub
 *             finds it good.
 * Threads     any; a lock of its own, below all others.
 */
#ifndef ALM_STORAGE_DAMAGE_H
#define ALM_STORAGE_DAMAGE_H

#include <pthread.h>

#include "storage/storage.h"

typedef enum alm_damage_kind {
    ALM_DAMAGE_PART,       /* id: of the file */
    ALM_DAMAGE_DICTIONARY, /* id: of the column */
    ALM_DAMAGE_CATALOGUE,  /* id 0: the newest, 1: the previous one */
    ALM_DAMAGE_LOG,        /* id: of the segment */
    ALM_DAMAGE_WORK        /* id: the alm_work_step that fails repeatedly (write/failing.h) */
} alm_damage_kind;

typedef struct alm_damage_key {
    alm_damage_kind kind;
    uint64_t table_id, id; /* table_id 0: of no table */
} alm_damage_key;

typedef struct alm_damage {
    alm_damage_key key;
    int64_t since_us;
    char *what;
} alm_damage;

typedef struct alm_damages {
    pthread_mutex_t lock;
    alm_damage *list;
    size_t n, cap;
    _Atomic int64_t known; /* n, without the lock */
    alm_counter found;     /* since the start */
} alm_damages;

void alm_damages_init(alm_damages *damages);
void alm_damages_deinit(alm_damages *damages);

/* Told in the log of the server when it is new. Without memory for the entry it is only told. */
void alm_damage_add(alm_storage *storage, alm_damage_key key, const char *what);
void alm_damage_end(alm_storage *storage, alm_damage_key key);
/* Is a segment of the log known to be damaged? */
bool alm_damage_has_log(alm_storage *storage);
/* Of a segment of the log that is given back: all up to this number. */
void alm_damage_end_log(alm_storage *storage, uint64_t number);

/* A part or overlay: what is open of it is compared again before it is read on. */
struct alm_file;
void alm_damage_of_file(const struct alm_file *file, const char *what);
/* What a read of a file of the table returned: damage (ALM_E_CORRUPT) is remembered, and the error says which
 * table it is; so does one of the disk (ALM_E_IO). Gives `status` back. */
alm_status alm_damage_of_table(alm_ctx *cx, const char *table, const struct alm_file *file,
                               alm_status status);

#endif
