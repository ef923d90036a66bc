/*
 * loop_test.c - connections on several loop threads.
 *
 * Method      A protocol of single letters over real sockets: 'e' comes back, 'w' comes back from a query thread, 't' and
 *             a digit tells the connection of that place, which sends 'T' to its client. The protocol notes on which
 *             thread it is called: always that of the connection. Then limits, and stopping while connections come.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/conf.h"
#include "net/conn/loop.h"

enum { LANES = 3, CONNECTIONS = 9, LIMIT = 12 };

typedef struct world {
    char root[64];
    alm_arena arena;
    alm_ctx cx;
    alm_conf conf;
    alm_db *db;
    alm_loop *loop;
    alm_listener *listener;
    alm_traffic traffic;
    pthread_mutex_t lock; /* ids */
    uint64_t ids[64];     /* in the order of their first letters */
    _Atomic uint32_t n_ids, strays, freed;
} world;

typedef struct peer {
    pthread_t thread;
    uint32_t to;
} peer;

static world *world_of(alm_conn *conn)
{
    return alm_conn_arg(conn);
}

static void check_thread(alm_conn *conn)
{
    const peer *p = alm_conn_state(conn);
    if (!pthread_equal(p->thread, pthread_self()))
        atomic_fetch_add(&world_of(conn)->strays, 1);
}

static void on_open(alm_conn *conn)
{
    peer *p = alm_conn_state(conn);
    p->thread = pthread_self();
}

static void work(void *arg)
{
    (void)arg;
    (void)usleep(100);
}

static void worked(alm_conn *conn, void *arg)
{
    (void)arg;
    check_thread(conn);
    alm_conn_send_bytes(conn, "w", 1);
}

static void tell(alm_conn *other, alm_conn *conn)
{
    (void)conn;
    check_thread(other);
    alm_conn_send_bytes(other, "T", 1);
}

static void told(alm_conn *conn, void *arg)
{
    (void)arg;
    check_thread(conn);
    alm_conn_send_bytes(conn, "t", 1);
}

static void on_tell(alm_conn *conn, char digit)
{
    world *w = world_of(conn);
    const uint32_t to = (uint32_t)(digit - '0');
    (void)pthread_mutex_lock(&w->lock);
    const uint64_t id = to < w->n_ids ? w->ids[to] : 12345678;
    (void)pthread_mutex_unlock(&w->lock);
    alm_conn_tell(conn, id, tell, told, NULL);
}

static size_t on_data(alm_conn *conn, const char *bytes, size_t n)
{
    world *w = world_of(conn);
    check_thread(conn);
    switch (bytes[0]) {
    case 'i': /* takes the next place */
        (void)pthread_mutex_lock(&w->lock);
        w->ids[w->n_ids % ALM_COUNT(w->ids)] = alm_conn_id(conn);
        w->n_ids++;
        (void)pthread_mutex_unlock(&w->lock);
        alm_conn_send_bytes(conn, "i", 1);
        return 1;
    case 'w':
        alm_conn_work(conn, work, worked, NULL, NULL);
        return 1;
    case 't':
        if (n < 2)
            return 0;
        on_tell(conn, bytes[1]);
        return 2;
    default:
        alm_conn_send_bytes(conn, bytes, 1);
        return 1;
    }
}

static void on_closing(alm_conn *conn)
{
    check_thread(conn);
}

static void on_close(alm_conn *conn)
{
    check_thread(conn);
    atomic_fetch_add(&world_of(conn)->freed, 1);
}

static void on_refuse(alm_conn *conn, const char *why)
{
    alm_conn_send_bytes(conn, why, strlen(why));
}

static const alm_protocol letters = {.name = "letters",
                                     .state_bytes = sizeof(peer),
                                     .open = on_open,
                                     .data = on_data,
                                     .closing = on_closing,
                                     .close = on_close,
                                     .refuse = on_refuse};

static int setup(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    (void)snprintf(w->root, sizeof w->root, "/tmp/loop_test_XXXXXX");
    assert_non_null(mkdtemp(w->root));
    (void)pthread_mutex_init(&w->lock, NULL);
    alm_arena_init(&w->arena, NULL);
    w->cx.arena = &w->arena;
    assert_int_equal(alm_conf_init(&w->cx, &w->conf), ALM_OK);
    assert_int_equal(alm_db_new(&w->cx, alm_io_posix(), w->root, &w->conf, &w->db), ALM_OK);
    assert_int_equal(alm_loop_new(&w->cx, w->db, LANES, 2, &w->loop), ALM_OK);
    static const int64_t limit = LIMIT;
    const alm_listen_conf conf = {.address = "127.0.0.1:0",
                                  .protocol = &letters,
                                  .arg = w,
                                  .connection_max = &limit,
                                  .limit_name = "test.limit",
                                  .traffic = &w->traffic};
    assert_int_equal(alm_loop_listen(&w->cx, w->loop, &conf, &w->listener), ALM_OK);
    assert_int_equal(alm_loop_start(&w->cx, w->loop), ALM_OK);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    char command[128];
    alm_loop_stop(w->loop, 0);
    alm_loop_free(w->loop);
    assert_int_equal(atomic_load(&w->strays), 0);
    assert_int_equal(atomic_load(&w->freed), atomic_load(&w->traffic.accepted));
    assert_int_equal(atomic_load(&w->traffic.connections), 0);
    alm_db_free(w->db, 0);
    alm_conf_deinit(&w->conf);
    alm_arena_deinit(&w->arena);
    (void)pthread_mutex_destroy(&w->lock);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", w->root);
    assert_int_equal(system(command), 0); /* NOLINT: our own folder */
    free(w);
    return 0;
}

