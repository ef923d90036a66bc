/*
 * Goal: a file that was let go reads the same as one that was not, however it is read, and a byte that cannot be read is
 * told and hurts no other file. Method: many small files, each with bytes of its own, and a low limit; files that are cut,
 * replaced and removed; threads that read, open and close at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/maps.h"

enum { PAGE = 4096, BYTES = 3 * PAGE - 100, MANY = 600, FEW = 20 };

typedef struct files {
    char dir[64];
    alm_io_map *map[MANY];
} files;

static void path_of(const files *f, uint32_t k, char *path, size_t room)
{
    (void)snprintf(path, room, "%s/%u", f->dir, k);
}

/* Bytes that are of this file and this place, and never 0. */
static uint8_t byte_of(uint32_t k, size_t at)
{
    return (uint8_t)(1 + (k * 31 + at / PAGE * 7 + at) % 255);
}

static void put_file(const files *f, uint32_t k)
{
    char path[128];
    uint8_t bytes[BYTES];
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = byte_of(k, i);
    path_of(f, k, path, sizeof path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, BYTES), BYTES);
    (void)close(fd);
}

static alm_io_map *open_map(const files *f, uint32_t k)
{
    char path[128];
    alm_io_map *map = NULL;
    path_of(f, k, path, sizeof path);
    assert_int_equal(alm_maps_open(AT_FDCWD, path, &map), 0);
    assert_int_equal(map->bytes, BYTES);
    return map;
}

static void files_init(files *f, uint32_t n, int64_t limit)
{
    *f = (files){.dir = "/tmp/alm_maps_test.XXXXXX"};
    assert_non_null(mkdtemp(f->dir));
    alm_maps_limit(limit);
    alm_maps_catch(); /* cmocka has handlers of its own for each test */
    for (uint32_t k = 0; k < n; k++) {
        put_file(f, k);
        f->map[k] = open_map(f, k);
    }
}

static void files_deinit(files *f)
{
    char path[128];
    for (uint32_t k = 0; k < MANY; k++) {
        if (f->map[k] != NULL)
            alm_maps_close(f->map[k]);
        path_of(f, k, path, sizeof path);
        (void)unlink(path);
    }
    (void)rmdir(f->dir);
    alm_io_map_counts counts;
    alm_maps_counts(&counts);
    assert_int_equal(counts.open, 0);
    assert_int_equal(counts.in, 0);
}

/* As a kernel reads them: without asking. */
static bool is_whole(const alm_io_map *map, uint32_t k)
{
    static const size_t places[] = {0, 17, PAGE - 1, PAGE, 2 * PAGE + 5, BYTES - 1};
    const uint8_t *bytes = map->at;
    bool good = true;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        good = good && bytes[places[i]] == byte_of(k, places[i]);
    return good;
}

static alm_io_map_counts counts_now(void)
{
    alm_io_map_counts counts;
    alm_maps_counts(&counts);
    return counts;
}

/* ------------------------------------------------------------------------------- limits */

static void they_go_and_come_back(void **state)
{
    (void)state;
    files f;
    files_init(&f, MANY, FEW);
    assert_int_equal(counts_now().open, MANY);
    assert_int_equal(counts_now().in, FEW);
    for (uint32_t k = 0; k < MANY; k++) {
        assert_int_equal(alm_maps_use(f.map[k]), 0);
        assert_true(is_whole(f.map[k], k));
        assert_true(counts_now().in <= FEW);
    }
    const alm_io_map_counts asked = counts_now();
    assert_true(asked.returns >= MANY - FEW);
    assert_int_equal(asked.returns_by_fault, 0);
    for (uint32_t k = 0; k < MANY; k++) { /* pointers are good without asking, too */
        assert_true(is_whole(f.map[k], k));
        assert_true(counts_now().in <= FEW);
    }
    assert_true(counts_now().returns_by_fault >= MANY - FEW);
    assert_int_equal(alm_maps_faults(), 0);
    files_deinit(&f);
}

static void what_is_used_stays(void **state)
{
    (void)state;
    files f;
    files_init(&f, MANY, FEW);
    assert_int_equal(alm_maps_use(f.map[7]), 0);
    const int64_t before = counts_now().returns;
    int64_t others = 0, again = 0;
    for (uint32_t k = 100; k < MANY; k++) {
        again += !alm_io_map_is_ready(f.map[7]);
        assert_int_equal(alm_maps_use(f.map[7]), 0);
        others += !alm_io_map_is_ready(f.map[k]);
        assert_int_equal(alm_maps_use(f.map[k]), 0);
    }
    assert_int_equal(counts_now().returns - before, others + again);
    assert_true(others > MANY / 2);
    assert_true(again <= others / FEW); /* once in a round of the hand at the most */
    files_deinit(&f);
}

