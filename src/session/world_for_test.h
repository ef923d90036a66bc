/*
 * world_for_test.h - a database in a folder of its own with one session, for unit tests of session/. Include
 * behind cmocka.h.
 */
#ifndef ALM_SESSION_WORLD_FOR_TEST_H
#define ALM_SESSION_WORLD_FOR_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "session/core/session_state.h"

typedef struct world {
    char root[64];
    alm_arena arena;
    alm_ctx cx;
    alm_conf conf;
    alm_db *db;
    alm_session *s; /* of "admin" */
    int64_t fresh;  /* for texts that never came before */
} world;

static inline alm_session *connect_as(world *w, const char *user)
{
    alm_session *s = NULL;
    assert_int_equal(alm_session_new(&w->cx, w->db, user, "library", &s), ALM_OK);
    return s;
}

static inline void open_world(world *w)
{
    assert_int_equal(alm_db_new(&w->cx, alm_io_posix(), w->root, &w->conf, &w->db), ALM_OK);
    w->s = connect_as(w, "admin");
}

/* As a set-up of cmocka. */
static inline int world_new(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    (void)snprintf(w->root, sizeof w->root, "/tmp/almanac_test_XXXXXX");
    assert_non_null(mkdtemp(w->root));
    alm_arena_init(&w->arena, NULL);
    w->cx.arena = &w->arena;
    assert_int_equal(alm_conf_init(&w->cx, &w->conf), ALM_OK);
    open_world(w);
    *state = w;
    return 0;
}

static inline int world_free(void **state)
{
    world *w = *state;
    char command[128];
    alm_session_free(w->s);
    alm_db_free(w->db, 0);
    alm_conf_deinit(&w->conf);
    alm_arena_deinit(&w->arena);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", w->root);
    assert_int_equal(system(command), 0); /* NOLINT: our own folder */
    free(w);
    return 0;
}

#endif
