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

void alm_decoded_init(alm_decoded *decoded, const alm_io *io, alm_spill_space *spill, int64_t max)
{
    *decoded = (alm_decoded){.io = io, .spill = spill, .max = max};
    (void)pthread_mutex_init(&decoded->lock, NULL);
    (void)pthread_mutex_init(&decoded->read_lock, NULL);
}

void alm_decoded_deinit(alm_decoded *decoded)
{
    ALM_ASSERT(decoded->cols == NULL && decoded->first == NULL);
    (void)pthread_mutex_destroy(&decoded->lock);
    (void)pthread_mutex_destroy(&decoded->read_lock);
}

/* ------------------------------------------------------------------ readings */

void alm_reading_begin(alm_decoded *decoded, alm_reading *reading)
{
    (void)pthread_mutex_lock(&decoded->read_lock);
    reading->number = atomic_fetch_add(&decoded->newest, 1) + 1;
    reading->next = NULL;
    reading->prev = decoded->last;
    if (decoded->last != NULL)
        decoded->last->next = reading;
    else
        decoded->first = reading;
    decoded->last = reading;
    (void)pthread_mutex_unlock(&decoded->read_lock);
}

void alm_decoded_touch(alm_decoded *decoded, alm_decoded_col *col)
{
    if (decoded == NULL)
        return;
    const uint64_t now = atomic_load(&decoded->newest);
    uint64_t before = atomic_load(&col->touched);
    while (before < now && !atomic_compare_exchange_weak(&col->touched, &before, now)) {
    }
}

/* ------------------------------------------------------------------ dropping */

static void unlink_col(alm_decoded *decoded, alm_decoded_col *col)
{
    if (col->prev != NULL)
        col->prev->next = col->next;
    else
        decoded->cols = col->next;
    if (col->next != NULL)
        col->next->prev = col->prev;
    col->prev = col->next = NULL;
}

static void give_locked(alm_decoded *decoded, alm_decoded_col *col)
{
    if (col->bytes == 0 && col->spilled == 0)
        return;
    (void)decoded->io->forget(decoded->io, col->at, col->size);
    unlink_col(decoded, col);
    decoded->bytes -= col->bytes;
    atomic_fetch_sub(&decoded->spilled, col->spilled);
    if (col->spilled > 0)
        atomic_fetch_sub(&decoded->spill->bytes, col->spilled);
    col->bytes = col->spilled = 0;
}

/* Nobody reads who began before this number: also not later, while a search goes on with it. Who begins from now on
 * has a number that is not below it, and touches columns with such numbers. */
static uint64_t first_reading(alm_decoded *decoded)
{
    (void)pthread_mutex_lock(&decoded->read_lock);
    const uint64_t number =
        decoded->first != NULL ? decoded->first->number : atomic_load(&decoded->newest) + 1;
    (void)pthread_mutex_unlock(&decoded->read_lock);
    return number;
}

/* Its readers have ended and it could be dropped. */
static bool drop_col(alm_decoded *decoded, alm_decoded_col *col, uint64_t below)
{
    const uint64_t touched = atomic_load(&col->touched);
    if (touched >= below || !col->drop(col->arg, col, touched))
        return false;
    give_locked(decoded, col);
    atomic_fetch_add(&decoded->drops, 1);
    return true;
}

/* The column in memory that was not touched for the longest time, of those not tried in this search. */
static alm_decoded_col *oldest(alm_decoded *decoded, uint64_t below)
{
    alm_decoded_col *found = NULL;
    uint64_t least = below;
    for (alm_decoded_col *decoded_col = decoded->cols; decoded_col != NULL;
         decoded_col = decoded_col->next) {
        const uint64_t touched = atomic_load(&decoded_col->touched);
        if (decoded_col->bytes > 0 && decoded_col->tried != decoded->searches && touched < least) {
            least = touched;
            found = decoded_col;
        }
    }
    return found;
}

/* Gives columns back until `want` more bytes fit. */
static bool decoded_make_room(alm_decoded *decoded, int64_t want)
{
    if (want <= decoded->max - decoded->bytes)
        return true;
    const uint64_t below = first_reading(decoded);
    decoded->searches++;
    while (want > decoded->max - decoded->bytes) {
        alm_decoded_col *col = oldest(decoded, below);
        if (col == NULL)
            return false;
        if (!drop_col(decoded, col, below))
            col->tried = decoded->searches;
    }
    return true;
}

