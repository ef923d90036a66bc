/*
 * txn_part.h - parts of a transaction, as it and its savepoints list them.
 *
 * A part that an UPDATE or DELETE replaces while a savepoint lists it is no longer kept as files: it keeps the part that came
 * instead, and an undo (undo.h). It is made again when the transaction went back to the savepoint and is read. So a
 * savepoint costs what the statements behind it changed, not the columns in which they did.
 *
 *     savepoint 1      savepoint 2      the transaction
 *         v                v                  v
 *      [ undo ] -next-> [ undo ] -next-> [ files ]
 *
 * Chain       `next` is counted, `prev` is not; a part has one of each at the most. A part between two others that no
 *             savepoint lists leaves the chain: its undo goes to the one before it.
 * Kept whole  Where an undo would save little, the files stay. While none but savepoints needs them, they are charged to the
 *             space of temporary files (query.spill.max, query.spill.user.max): without those of the published part, which
 *             are there in any case, and until the transaction lists the part again.
 * Threads     As the transaction: one at a time.
 */
#ifndef ALM_STORAGE_TXN_PART_H
#define ALM_STORAGE_TXN_PART_H

#include "storage/write/undo.h"

struct alm_spill_space;

typedef struct alm_txn_part alm_txn_part;
struct alm_txn_part {
    uint32_t refs;           /* lists it is in, and `next` of another */
    alm_part_ref *ref;       /* NULL: to be made from `next`; counted */
    alm_part_ref *published; /* in whose place it is, or NULL: its rows are new; counted */
    alm_txn_part *next;      /* of which it is made; counted */
    alm_txn_part *prev;      /* that is made of this one */
    alm_undo *undo;          /* makes it of `next`; the newest first */
    int64_t undo_bytes;      /* of them */
    int64_t chain_bytes;     /* of the undos of those before it */
    int64_t kept_bytes;      /* charged for files that only savepoints need */
    struct alm_spill_space *space;
    alm_mem *files; /* account of the user, or NULL */
};

/* Takes references of its own to the parts. */
ALM_NODISCARD alm_status alm_txn_part_new(alm_ctx *cx, alm_part_ref *ref, alm_part_ref *published,
                                          alm_txn_part **out);
alm_txn_part *alm_txn_part_retain(alm_txn_part *part);
void alm_txn_part_release(alm_txn_part *part); /* NULL is fine */

/* Does a savepoint need what the transaction is about to replace? It is listed by the transaction. */
static inline bool alm_txn_part_is_shared(const alm_txn_part *part)
{
    return part->refs > 1;
}
/* The transaction, which lists `was`, will list `now` instead (NULL: nothing is left). Takes *undo over, which becomes NULL,
 * or leaves it. `version`: see alm_txn_part_make. After an error `was` can still be listed. */
ALM_NODISCARD alm_status alm_txn_part_replace(alm_ctx *cx, alm_storage *storage,
                                              const alm_version *version, alm_txn_part *was,
                                              alm_txn_part *now, alm_undo **undo);
/* The transaction went back, and lists it again. */
void alm_txn_part_is_back(alm_txn_part *part);
/* Makes part->ref. `version` has the columns of the table and its newest symbols. */
ALM_NODISCARD alm_status alm_txn_part_make(alm_ctx *cx, alm_storage *storage,
                                           const alm_version *version, alm_txn_part *part);

#endif
