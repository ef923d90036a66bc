/*
 * Goal: no path below a folder leads out of it, whatever is in the folder and however it changes meanwhile. Method: links of
 * every kind, and a thread that exchanges a directory and a link all the while; with openat2 and without.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/io.h"

enum { WRITE_NEW = ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_EXCLUSIVE, TURNS = 4000 };

typedef struct place {
    char top[64]; /* has `below`, the folder, and `secret`, which is outside of it */
    alm_io io;
    int dir;
} place;

static void put(const place *p, const char *path, const char *text)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s/%s", p->top, path);
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void link_to(const place *p, const char *path, const char *to)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s/%s", p->top, path);
    assert_int_equal(symlink(to, full), 0);
}

static void folder(const place *p, const char *path)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s/%s", p->top, path);
    assert_int_equal(mkdir(full, 0700), 0);
}

static void place_init(place *p, bool without_openat2)
{
    char full[256];
    p->io = without_openat2 ? alm_io_posix_without_openat2() : *alm_io_posix();
    (void)snprintf(p->top, sizeof p->top, "/tmp/alm_posix_test.XXXXXX");
    assert_non_null(mkdtemp(p->top));
    folder(p, "below");
    folder(p, "below/a");
    folder(p, "below/a/b");
    folder(p, "secret");
    put(p, "secret/f", "outside");
    put(p, "below/a/b/f", "inside");
    put(p, "below/f", "inside");
    (void)snprintf(full, sizeof full, "%s/below", p->top);
    p->dir = p->io.open_dir(&p->io, full);
    assert_true(p->dir >= 0);
}

static void place_deinit(place *p)
{
    char command[128];
    (void)p->io.close(&p->io, p->dir);
    (void)snprintf(command, sizeof command, "rm -rf %s", p->top);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed command */
}

/* The first letter of the file, or an errno. */
static int first_letter(const place *p, const char *path, uint32_t flags)
{
    char c = 0;
    const int h = p->io.open_below(&p->io, p->dir, path, ALM_IO_READ | flags);
    if (h < 0)
        return h;
    assert_int_equal(p->io.read(&p->io, h, &c, 1, 0), 1);
    (void)p->io.close(&p->io, h);
    return c;
}

static void links_that_lead_out(bool without)
{
    char out[256];
    place p;
    place_init(&p, without);
    (void)snprintf(out, sizeof out, "%s/secret", p.top);
    link_to(&p, "below/up", "../secret");
    link_to(&p, "below/far", out);
    link_to(&p, "below/a/b/up", "../../../secret/f");
    link_to(&p, "below/a/b/none", "../../../secret/none");
    link_to(&p, "below/self", "/proc/self/cwd");
    link_to(&p, "below/again", "again");
    static const char *const paths[] = {"up/f",        "up/none",          "far/f",  "far/none",
                                        "a/b/up",      "a/b/none",         "self/f", "again",
                                        "../secret/f", "a/../../secret/f", "..",     "/etc/passwd"};
    for (size_t i = 0; i < ALM_COUNT(paths); i++) {
        const int code = first_letter(&p, paths[i], 0);
        assert_true(code == -EXDEV || code == -ELOOP); /* never whether it is there */
        const int made = p.io.open_below(&p.io, p.dir, paths[i], WRITE_NEW);
        assert_true(made == -EXDEV || made == -ELOOP || made == -EEXIST);
    }
    assert_int_equal(first_letter(&p, "a/b/f", ALM_IO_NO_LINKS), 'i');
    assert_int_equal(first_letter(&p, "a//b/./f", 0), 'i');
    assert_int_equal(first_letter(&p, "a/b", 0), -EINVAL);
    assert_int_equal(first_letter(&p, "", 0), -ENOENT);
    assert_int_equal(first_letter(&p, "a/none/f", 0), -ENOENT);
    assert_int_equal(first_letter(&p, "f/f", 0), -ENOTDIR);
    assert_true(p.io.open_dir_below(&p.io, p.dir, "up", 0) < 0);
    assert_true(p.io.open_dir_below(&p.io, p.dir, "a/../..", 0) < 0);
    place_deinit(&p);
}

static void no_link_leads_out(void **state)
{
    (void)state;
    links_that_lead_out(false);
    links_that_lead_out(true);
}

