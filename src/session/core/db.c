/*
 * db.c - what all sessions share: the machine's memory and processors, storage, settings.
 */
#include "base/log.h"
#include "session/core/session_state.h"

/* The limits of a container change while it runs: each reading of the settings looks again. */
void alm_db_look_at_machine(alm_db *db)
{
    const alm_io *io = db->io != NULL ? db->io : alm_io_posix();
    alm_machine now;
    io->machine(io, &now);
    ALM_ASSERT(now.memory_bytes > 0);
    ALM_ASSERT(now.processors > 0);
    const int64_t before = __atomic_exchange_n(&db->ram_bytes, now.memory_bytes, __ATOMIC_ACQ_REL);
    const uint32_t had = __atomic_exchange_n(&db->processors, now.processors, __ATOMIC_ACQ_REL);
    if (before != now.memory_bytes || had != now.processors)
        alm_log_info("server", "%lld MB of memory (%s), %u processors (%s)",
                     (long long)(now.memory_bytes >> 20), now.memory_by, now.processors,
                     now.processors_by);
}

int64_t alm_db_ram_bytes(const alm_db *db)
{
    return __atomic_load_n(&db->ram_bytes, __ATOMIC_ACQUIRE);
}

uint32_t alm_db_processors(const alm_db *db)
{
    return __atomic_load_n(&db->processors, __ATOMIC_ACQUIRE);
}

int64_t alm_db_memory_share(const alm_db *db, int64_t setting, int64_t most, int64_t part)
{
    ALM_ASSERT(part > 0);
    return setting > 0 ? setting : ALM_MIN(most, alm_db_ram_bytes(db) / part);
}

const char *alm_db_root(const alm_db *db)
{
    return db->root;
}
alm_storage *alm_db_storage(alm_db *db)
{
    return db->storage;
}
const alm_registry *alm_db_registry(const alm_db *db)
{
    return db->registry;
}
alm_mem *alm_db_memory(alm_db *db)
{
    return &db->mem;
}

const struct alm_conf *alm_db_conf(const alm_db *db)
{
    return db->conf;
}