/* Lines of /proc/self/maps: what the system counts. */
static int64_t system_counts(void)
{
    FILE *in = fopen("/proc/self/maps", "re");
    int64_t n = 0;
    assert_non_null(in);
    for (int c = fgetc(in); c != EOF; c = fgetc(in))
        n += c == '\n';
    (void)fclose(in);
    return n;
}

static void what_went_is_nothing_to_the_system(void **state)
{
    (void)state;
    files f;
    const int64_t before = system_counts();
    files_init(&f, MANY, FEW);
    for (uint32_t k = 0; k < MANY; k += 7)
        assert_true(is_whole(f.map[k], k));
    assert_true(system_counts() - before <= 4 * FEW);
    files_deinit(&f);
}

/* ----------------------------------------------------------------------- system calls */

static void system_calls_read_them(void **state)
{
    (void)state;
    files f;
    char path[128];
    uint8_t bytes[BYTES];
    const alm_io *io = alm_io_posix();
    files_init(&f, MANY, 1);
    path_of(&f, MANY, path, sizeof path);
    const int fd = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE);
    assert_true(fd >= 0);
    for (uint32_t k = 0; k < MANY; k++) {
        if (k % 2 == 0)
            assert_int_equal(io->write(io, fd, f.map[k]->at, BYTES, 0), BYTES);
        else
            assert_int_equal(io->prefetch(io, f.map[k]->at, BYTES), 0);
        if (k % 2 != 0)
            continue;
        assert_int_equal(io->read(io, fd, bytes, BYTES, 0), BYTES);
        for (size_t i = 0; i < BYTES; i++)
            assert_int_equal(bytes[i], byte_of(k, i));
    }
    assert_int_equal(io->write(io, fd, (const void *)(uintptr_t)PAGE, 1, 0), -EFAULT);
    (void)io->close(io, fd);
    (void)unlink(path);
    files_deinit(&f);
}

/* --------------------------------------------------------------------------- damage */

static void a_file_that_was_cut(void **state)
{
    (void)state;
    files f;
    char path[128];
    const int64_t faults = alm_maps_faults();
    files_init(&f, MANY, MANY + 1);
    path_of(&f, MANY / 2, path, sizeof path);
    assert_int_equal(truncate(path, PAGE), 0);
    const uint8_t *bytes = f.map[MANY / 2]->at;
    assert_int_equal(bytes[PAGE - 1], byte_of(MANY / 2, PAGE - 1));
    assert_int_equal(bytes[PAGE], 0);
    assert_int_equal(bytes[2 * PAGE], 0);
    assert_int_equal(alm_maps_faults(), faults + 2);
    assert_int_equal(alm_maps_use(f.map[MANY / 2]), -EIO);
    assert_true(alm_maps_is_broken(bytes + 5));
    alm_maps_limit(FEW); /* the others go and come, it stays broken */
    for (uint32_t k = 0; k < MANY; k++) {
        if (k == MANY / 2)
            continue;
        assert_int_equal(alm_maps_use(f.map[k]), 0);
        assert_true(is_whole(f.map[k], k));
        assert_false(alm_maps_is_broken(f.map[k]->at));
    }
    assert_int_equal(bytes[PAGE], 0);
    assert_int_equal(alm_maps_use(f.map[MANY / 2]), -EIO);
    assert_int_equal(alm_maps_faults(), faults + 2);
    files_deinit(&f);
}

/* Cut while it was out: it comes back, and its bytes do not. */
static void a_file_that_was_cut_meanwhile(void **state)
{
    (void)state;
    files f;
    char path[128];
    const alm_io *io = alm_io_posix();
    files_init(&f, 10, 1);
    path_of(&f, 3, path, sizeof path);
    assert_int_equal(truncate(path, PAGE), 0);
    assert_int_equal(io->prefetch(io, f.map[3]->at, BYTES), -EFAULT);
    assert_int_equal(((const uint8_t *)f.map[3]->at)[PAGE], 0);
    assert_int_equal(alm_maps_use(f.map[3]), -EIO);
    files_deinit(&f);
}

static void a_file_that_is_another(void **state)
{
    (void)state;
    files f;
    char path[128], other[128];
    files_init(&f, 10, 1);
    path_of(&f, 3, path, sizeof path);
    path_of(&f, 5, other, sizeof other);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(alm_maps_use(f.map[3]), -ESTALE);
    assert_int_equal(alm_maps_use(f.map[5]), -ENOENT);
    const int64_t faults = alm_maps_faults();
    assert_int_equal(*(const uint8_t *)f.map[3]->at, 0); /* never bytes of the other */
    assert_int_equal(*(const uint8_t *)f.map[5]->at, 0);
    assert_int_equal(alm_maps_faults(), faults + 2);
    assert_int_equal(alm_maps_use(f.map[3]), -EIO);
    assert_true(is_whole(f.map[4], 4));
    files_deinit(&f);
}

