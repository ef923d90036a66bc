/*
 * env_for_test.h - what unit tests of this folder start with: a context with an arena and the zones of the
 * system. Include it behind cmocka's headers.
 */
#ifndef ALM_TIME_ENV_FOR_TEST_H
#define ALM_TIME_ENV_FOR_TEST_H

#include "time/zone.h"
#include "time/zone_files_for_test.h"

typedef struct env {
    alm_ctx cx;
    alm_arena arena;
} env;

static int setup(void **state)
{
    static env e;
    e = (env){0};
    alm_arena_init(&e.arena, NULL);
    e.cx.arena = &e.arena;
    if (alm_zones_new(&e.cx, alm_zone_file_for_test, NULL, &e.cx.zones) != ALM_OK)
        return -1;
    *state = &e;
    return 0;
}

static int teardown(void **state)
{
    env *e = *state;
    alm_zones_free(e->cx.zones);
    alm_arena_deinit(&e->arena);
    return 0;
}

#endif
