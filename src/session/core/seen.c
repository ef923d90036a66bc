/*
 * seen.c - the version of all that decides about permissions (alm_seen): the epoch of the records, and a counter for what is no record.
 */
#include "session/core/session_state.h"

void alm_access_changed(alm_db *db)
{
    atomic_fetch_add_explicit(&db->access.version, 1, memory_order_release);
}

alm_seen alm_seen_now(const alm_db *db)
{
    return (alm_seen){.version = atomic_load_explicit(&db->access.version, memory_order_acquire),
                      .records = alm_storage_records_lsn(db->storage)};
}

bool alm_seen_holds(const alm_db *db, const alm_seen *seen)
{
    return seen->records == alm_storage_records_lsn(db->storage) &&
           seen->version == atomic_load_explicit(&db->access.version, memory_order_acquire) &&
           (seen->until_us == 0 || db->io->wall_ns(db->io) / 1000 < seen->until_us);
}
