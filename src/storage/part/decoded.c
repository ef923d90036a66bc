/*
 * decoded.c - see decoded.h.
 *
 * Order       A reader does (1) store its number in `touched`, (2) load the bit of the block. Who drops does
 *             (1) clear the bits, (2) load `touched` again. All four are sequentially consistent, so one of
 *             the two sees the other.
 */
#include "storage/part/decoded.h"

#include <stdio.h>

enum { PAGE = 4096 };

void alm_decoded_init(alm_decoded *d, const alm_io *io, alm_spill_space *spill, int64_t max)
{
    *d = (alm_decoded){.io = io, .spill = spill, .max = max};
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_mutex_init(&d->read_lock, NULL);
}

void alm_decoded_deinit(alm_decoded *d)
{
    ALM_ASSERT(d->cols == NULL && d->first == NULL);
    (void)pthread_mutex_destroy(&d->lock);
    (void)pthread_mutex_destroy(&d->read_lock);
}

/* ------------------------------------------------------------------ readings */

void alm_reading_begin(alm_decoded *d, alm_reading *reading)
{
    (void)pthread_mutex_lock(&d->read_lock);
    reading->number = atomic_fetch_add(&d->newest, 1) + 1;
    reading->next = NULL;
    reading->prev = d->last;
    if (d->last != NULL)
        d->last->next = reading;
    else
        d->first = reading;
    d->last = reading;
    (void)pthread_mutex_unlock(&d->read_lock);
}

void alm_decoded_touch(alm_decoded *d, alm_decoded_col *col)
{
    if (d == NULL)
        return;
    const uint64_t now = atomic_load(&d->newest);
    uint64_t before = atomic_load(&col->touched);
    while (before < now && !atomic_compare_exchange_weak(&col->touched, &before, now)) {
    }
}

/* ------------------------------------------------------------------ dropping */

static void unlink_col(alm_decoded *d, alm_decoded_col *col)
{
    if (col->prev != NULL)
        col->prev->next = col->next;
    else
        d->cols = col->next;
    if (col->next != NULL)
        col->next->prev = col->prev;
    col->prev = col->next = NULL;
}

static void give_locked(alm_decoded *d, alm_decoded_col *col)
{
    if (col->bytes == 0 && col->spilled == 0)
        return;
    (void)d->io->forget(d->io, col->at, col->size);
    unlink_col(d, col);
    d->bytes -= col->bytes;
    atomic_fetch_sub(&d->spilled, col->spilled);
    if (col->spilled > 0)
        atomic_fetch_sub(&d->spill->bytes, col->spilled);
    col->bytes = col->spilled = 0;
}

/* Nobody reads who began before this number: also not later, while a search goes on with it. Who begins from now on
 * has a number that is not below it, and touches columns with such numbers. */
static uint64_t first_reading(alm_decoded *d)
{
    (void)pthread_mutex_lock(&d->read_lock);
    const uint64_t number = d->first != NULL ? d->first->number : atomic_load(&d->newest) + 1;
    (void)pthread_mutex_unlock(&d->read_lock);
    return number;
}

/* Its readers have ended and it could be dropped. */
static bool drop_col(alm_decoded *d, alm_decoded_col *col, uint64_t below)
{
    const uint64_t touched = atomic_load(&col->touched);
    if (touched >= below || !col->drop(col->arg, col, touched))
        return false;
    give_locked(d, col);
    atomic_fetch_add(&d->drops, 1);
    return true;
}

/* The column in memory that was not touched for the longest time, of those not tried in this search. */
static alm_decoded_col *oldest(alm_decoded *d, uint64_t below)
{
    alm_decoded_col *found = NULL;
    uint64_t least = below;
    for (alm_decoded_col *c = d->cols; c != NULL; c = c->next) {
        const uint64_t touched = atomic_load(&c->touched);
        if (c->bytes > 0 && c->tried != d->searches && touched < least) {
            least = touched;
            found = c;
        }
    }
    return found;
}

/* Gives columns back until `want` more bytes fit. */
static bool make_room(alm_decoded *d, int64_t want)
{
    if (want <= d->max - d->bytes)
        return true;
    const uint64_t below = first_reading(d);
    d->searches++;
    while (want > d->max - d->bytes) {
        alm_decoded_col *col = oldest(d, below);
        if (col == NULL)
            return false;
        if (!drop_col(d, col, below))
            col->tried = d->searches;
    }
    return true;
}

