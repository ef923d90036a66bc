/*
 * impl.h - inside of a symbol dictionary, shared by dict.c (memory), space.c (its limits) and
 * file.c (file).
 */
#ifndef ALM_STORAGE_DICT_IMPL_H
#define ALM_STORAGE_DICT_IMPL_H

#include <pthread.h>

#include "storage/dict/dict.h"

/* Open addressing; slot: hash bits 32..63 << 32 | code, 0 empty. */
typedef struct symbols_table {
    uint64_t mask;
    _Atomic uint64_t slots[];
} symbols_table;

typedef struct symbols_heap {
    struct symbols_heap *next;
    size_t len, cap;
    char bytes[];
} symbols_heap;

/* Memory of the symbols that follow each other in a dictionary and were written first by one user. */
typedef struct symbols_charge {
    alm_mem *
        account; /* of the user; must outlive the dictionary. NULL: the values are not charged to a user */
    uint32_t first; /* code of the first of them; the next entry has the code behind the last */
    int64_t bytes;  /* charged to the account until the dictionary is freed */
} symbols_charge;

struct alm_symbols {
    _Atomic uint32_t refs;
    alm_symbols_space *space; /* or NULL */
    alm_mem *maker;           /* account of the user who created the column; NULL: not charged */
    uint32_t id, col_id;
    char *lost; /* lost.c; set before others see the dictionary */
    uint32_t kept_count, kept_crc;
    uint64_t table_id, database_id;
    _Atomic(alm_view *) views; /* address form */
    _Atomic uint32_t count;
    _Atomic(symbols_table *) table;
    _Atomic int64_t bytes;
    pthread_mutex_t lock; /* of everything below, and of changes above */
    uint32_t views_cap;
    symbols_heap *heap;
    void **retired; /* outgrown arrays: each is half of its successor */
    uint32_t n_retired, cap_retired;
    uint32_t saved_count;    /* codes the file holds + 1 */
    int64_t saved_bytes;     /* length of the file up to there */
    uint32_t saved_version;  /* of its records; 0: there is no file */
    symbols_charge *charges; /* by `first`; no two neighbours are of one account */
    uint32_t n_charges, cap_charges;
    atomic_bool replaced; /* alm_symbols_replace: no value may come any more */
    uint32_t summed, crc; /* alm_symbols_crc of the first `summed` codes; 0: of none */
};

/* space.c, all under the lock. May the statement add a symbol of `len` bytes? ALM_E_LIMIT names the setting. After ALM_OK there is
 * room for the entry that alm_symbols_charge needs, so that it cannot fail. */
ALM_NODISCARD alm_status alm_symbols_admit(alm_ctx *cx, alm_symbols *sym, size_t len);
void alm_symbols_charge(const alm_ctx *cx, alm_symbols *sym, uint32_t code, size_t len);
/* `to` has the first values of `from`, and no charges: they are charged once more, to the same accounts. */
ALM_NODISCARD alm_status alm_symbols_share_charges(alm_ctx *cx, const alm_symbols *from,
                                                   alm_symbols *to);
/* Gives everything back to the accounts; for the last release. */
void alm_symbols_uncharge(alm_symbols *sym);

/* A record of the file; u32 length x n and the texts follow. */
enum {
    ALM_DICT_RECORD_MAGIC = 0x52434944, /* "DICR" */
    ALM_DICT_SUMMED = 3 /* the checksum of a record covers `first` and `n` from here on */
};
typedef struct alm_dict_record {
    uint32_t magic, first, n;
    uint32_t crc; /* of first and n (from version 3 on), text_bytes, lengths and text */
    uint64_t text_bytes;
} alm_dict_record;
_Static_assert(sizeof(alm_dict_record) == 24, "on disk");

/* What the header says of the records. */
typedef struct alm_dict_form {
    uint32_t version;
    size_t bytes; /* of the header: where the first record stands */
} alm_dict_form;
/* Is it the file of this dictionary? */
ALM_NODISCARD alm_status alm_dict_check_header(alm_ctx *cx, const alm_symbols *sym,
                                               const char *path, const char *map, size_t size,
                                               alm_dict_form *form);
typedef struct alm_dict_bytes {
    const char *path;
    const char *map;
    size_t size;
    uint32_t version; /* of the header */
} alm_dict_bytes;
/* The record at `offset`, of values from `first` on, whose checksum fits; *lens: its lengths, and after them its text. */
ALM_NODISCARD alm_status alm_dict_find_record(alm_ctx *cx, const alm_dict_bytes *file,
                                              size_t offset, uint32_t first, alm_dict_record *head,
                                              const char **lens);
/* Puts another text in the place of a placeholder. It is not found by alm_symbols_find. Nobody else uses the dictionary. */
ALM_NODISCARD alm_status alm_symbols_name(alm_ctx *cx, alm_symbols *sym, uint32_t code,
                                          alm_str text);

#endif