static void links_inside(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++) {
        place p;
        place_init(&p, without);
        link_to(&p, "below/g", "a/b/f");
        link_to(&p, "below/a/b/back", "../../a");
        const int wanted = without ? -ELOOP : 'i';
        assert_int_equal(first_letter(&p, "g", 0), wanted);
        assert_int_equal(first_letter(&p, "a/b/back/b/f", 0), wanted);
        assert_int_equal(first_letter(&p, "g", ALM_IO_NO_LINKS), -ELOOP);
        assert_int_equal(first_letter(&p, "a/b/back/b/f", ALM_IO_NO_LINKS), -ELOOP);
        assert_int_equal(p.io.open_dir_below(&p.io, p.dir, "a/b/back", ALM_IO_NO_LINKS), -ELOOP);
        place_deinit(&p);
    }
}

static int count_name(void *arg, const char *name)
{
    assert_true(name[0] != '.');
    ++*(int *)arg;
    return 0;
}

/* A folder stays what it was when its name goes to another; names are of the entry, not of what a link is to. */
static void names_in_a_folder(void **state)
{
    (void)state;
    place p;
    alm_io_stat meta;
    char from[256], to[256];
    int n = 0;
    place_init(&p, false);
    const alm_io *io = &p.io;
    const int a = io->open_dir_below(io, p.dir, "a", ALM_IO_NO_LINKS);
    assert_true(a >= 0);
    (void)snprintf(from, sizeof from, "%s/below/a", p.top);
    (void)snprintf(to, sizeof to, "%s/below/moved", p.top);
    assert_int_equal(rename(from, to), 0);
    link_to(&p, "below/a", "../secret");
    assert_int_equal(io->stat_in(io, p.dir, "a", &meta), 0);
    assert_true(!meta.is_dir && !meta.is_file);
    const int h = io->open_below(io, a, "new", WRITE_NEW);
    assert_true(h >= 0);
    assert_int_equal(io->write(io, h, "inside", 6, 0), 6);
    (void)io->close(io, h);
    assert_int_equal(first_letter(&p, "moved/new", 0), 'i');
    assert_int_equal(io->list_in(io, a, count_name, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(io->mkdir_in(io, a, "sub"), 0);
    assert_int_equal(io->mkdir_in(io, a, "sub"), -EEXIST);
    const int sub = io->open_dir_below(io, a, "sub", 0);
    assert_int_equal(io->rename_in(io, a, "new", sub, "newer"), 0);
    assert_int_equal(io->sync_in(io, sub), 0);
    assert_int_equal(first_letter(&p, "moved/sub/newer", 0), 'i');
    assert_int_equal(io->unlink_in(io, sub, "newer"), 0);
    assert_int_equal(io->unlink_in(io, p.dir, "a"), 0); /* the link, not what it is to */
    assert_int_equal(first_letter(&p, "moved/b/f", 0), 'i');
    (void)io->close(io, sub);
    (void)io->close(io, a);
    place_deinit(&p);
}

/* -------------------------------------------------------------------- a race */

typedef struct race {
    const place *p;
    atomic_bool stop;
} race;

static void *exchange(void *arg)
{
    race *r = arg;
    char real[256], link[256];
    (void)snprintf(real, sizeof real, "%s/below/a", r->p->top);
    (void)snprintf(link, sizeof link, "%s/below/away", r->p->top);
    while (!atomic_load(&r->stop))
        (void)renameat2(AT_FDCWD, real, AT_FDCWD, link, RENAME_EXCHANGE);
    return NULL;
}

static void races(bool without)
{
    place p;
    pthread_t thread;
    race r = {.p = &p};
    int inside = 0, refused = 0, n = 0;
    char path[256];
    place_init(&p, without);
    link_to(&p, "below/away", "../secret");
    folder(&p, "secret/b");
    put(&p, "secret/b/f", "outside");
    assert_int_equal(pthread_create(&thread, NULL, exchange, &r), 0);
    for (int i = 0; i < TURNS || ((inside == 0 || refused == 0) && i < 100 * TURNS); i++) {
        const int got = first_letter(&p, "a/b/f", 0);
        assert_true(got == 'i' || got == -EXDEV || got == -ELOOP || got == -EAGAIN);
        inside += got == 'i';
        refused += got != 'i';
        const int h = p.io.open_below(&p.io, p.dir, "a/b/made",
                                      ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
        if (h >= 0)
            (void)p.io.close(&p.io, h);
    }
    atomic_store(&r.stop, true);
    (void)pthread_join(thread, NULL);
    assert_true(inside > 0 && refused > 0); /* there was a race */
    (void)snprintf(path, sizeof path, "%s/secret/b", p.top);
    const int secret = p.io.open_dir(&p.io, path);
    assert_int_equal(p.io.list_in(&p.io, secret, count_name, &n), 0);
    assert_int_equal(n, 1);
    (void)p.io.close(&p.io, secret);
    place_deinit(&p);
}

static void no_race_leads_out(void **state)
{
    (void)state;
    races(false);
    races(true);
}

static void put_text(const char *path, const char *text)
{
    const alm_io *io = alm_io_posix();
    const int h = io->open(io, path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    assert_true(h >= 0);
    assert_int_equal(io->write(io, h, text, strlen(text), 0), (int64_t)strlen(text));
    (void)io->close(io, h);
}

static int letter_of(const char *path)
{
    const alm_io *io = alm_io_posix();
    char letter = 0;
    const int h = io->open(io, path, ALM_IO_READ);
    if (h < 0)
        return h;
    assert_int_equal(io->read(io, h, &letter, 1, 0), 1);
    (void)io->close(io, h);
    return letter;
}

/* Each call by name means the directory that is pinned, whatever has its name by now. */
static void names_that_are_pinned(void **state)
{
    const alm_io *io = alm_io_posix();
    char top[] = "/tmp/alm_pin_XXXXXX", was[64], now[64], a[80], b[80], sub[80], other[64],
         beside[64];
    alm_io_stat meta;
    int n = 0;
    (void)state;
    assert_non_null(mkdtemp(top));
    (void)snprintf(was, sizeof was, "%s/was", top);
    (void)snprintf(now, sizeof now, "%s/now", top);
    (void)snprintf(other, sizeof other, "%s/now/a", top);
    (void)snprintf(beside, sizeof beside, "%s/was2", top);
    (void)snprintf(a, sizeof a, "%s//a", was);
    (void)snprintf(b, sizeof b, "%s/b", was);
    (void)snprintf(sub, sizeof sub, "%s/sub", was);
    assert_int_equal(io->mkdir(io, was), 0);
    put_text(a, "old");
    const int dir = io->open_dir(io, was);
    assert_int_equal(io->pin(io, was, dir), 0);
    assert_int_equal(io->pin(io, was, dir), -EBUSY);
    assert_int_equal(rename(was, now), 0);
    assert_int_equal(mkdir(was, 0700), 0); /* another directory takes the name */
    assert_int_equal(letter_of(a), 'o');
    assert_int_equal(letter_of(beside), -ENOENT);
    put_text(b, "made");
    assert_int_equal(io->stat(io, was, &meta), 0);
    assert_int_equal(io->rename(io, b, a), 0);
    assert_int_equal(letter_of(other), 'm');
    assert_int_equal(io->mkdir(io, sub), 0);
    assert_int_equal(io->mkdir(io, sub), 0);
    assert_int_equal(io->list(io, was, count_name, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(io->sync_dir(io, was), 0);
    assert_int_equal(io->rmdir(io, sub), 0);
    put_text(beside, "beside"); /* only begins with the same letters */
    assert_int_equal(io->unlink(io, beside), 0);
    assert_int_equal(io->unlink(io, a), 0);
    io->unpin(io, dir);
    assert_int_equal(letter_of(a), -ENOENT);
    assert_int_equal(io->rmdir(io, was), 0); /* nothing came there */
    assert_int_equal(io->rmdir(io, now), 0);
    (void)io->close(io, dir);
    assert_int_equal(rmdir(top), 0);
}

static void directories_are_locked(void **state)
{
    const alm_io *io = alm_io_posix();
    char top[] = "/tmp/alm_lock_XXXXXX", link[64];
    (void)state;
    assert_non_null(mkdtemp(top));
    (void)snprintf(link, sizeof link, "%s.link", top);
    assert_int_equal(symlink(top, link), 0);
    const int one = io->open_dir(io, top), two = io->open_dir(io, link);
    assert_int_equal(io->lock(io, one), 0);
    assert_int_equal(io->lock(io, two), -EWOULDBLOCK);
    (void)io->close(io, one);
    assert_int_equal(io->lock(io, two), 0);
    (void)io->close(io, two);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(top), 0);
}

static void who_runs(void **state)
{
    const alm_io *io = alm_io_posix();
    alm_io_process self, other;
    int status = 0;
    (void)state;
    io->process_self(io, &self);
    assert_int_equal(self.pid, getpid());
    assert_int_equal(io->process_runs(io, &self), 1);
    other = self;
    other.started--; /* one that had the number before */
    assert_int_equal(io->process_runs(io, &other), 0);
    other = self;
    other.boot[0] ^= 1;
    assert_int_equal(io->process_runs(io, &other), 0);
    other = self;
    other.space++;
    assert_int_equal(io->process_runs(io, &other), -1);
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    other = self;
    other.pid = child;
    other.started = 0;
    assert_int_equal(io->process_runs(io, &other), 0); /* ended, and nobody has waited for it */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(io->process_runs(io, &other), 0);
}

/* Only file systems that wait for the disk and tell errors: not that of /proc. */
static void whole_file_systems(void **state)
{
    (void)state;
    const alm_io *io = alm_io_posix();
    const int proc = io->open_dir(io, "/proc"), here = io->open_dir(io, ".");
    assert_true(proc >= 0 && here >= 0);
    assert_false(io->syncs_all(io, proc));
    if (io->syncs_all(io, here)) { /* not so in a container, maybe */
        const int64_t before = io->sync_count(io);
        assert_int_equal(io->sync_all(io, here), 0);
        assert_int_equal(io->sync_count(io), before + 1);
    }
    assert_int_equal(io->close(io, proc), 0);
    assert_int_equal(io->close(io, here), 0);
}

/* Whatever stands at a name that this program writes: it is not written through, nobody waits for it, and it is moved aside, as long as there
 * are not too many. */
static void odd_files_are_moved_aside(void **state)
{
    (void)state;
    static const char *const to[] = {"target", "file", "nowhere", "/dev/null"};
    place p;
    char path[256], top[256];
    int before = 0, after = 0, refused = 0;
    place_init(&p, false);
    const alm_io *io = alm_io_posix();
    (void)snprintf(path, sizeof path, "%s/file", p.top);
    (void)snprintf(top, sizeof top, "%s/target", p.top);
    put(&p, "target", "a secret");
    assert_int_equal(io->list(io, p.top, count_name, &before), 0);
    for (uint32_t i = 0; i < 24; i++) {
        alm_io_stat meta;
        (void)unlink(path);
        if (i % 6 == 0)
            folder(&p, "file");
        else if (i % 6 == 1)
            assert_int_equal(mkfifo(path, 0600), 0);
        else
            link_to(&p, "file", to[i % 6 - 2]);
        const int h = alm_io_create(io, path, ALM_IO_WRITE | (i % 2 ? ALM_IO_TRUNCATE : 0u));
        if (h < 0) {
            refused++;
            assert_true(unlink(path) == 0 || rmdir(path) == 0);
            continue;
        }
        assert_int_equal(io->write(io, h, "x", 1, 0), 1);
        assert_int_equal(io->close(io, h), 0);
        assert_true(io->stat(io, path, &meta) == 0 && meta.is_file && meta.size_bytes == 1);
        assert_true(io->stat(io, top, &meta) == 0 && meta.size_bytes == 8);
    }
    (void)unlink(path);
    assert_int_equal(io->list(io, p.top, count_name, &after), 0);
    assert_int_equal(after - before, 9);
    assert_in_range(refused, 6, 15);
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_link_leads_out),
                                       cmocka_unit_test(links_inside),
                                       cmocka_unit_test(names_in_a_folder),
                                       cmocka_unit_test(no_race_leads_out),
                                       cmocka_unit_test(names_that_are_pinned),
                                       cmocka_unit_test(directories_are_locked),
                                       cmocka_unit_test(who_runs),
                                       cmocka_unit_test(whole_file_systems),
                                       cmocka_unit_test(odd_files_are_moved_aside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