/* All that nobody looks at; `spilled`: only what is in temporary files. */
static void drop_unread(alm_decoded *d, bool spilled)
{
    (void)pthread_mutex_lock(&d->lock);
    const uint64_t below = first_reading(d);
    for (alm_decoded_col *c = d->cols, *next = NULL; c != NULL; c = next) {
        next = c->next;
        if (!spilled || c->spilled > 0)
            (void)drop_col(d, c, below);
    }
    (void)pthread_mutex_unlock(&d->lock);
}

void alm_decoded_drop_all(alm_decoded *d)
{
    drop_unread(d, false);
}

void alm_reading_end(alm_decoded *d, alm_reading *reading)
{
    (void)pthread_mutex_lock(&d->read_lock);
    if (reading->prev != NULL)
        reading->prev->next = reading->next;
    else
        d->first = reading->next;
    if (reading->next != NULL)
        reading->next->prev = reading->prev;
    else
        d->last = reading->prev;
    (void)pthread_mutex_unlock(&d->read_lock);
    if (atomic_load(&d->spilled) > 0)
        drop_unread(d, true);
}

/* -------------------------------------------------------------------- taking */

static alm_status too_much(alm_ctx *cx, const alm_decoded *d, int64_t n)
{
    return alm_fail(
        cx, ALM_E_LIMIT, -1,
        "decoded columns of Parquet partitions would exceed storage.parquet.memory.max, "
        "and temporary files query.spill.max [memory=%lld, files=%lld, wanted=%lld]",
        (long long)d->max, (long long)atomic_load(&d->spilled), (long long)n);
}

/* Whole pages as those of a temporary file that has no name. */
static alm_status back(alm_ctx *cx, alm_decoded *d, uint8_t *at, size_t n)
{
    const alm_io *io = d->io;
    char path[sizeof d->spill->dir + 64];
    const uint64_t number = atomic_fetch_add(&d->spill->next, 1);
    (void)snprintf(path, sizeof path, "%s/%llu.tmp", d->spill->dir, (unsigned long long)number);
    const int h = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (h < 0)
        return alm_io_fail(cx, h, path);
    int e = io->unlink(io, path);
    if (e >= 0)
        e = io->allocate(io, h, 0, (int64_t)n); /* or a full disk would be a fault at some write */
    if (e >= 0)
        e = io->back(io, at, n, h, 0);
    (void)io->close(io, h); /* the map keeps the file */
    return e < 0 ? alm_io_fail(cx, e, "a temporary file for decoded columns") : ALM_OK;
}

static void link_col(alm_decoded *d, alm_decoded_col *col)
{
    if (col->bytes > 0 || col->spilled > 0)
        return;
    col->prev = NULL;
    col->next = d->cols;
    if (d->cols != NULL)
        d->cols->prev = col;
    d->cols = col;
}

alm_status alm_decoded_take(alm_ctx *cx, alm_decoded *d, alm_decoded_col *col, size_t from,
                            size_t n)
{
    if (d == NULL || n == 0)
        return ALM_OK;
    /* Pages at the ends may be shared with what is there already: these stay where they are. */
    const size_t lo = (from + PAGE - 1) / PAGE * PAGE, hi = (from + n) / PAGE * PAGE;
    const int64_t want = (int64_t)n;
    alm_status st = ALM_OK;
    atomic_fetch_add(&d->fills, 1);
    (void)pthread_mutex_lock(&d->lock);
    if (make_room(d, want) || hi <= lo) {
        link_col(d, col);
        col->bytes += want;
        d->bytes += want;
    } else if (!alm_spill_allowed(cx, d->spill) ||
               want > alm_spill_bytes_max(cx) - atomic_load(&d->spill->bytes)) {
        st = too_much(cx, d, want);
    } else {
        const int64_t whole = (int64_t)(hi - lo);
        st = back(cx, d, col->at + lo, hi - lo);
        if (st == ALM_OK) {
            link_col(d, col);
            col->spilled += whole;
            atomic_fetch_add(&d->spilled, whole);
            col->bytes += want - whole;
            d->bytes += want - whole;
            atomic_fetch_add(&d->spill->bytes, whole);
        }
    }
    (void)pthread_mutex_unlock(&d->lock);
    return st;
}

void alm_decoded_give(alm_decoded *d, alm_decoded_col *col)
{
    if (d == NULL)
        return;
    (void)pthread_mutex_lock(&d->lock);
    give_locked(d, col);
    (void)pthread_mutex_unlock(&d->lock);
}