/* All that nobody looks at; `spilled`: only what is in temporary files. */
static void drop_unread(alm_decoded *decoded, bool spilled)
{
    (void)pthread_mutex_lock(&decoded->lock);
    const uint64_t below = first_reading(decoded);
    for (alm_decoded_col *decoded_col = decoded->cols, *next = NULL; decoded_col != NULL;
         decoded_col = next) {
        next = decoded_col->next;
        if (!spilled || decoded_col->spilled > 0)
            (void)drop_col(decoded, decoded_col, below);
    }
    (void)pthread_mutex_unlock(&decoded->lock);
}

void alm_decoded_drop_all(alm_decoded *decoded)
{
    drop_unread(decoded, false);
}

void alm_reading_end(alm_decoded *decoded, alm_reading *reading)
{
    (void)pthread_mutex_lock(&decoded->read_lock);
    if (reading->prev != NULL)
        reading->prev->next = reading->next;
    else
        decoded->first = reading->next;
    if (reading->next != NULL)
        reading->next->prev = reading->prev;
    else
        decoded->last = reading->prev;
    (void)pthread_mutex_unlock(&decoded->read_lock);
    if (atomic_load(&decoded->spilled) > 0)
        drop_unread(decoded, true);
}

/* -------------------------------------------------------------------- taking */

static alm_status too_much(alm_ctx *cx, const alm_decoded *decoded, int64_t n)
{
    return alm_fail(
        cx, ALM_E_LIMIT, -1,
        "decoded columns of Parquet partitions would exceed storage.parquet.memory.max, "
        "and temporary files query.spill.max [memory=%lld, files=%lld, wanted=%lld]",
        (long long)decoded->max, (long long)atomic_load(&decoded->spilled), (long long)n);
}

/* Whole pages as those of a temporary file that has no name. */
static alm_status decoded_back(alm_ctx *cx, alm_decoded *decoded, uint8_t *ptr, size_t n)
{
    const alm_io *io = decoded->io;
    char path[sizeof decoded->spill->dir + 64];
    const uint64_t number = atomic_fetch_add(&decoded->spill->next, 1);
    (void)snprintf(path, sizeof path, "%s/%llu.tmp", decoded->spill->dir,
                   (unsigned long long)number);
    const int handle =
        io->open(io, path, ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    int code = io->unlink(io, path);
    if (code >= 0)
        code = io->allocate(io, handle, 0,
                            (int64_t)n); /* or a full disk would be a fault at some write */
    if (code >= 0)
        code = io->back(io, ptr, n, handle, 0);
    (void)io->close(io, handle); /* the map keeps the file */
    return code < 0 ? alm_io_fail(cx, code, "a temporary file for decoded columns") : ALM_OK;
}

static void link_col(alm_decoded *decoded, alm_decoded_col *col)
{
    if (col->bytes > 0 || col->spilled > 0)
        return;
    col->prev = NULL;
    col->next = decoded->cols;
    if (decoded->cols != NULL)
        decoded->cols->prev = col;
    decoded->cols = col;
}

alm_status alm_decoded_take(alm_ctx *cx, alm_decoded *decoded, alm_decoded_col *col, size_t from,
                            size_t n)
{
    if (decoded == NULL || n == 0)
        return ALM_OK;
    /* Pages at the ends may be shared with what is there already: these stay where they are. */
    const size_t lo = (from + PAGE - 1) / PAGE * PAGE, hi = (from + n) / PAGE * PAGE;
    const int64_t want = (int64_t)n;
    alm_status status = ALM_OK;
    atomic_fetch_add(&decoded->fills, 1);
    (void)pthread_mutex_lock(&decoded->lock);
    if (decoded_make_room(decoded, want) || hi <= lo) {
        link_col(decoded, col);
        col->bytes += want;
        decoded->bytes += want;
    } else if (!alm_spill_allowed(cx, decoded->spill) ||
               want > alm_spill_bytes_max(cx) - atomic_load(&decoded->spill->bytes)) {
        status = too_much(cx, decoded, want);
    } else {
        const int64_t whole = (int64_t)(hi - lo);
        status = decoded_back(cx, decoded, col->at + lo, hi - lo);
        if (status == ALM_OK) {
            link_col(decoded, col);
            col->spilled += whole;
            atomic_fetch_add(&decoded->spilled, whole);
            col->bytes += want - whole;
            decoded->bytes += want - whole;
            atomic_fetch_add(&decoded->spill->bytes, whole);
        }
    }
    (void)pthread_mutex_unlock(&decoded->lock);
    return status;
}

void alm_decoded_give(alm_decoded *decoded, alm_decoded_col *col)
{
    if (decoded == NULL)
        return;
    (void)pthread_mutex_lock(&decoded->lock);
    give_locked(decoded, col);
    (void)pthread_mutex_unlock(&decoded->lock);
}