static void no_file_and_no_bytes(void **state)
{
    (void)state;
    files f;
    char path[128];
    alm_io_map *map = NULL;
    files_init(&f, 1, 1);
    assert_int_equal(alm_maps_open(AT_FDCWD, "/tmp/alm_maps_test/none", &map), -ENOENT);
    path_of(&f, 0, path, sizeof path);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(alm_maps_open(AT_FDCWD, path, &map), -ENODATA);
    assert_null(map);
    files_deinit(&f);
}

/* Descriptors that run out while a pointer is followed: the thread waits for one. */
static void *give_back(void *arg)
{
    const struct rlimit *limit = arg;
    const struct timespec pause = {.tv_nsec = 50000000};
    (void)nanosleep(&pause, NULL);
    (void)setrlimit(RLIMIT_NOFILE, limit);
    return NULL;
}

static void descriptors_run_out(void **state)
{
    (void)state;
    files f;
    pthread_t thread;
    struct rlimit before, none;
    files_init(&f, 10, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(alm_maps_use(f.map[3]), -EMFILE); /* who asks is told */
    assert_int_equal(pthread_create(&thread, NULL, give_back, &before), 0);
    assert_true(is_whole(f.map[3], 3));
    assert_int_equal(pthread_join(thread, NULL), 0);
    files_deinit(&f);
}

/* ------------------------------------------------------------------- faults of others */

static int end_of(void (*body)(files *f), files *f)
{
    int status = 0;
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, 2);            /* what a sanitizer says */
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's would go on with the tests */
        alm_maps_catch();
        body(f);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void write_to_a_map(files *f)
{
    void *plain;
    memcpy(&plain, &f->map[1]->at, sizeof plain);
    *(volatile uint8_t *)plain = 1;
}

static void read_nothing(files *f)
{
    (void)f;
    volatile uintptr_t nowhere = 64;
    (void)*(volatile uint8_t *)nowhere;
}

static void faults_of_others_end_the_process(void **state)
{
    (void)state;
    files f;
    files_init(&f, 10, 4);
    assert_int_not_equal(end_of(write_to_a_map, &f), 0);
    assert_int_not_equal(end_of(read_nothing, &f), 0);
    files_deinit(&f);
}

/* ---------------------------------------------------------------------------- threads */

enum { THREADS = 4, SHARED = 40, TURNS = 500 };

typedef struct reader {
    const files *f;
    uint32_t number;
    int64_t wrong;
} reader;

static void *read_all(void *arg)
{
    reader *r = arg;
    uint64_t seed = r->number;
    for (int turn = 0; turn < TURNS; turn++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const uint32_t k = (uint32_t)(seed >> 33) % SHARED;
        if (turn % 3 == 0 && !alm_io_map_is_ready(r->f->map[k]))
            r->wrong += alm_maps_use(r->f->map[k]) != 0;
        r->wrong += !is_whole(r->f->map[k], k);
        if (turn % 5 == 0) { /* one of its own comes and goes */
            const uint32_t own = SHARED + r->number;
            char path[128];
            alm_io_map *map = NULL;
            path_of(r->f, own, path, sizeof path);
            if (alm_maps_open(AT_FDCWD, path, &map) != 0) {
                r->wrong++;
                continue;
            }
            r->wrong += !is_whole(map, own);
            alm_maps_close(map);
        }
    }
    return NULL;
}

static void many_at_once(void **state)
{
    (void)state;
    files f;
    pthread_t threads[THREADS];
    reader readers[THREADS];
    const int64_t faults = alm_maps_faults();
    files_init(&f, SHARED + THREADS, 8);
    for (uint32_t i = 0; i < THREADS; i++) {
        readers[i] = (reader){.f = &f, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].wrong, 0);
    }
    assert_true(counts_now().in <= 8 + THREADS);
    assert_true(counts_now().let_go > SHARED);
    assert_int_equal(alm_maps_faults(), faults);
    files_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_go_and_come_back),
                                       cmocka_unit_test(what_is_used_stays),
                                       cmocka_unit_test(what_went_is_nothing_to_the_system),
                                       cmocka_unit_test(system_calls_read_them),
                                       cmocka_unit_test(a_file_that_was_cut),
                                       cmocka_unit_test(a_file_that_was_cut_meanwhile),
                                       cmocka_unit_test(a_file_that_is_another),
                                       cmocka_unit_test(no_file_and_no_bytes),
                                       cmocka_unit_test(descriptors_run_out),
                                       cmocka_unit_test(faults_of_others_end_the_process),
                                       cmocka_unit_test(many_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