static int dial(const world *w)
{
    const char *colon = strrchr(alm_listener_address(w->listener), ':');
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10)),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval wait = {.tv_sec = 20};
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* One letter back. */
static char heard(int fd)
{
    char c = 0;
    return recv(fd, &c, 1, 0) == 1 ? c : 0;
}

static char say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    return heard(fd);
}

static void dial_all(world *w, int fd[CONNECTIONS])
{
    for (size_t i = 0; i < CONNECTIONS; i++) {
        fd[i] = dial(w);
        assert_int_equal(say(fd[i], "i"), 'i');
    }
}

static void hang_up(const int *fd, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)close(fd[i]);
}

static void connections_spread(void **state)
{
    world *w = *state;
    int fd[CONNECTIONS];
    uint32_t on[LANES] = {0};
    dial_all(w, fd);
    (void)pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < CONNECTIONS; i++)
        on[w->ids[i] % LANES]++;
    (void)pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < LANES; i++)
        assert_int_equal(on[i], CONNECTIONS / LANES);
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < CONNECTIONS; i++)
            assert_int_equal(say(fd[i], round % 2 == 0 ? "e" : "w"), round % 2 == 0 ? 'e' : 'w');
    hang_up(fd, CONNECTIONS);
}

static void one_tells_another(void **state)
{
    world *w = *state;
    int fd[CONNECTIONS];
    char text[] = "t0";
    dial_all(w, fd);
    for (size_t from = 0; from < CONNECTIONS; from++) {
        for (size_t to = 0; to < CONNECTIONS; to++) {
            text[1] = (char)('0' + to);
            const char first = say(fd[from], text);
            if (from == to) { /* told before it is over */
                assert_int_equal(first, 'T');
                assert_int_equal(heard(fd[from]), 't');
            } else {
                assert_int_equal(first, 't');
                assert_int_equal(heard(fd[to]), 'T');
            }
        }
    }
    assert_int_equal(say(fd[0], "t9"), 't'); /* nobody is there */
    hang_up(fd, CONNECTIONS);
}

static void limit_holds_over_lanes(void **state)
{
    world *w = *state;
    int fd[LIMIT + 3];
    uint32_t refused = 0;
    for (size_t i = 0; i < ALM_COUNT(fd); i++)
        fd[i] = dial(w);
    for (size_t i = 0; i < ALM_COUNT(fd); i++) {
        const char c = say(fd[i], "e");
        refused += c == 't'; /* "too many connections ..." */
        assert_true(c == 'e' || c == 't');
    }
    assert_int_equal(refused, 3);
    hang_up(fd, ALM_COUNT(fd));
    for (int tries = 0; tries < 2000 && alm_listener_connections(w->listener) > 0; tries++)
        (void)usleep(5000); /* those that were refused linger */
    const int again = dial(w);
    assert_int_equal(say(again, "e"), 'e');
    hang_up(&again, 1);
}

typedef struct caller {
    world *w;
    _Atomic bool stop;
} caller;

static void *call_on(void *arg)
{
    caller *c = arg;
    while (!atomic_load(&c->stop)) {
        const char *colon = strrchr(alm_listener_address(c->w->listener), ':');
        struct sockaddr_in to = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10)),
                                 .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
            (void)(send(fd, "w", 1, MSG_NOSIGNAL) == 1 ? heard(fd) : 0);
        (void)close(fd);
    }
    return NULL;
}

/* teardown sees that every connection that was accepted was freed on its thread. */
static void stops_while_they_come(void **state)
{
    world *w = *state;
    caller c = {.w = w};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_on, &c), 0);
    (void)usleep(50000);
    alm_loop_stop(w->loop, 100);
    atomic_store(&c.stop, true);
    (void)pthread_join(thread, NULL);
    assert_true(atomic_load(&w->traffic.accepted) > 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {CASE(connections_spread), CASE(one_tells_another),
                                       CASE(limit_holds_over_lanes), CASE(stops_while_they_come)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
