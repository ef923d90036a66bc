/*
 * spill_fixture_for_test.h - temporary files on a simulated disk, for tests of operators that spill.
 */
#ifndef ALM_STORAGE_SPILL_FIXTURE_FOR_TEST_H
#define ALM_STORAGE_SPILL_FIXTURE_FOR_TEST_H

#include "io/sim.h"
#include "storage/spill/spill.h"

typedef struct spill_fixture {
    alm_sim *sim;
    alm_spill_space space;
} spill_fixture;

static inline alm_status spill_fixture_open(alm_ctx *cx, spill_fixture *f)
{
    f->sim = alm_sim_new(7);
    const alm_io *io = alm_sim_io(f->sim);
    (void)io->mkdir(io, "/r");
    return alm_spill_space_open(cx, &f->space, io, "/r/spill");
}

static inline void spill_fixture_close(spill_fixture *f)
{
    alm_sim_free(f->sim);
}

static inline int64_t spill_fixture_writes(const spill_fixture *f)
{
    return alm_sim_calls(f->sim, ALM_SIM_WRITE);
}

/* The nth write from now fails with this errno. */
static inline void spill_fixture_fail(spill_fixture *f, int64_t nth, int err)
{
    alm_sim_fail(f->sim, ALM_SIM_WRITE, nth, err, 1);
}

#endif
