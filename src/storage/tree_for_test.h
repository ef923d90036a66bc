/*
 * tree_for_test.h - for tests: a directory tree copied file by file, in pieces and in an order that a
 * seed gives, with something else going on between the pieces.
 */
#ifndef ALM_STORAGE_TREE_FOR_TEST_H
#define ALM_STORAGE_TREE_FOR_TEST_H

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "io/io.h"

enum { TREE_FILES = 4096, TREE_PATH = 256, TREE_PIECE = 4096 };

typedef struct tree {
    const alm_io *io;
    char (*paths)[TREE_PATH]; /* below the root, directories before what is in them */
    int n;
    char at[TREE_PATH];
} tree;

static int tree_add(void *arg, const char *name)
{
    tree *t = arg;
    ALM_ASSERT(t->n < TREE_FILES);
    (void)snprintf(t->paths[t->n++], TREE_PATH, "%.120s/%.120s", t->at, name);
    return 0;
}

static ALM_UNUSED void tree_list(const alm_io *io, const char *root, tree *t)
{
    *t = (tree){.io = io, .paths = calloc(TREE_FILES, TREE_PATH)};
    (void)snprintf(t->at, sizeof t->at, "%s", root);
    (void)io->list(io, root, tree_add, t);
    for (int i = 0; i < t->n; i++) {
        alm_io_stat meta;
        if (io->stat(io, t->paths[i], &meta) < 0 || !meta.is_dir)
            continue;
        (void)snprintf(t->at, sizeof t->at, "%s", t->paths[i]);
        (void)io->list(io, t->at, tree_add, t);
    }
}

static ALM_UNUSED void tree_remove(const alm_io *io, const char *root)
{
    tree t;
    tree_list(io, root, &t);
    for (int i = t.n - 1; i >= 0; i--)
        if (io->unlink(io, t.paths[i]) < 0)
            (void)io->rmdir(io, t.paths[i]);
    free(t.paths);
}

static void tree_file(const alm_io *io, const char *from, const char *to, uint64_t *seed,
                      void (*between)(void *arg), void *arg)
{
    char piece[TREE_PIECE];
    const int in = io->open(io, from, ALM_IO_READ);
    if (in < 0)
        return; /* gone since it was listed */
    const int out = io->open(io, to, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    ALM_ASSERT(out >= 0);
    int64_t n = 0;
    for (int64_t at = 0; (n = io->read(io, in, piece, sizeof piece, at)) > 0; at += n) {
        ALM_ASSERT(io->write(io, out, piece, (size_t)n, at) == n);
        *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
        if (between != NULL && (*seed >> 33) % 6 == 0)
            between(arg);
    }
    (void)io->close(io, in);
    (void)io->close(io, out);
}

static ALM_UNUSED void tree_copy(const alm_io *io, const char *root, const char *to, uint64_t seed,
                                 void (*between)(void *arg), void *arg)
{
    tree t;
    char path[TREE_PATH * 2];
    alm_io_stat meta;
    (void)io->mkdir(io, to);
    tree_list(io, root, &t);
    for (int i = 0; i < t.n; i++) {
        (void)snprintf(path, sizeof path, "%s%s", to, t.paths[i] + strlen(root));
        if (io->stat(io, t.paths[i], &meta) == 0 && meta.is_dir)
            (void)io->mkdir(io, path);
    }
    for (int i = t.n - 1; i > 0; i--) { /* any order */
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
        const int j = (int)((seed >> 33) % (uint64_t)(i + 1));
        char keep[TREE_PATH];
        memcpy(keep, t.paths[i], TREE_PATH);
        memcpy(t.paths[i], t.paths[j], TREE_PATH);
        memcpy(t.paths[j], keep, TREE_PATH);
    }
    for (int i = 0; i < t.n; i++) {
        (void)snprintf(path, sizeof path, "%s%s", to, t.paths[i] + strlen(root));
        if (io->stat(io, t.paths[i], &meta) == 0 && !meta.is_dir)
            tree_file(io, t.paths[i], path, &seed, between, arg);
    }
    free(t.paths);
}

#endif
