/* held.c - see held.h. */
#include "net/http/query/held.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "codec/compress/block.h"
#include "io/io.h"
#include "session/session.h"

/* A block ends with the row that fills one of these. */
enum { BLOCK_ROWS = 1024, BLOCK_BYTES = ALM_HELD_BLOCK_BYTES, ZSTD_LEVEL = 1 };
/* At a time: rows may be wider than those before them. */
enum { STEP_ROWS = 64 };

typedef struct held_block {
    int64_t first_row;
    size_t plain_bytes;
    char *packed;
    size_t packed_bytes;
} held_block;

/* Whose results are held: one for each user who has some. */
typedef struct held_owner {
    struct held_owner *next;
    int64_t results, bytes;
    char user[];
} held_owner;

struct alm_held {
    alm_held *next, *prev; /* in the store, the one read last first */
    atomic_int references; /* the store's is one of them */
    char name[ALM_HELD_NAME_BYTES];
    char *user;
    alm_questions *questions;
    held_owner *owner; /* in the store, whose lock it has */
    alm_buf head, tail;
    held_block *blocks;
    uint32_t n_blocks, cap_blocks, tail_rows;
    int64_t rows, packed_bytes, read_ns;
    size_t row_bytes; /* of the block before, about */
    bool complete;
    alm_block_codec codec; /* of who fills it */
};

struct alm_held_store {
    pthread_mutex_t lock; /* of all below */
    alm_held *newest, *oldest;
    held_owner *owners;
    alm_held_stats stats;
    int64_t bytes_max; /* where http.snapshot.bytes.max is 0 */
};

alm_status alm_held_store_new(alm_ctx *cx, int64_t bytes_max, alm_held_store **out)
{
    alm_held_store *store = calloc(1, sizeof(*store));
    if (store == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_init(&store->lock, NULL);
    store->bytes_max = bytes_max;
    *out = store;
    return ALM_OK;
}

void alm_held_release(alm_held *held)
{
    if (held == NULL || atomic_fetch_sub(&held->references, 1) > 1)
        return;
    for (uint32_t i = 0; i < held->n_blocks; i++)
        free(held->blocks[i].packed);
    free(held->blocks);
    free(held->user);
    alm_questions_free(held->questions);
    alm_block_codec_deinit(&held->codec);
    alm_buf_deinit(&held->head);
    alm_buf_deinit(&held->tail);
    free(held);
}

/* ------------------------------------------------------------------ filling */

static alm_status random_name(alm_ctx *cx, char out[ALM_HELD_NAME_BYTES])
{
    unsigned char bytes[(ALM_HELD_NAME_BYTES - 1) / 2];
    if (alm_io_posix()->random(alm_io_posix(), bytes, sizeof(bytes)) < 0)
        return alm_fail(cx, ALM_E_IO, -1, "the system gives no random bytes");
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return ALM_OK;
}

alm_status alm_held_new(alm_ctx *cx, const char *user, alm_str head, alm_held **out)
{
    alm_held *held = calloc(1, sizeof(*held));
    if (held == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    atomic_init(&held->references, 1);
    alm_buf_init(&held->head, NULL);
    alm_buf_init(&held->tail, cx->mem);
    held->user = strdup(user);
    alm_status status = held->user != NULL ? random_name(cx, held->name)
                                           : alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    held->packed_bytes = (int64_t)head.len;
    if (status == ALM_OK)
        status = alm_buf_append(cx, &held->head, head.ptr, head.len);
    if (status == ALM_OK)
        *out = held;
    else
        alm_held_release(held);
    return status;
}

uint32_t alm_held_room(const alm_held *held)
{
    ALM_ASSERT(held->tail_rows < BLOCK_ROWS);
    if (held->rows == 0)
        return 1; /* it tells how wide they are */
    const size_t room = BLOCK_BYTES - ALM_MIN(held->tail.len, (size_t)BLOCK_BYTES);
    const size_t row_bytes =
        held->tail_rows > 0 ? held->tail.len / held->tail_rows + 1 : held->row_bytes;
    const size_t fit = ALM_MIN(room / row_bytes + 1, (size_t)STEP_ROWS);
    return (uint32_t)ALM_MIN(fit, (size_t)(BLOCK_ROWS - held->tail_rows));
}

alm_buf *alm_held_tail(alm_held *held)
{
    return &held->tail;
}

static alm_status grow_blocks(alm_ctx *cx, alm_held *held)
{
    if (held->n_blocks < held->cap_blocks)
        return ALM_OK;
    const uint32_t cap = held->cap_blocks == 0 ? 16 : 2 * held->cap_blocks;
    held_block *grown = cap > held->cap_blocks ? realloc(held->blocks, cap * sizeof(*grown)) : NULL;
    if (grown == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    held->blocks = grown;
    held->cap_blocks = cap;
    return ALM_OK;
}

static alm_status close_block(alm_ctx *cx, alm_held *held)
{
    if (held->tail_rows == 0)
        return ALM_OK;
    ALM_TRY(grow_blocks(cx, held));
    alm_buf packed;
    alm_buf_init(&packed, NULL);
    const alm_status status = alm_block_pack(cx, &held->codec, ALM_BLOCK_ZSTD, ZSTD_LEVEL,
                                             (alm_str){held->tail.ptr, held->tail.len}, &packed);
    char *exact = status == ALM_OK ? realloc(packed.ptr, packed.len) : NULL;
    if (exact == NULL) {
        alm_buf_deinit(&packed);
        return status != ALM_OK ? status : alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    held->blocks[held->n_blocks++] = (held_block){.first_row = held->rows - held->tail_rows,
                                                  .plain_bytes = held->tail.len,
                                                  .packed = exact,
                                                  .packed_bytes = packed.len};
    held->packed_bytes += (int64_t)(packed.len + sizeof(held_block));
    held->row_bytes = held->tail.len / held->tail_rows + 1;
    held->tail.len = 0;
    held->tail_rows = 0;
    return ALM_OK;
}

alm_status alm_held_added(alm_ctx *cx, alm_held *held, uint32_t rows, int64_t bytes_max, bool *full)
{
    held->rows += rows;
    held->tail_rows += rows;
    if (held->tail_rows >= BLOCK_ROWS || held->tail.len >= BLOCK_BYTES)
        ALM_TRY(close_block(cx, held));
    *full = held->packed_bytes >= bytes_max;
    return ALM_OK;
}

/* -------------------------------------------------------------------- store; its lock is held */

static held_owner *held_owner_of(alm_held_store *store, const char *user)
{
    held_owner *owner = store->owners;
    while (owner != NULL && strcmp(owner->user, user) != 0)
        owner = owner->next;
    return owner;
}

static held_owner *owner_new(alm_held_store *store, const char *user)
{
    const size_t len = strlen(user) + 1;
    held_owner *owner = calloc(1, sizeof(*owner) + len);
    if (owner == NULL)
        return NULL;
    (void)memcpy(owner->user, user, len);
    owner->next = store->owners;
    store->owners = owner;
    return owner;
}

static void owner_drop_if_empty(alm_held_store *store, held_owner *owner)
{
    if (owner->results > 0)
        return;
    held_owner **at = &store->owners;
    while (*at != owner)
        at = &(*at)->next;
    *at = owner->next;
    free(owner);
}

static void held_take_out(alm_held_store *store, alm_held *held)
{
    *(held->prev != NULL ? &held->prev->next : &store->newest) = held->next;
    *(held->next != NULL ? &held->next->prev : &store->oldest) = held->prev;
    held->next = held->prev = NULL;
    store->stats.bytes -= held->packed_bytes;
    store->stats.results--;
    held->owner->bytes -= held->packed_bytes;
    held->owner->results--;
}

static void held_put_first(alm_held_store *store, alm_held *held)
{
    held->read_ns = alm_monotonic_ns();
    held->next = store->newest;
    *(store->newest != NULL ? &store->newest->prev : &store->oldest) = held;
    store->newest = held;
    store->stats.bytes += held->packed_bytes;
    store->stats.results++;
    held->owner->bytes += held->packed_bytes;
    held->owner->results++;
}

static void held_remove_one(alm_held_store *store, alm_held *old, int64_t *count)
{
    held_owner *owner = old->owner;
    *count += 1;
    held_take_out(store, old);
    alm_held_release(old);
    owner_drop_if_empty(store, owner);
}

static void remove_expired(alm_held_store *store, const struct alm_conf *conf)
{
    const int64_t since_ns = alm_monotonic_ns() - conf->http_snapshot_timeout * 1000000;
    while (store->oldest != NULL && store->oldest->read_ns < since_ns)
        held_remove_one(store, store->oldest, &store->stats.expired);
}

static alm_held *oldest_of(const alm_held_store *store, const held_owner *owner)
{
    alm_held *held = store->oldest;
    while (held->owner != owner)
        held = held->prev;
    return held;
}

/* Who has most, with what comes for `comer`; of several the one whose result was read longest ago. NULL: nothing is held. */
static held_owner *who_has_most(const alm_held_store *store, const char *comer, int64_t bytes,
                                bool by_bytes)
{
    held_owner *most = NULL;
    int64_t most_n = -1;
    for (const alm_held *held = store->oldest; held != NULL; held = held->prev) {
        const held_owner *owner = held->owner;
        const bool comes = strcmp(owner->user, comer) == 0;
        const int64_t n = by_bytes ? owner->bytes + (comes ? bytes : 0) : owner->results + comes;
        if (n > most_n) {
            most = held->owner;
            most_n = n;
        }
    }
    return most;
}

static bool held_is_over(int64_t n, int64_t most)
{
    return most > 0 && n > most;
}

static int64_t bytes_max_of(const alm_held_store *store, const struct alm_conf *conf)
{
    return conf->http_snapshot_bytes_max > 0 ? conf->http_snapshot_bytes_max : store->bytes_max;
}

/* Room for a result of this user: first his own go, for his limits, then those of who has most. */
static void held_make_room(alm_held_store *store, const struct alm_conf *conf, const char *user,
                           int64_t bytes)
{
    held_owner *own = NULL;
    const int64_t bytes_max = bytes_max_of(store, conf);
    remove_expired(store, conf);
    while ((own = held_owner_of(store, user)) != NULL &&
           (held_is_over(own->bytes + bytes, conf->http_snapshot_user_bytes_max) ||
            held_is_over(own->results + 1, conf->http_snapshot_user_count_max)))
        held_remove_one(store, oldest_of(store, own), &store->stats.evicted);
    while (store->oldest != NULL) {
        const bool by_bytes = store->stats.bytes + bytes > bytes_max;
        if (!by_bytes && store->stats.results + 1 <= conf->http_snapshot_count_max)
            break;
        held_remove_one(store, oldest_of(store, who_has_most(store, user, bytes, by_bytes)),
                        &store->stats.evicted);
    }
}

static alm_held *held_look_up(alm_held_store *store, alm_str name, const char *user)
{
    alm_held *held = store->newest;
    while (held != NULL &&
           !(alm_str_eq(alm_str_of(held->name), name) && strcmp(held->user, user) == 0))
        held = held->next;
    return held;
}

/* ------------------------------------------------------------------- calls */

alm_status alm_held_enter(alm_ctx *cx, alm_held_store *store, alm_held *held,
                          alm_questions *questions, bool complete)
{
    ALM_ASSERT(held->questions == NULL);
    held->questions = questions;
    ALM_TRY(close_block(cx, held));
    alm_buf_deinit(&held->tail);
    alm_buf_init(&held->tail, NULL);
    alm_block_codec_deinit(&held->codec);
    held->complete = complete;
    (void)pthread_mutex_lock(&store->lock);
    held_make_room(store, cx->conf, held->user, held->packed_bytes);
    held->owner = held_owner_of(store, held->user);
    if (held->owner == NULL)
        held->owner = owner_new(store, held->user);
    const bool entered = held->owner != NULL;
    if (entered) {
        atomic_fetch_add(&held->references, 1);
        held_put_first(store, held);
        store->stats.made++;
    }
    (void)pthread_mutex_unlock(&store->lock);
    return entered ? ALM_OK : alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
}

void alm_held_stats_get(alm_held_store *store, const struct alm_conf *conf, alm_held_stats *out)
{
    (void)pthread_mutex_lock(&store->lock);
    *out = store->stats;
    out->bytes_max = bytes_max_of(store, conf);
    (void)pthread_mutex_unlock(&store->lock);
}

alm_held *alm_held_find(alm_held_store *store, const struct alm_conf *conf, alm_str name,
                        const char *user)
{
    (void)pthread_mutex_lock(&store->lock);
    remove_expired(store, conf);
    alm_held *held = held_look_up(store, name, user);
    *(held != NULL ? &store->stats.found : &store->stats.missed) += 1;
    if (held != NULL) {
        held_take_out(store, held);
        held_put_first(store, held);
        atomic_fetch_add(&held->references, 1);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return held;
}

bool alm_held_drop(alm_held_store *store, alm_str name, const char *user)
{
    (void)pthread_mutex_lock(&store->lock);
    alm_held *held = held_look_up(store, name, user);
    if (held != NULL) {
        held_owner *owner = held->owner;
        held_take_out(store, held);
        owner_drop_if_empty(store, owner);
    }
    (void)pthread_mutex_unlock(&store->lock);
    alm_held_release(held);
    return held != NULL;
}

void alm_held_store_free(alm_held_store *store)
{
    if (store == NULL)
        return;
    while (store->newest != NULL) {
        alm_held *held = store->newest;
        held_owner *owner = held->owner;
        held_take_out(store, held);
        ALM_ASSERT(store->newest != held);
        owner_drop_if_empty(store, owner);
        alm_held_release(held);
    }
    (void)pthread_mutex_destroy(&store->lock);
    free(store);
}

const char *alm_held_name(const alm_held *held)
{
    return held->name;
}
const alm_questions *alm_held_questions(const alm_held *held)
{
    return held->questions;
}
alm_str alm_held_head(const alm_held *held)
{
    return (alm_str){held->head.ptr, held->head.len};
}
int64_t alm_held_rows(const alm_held *held)
{
    return held->rows;
}
bool alm_held_complete(const alm_held *held)
{
    return held->complete;
}

/* ------------------------------------------------------------------ reading */

/* The block that a row is in. */
static uint32_t held_block_of(const alm_held *held, int64_t row)
{
    uint32_t lo = 0, hi = held->n_blocks;
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        *(held->blocks[mid].first_row <= row ? &lo : &hi) = mid;
    }
    return lo;
}

const char *alm_held_skip_rows(const char *ptr, const char *end, int64_t n)
{
    while (n-- > 0) {
        const char *line_end = memchr(ptr, '\n', (size_t)(end - ptr));
        ALM_ASSERT(line_end != NULL);
        ptr = line_end + 1;
    }
    return ptr;
}

/* Rows [from, to) of one block. */
static alm_status read_block(alm_ctx *cx, const held_block *block, alm_buf *plain,
                             alm_block_codec *codec, int64_t from, int64_t to, bool first,
                             alm_buf *out)
{
    plain->len = 0;
    ALM_TRY(alm_buf_reserve(cx, plain, block->plain_bytes + 1));
    const char *why =
        alm_block_unpack(codec, ALM_BLOCK_ZSTD, (alm_str){block->packed, block->packed_bytes},
                         plain->ptr, block->plain_bytes);
    if (why != NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "a page of the snapshot cannot be unpacked: %s", why);
    const char *end = plain->ptr + block->plain_bytes;
    const char *begin = alm_held_skip_rows(plain->ptr, end, from - block->first_row);
    const char *stop = alm_held_skip_rows(begin, end, to - from);
    if (first && begin < stop && *begin == ',')
        begin++;
    return alm_buf_append(cx, out, begin, (size_t)(stop - begin));
}

alm_status alm_held_read(alm_ctx *cx, const alm_held *held, int64_t from, int64_t to, size_t bytes,
                         bool first, alm_buf *out, int64_t *rows)
{
    alm_block_codec codec = {0};
    alm_buf plain;
    alm_status status = ALM_OK;
    int64_t offset = from;
    alm_buf_init(&plain, cx->mem);
    to = ALM_MIN(to, held->rows);
    while (status == ALM_OK && offset < to && out->len < bytes) {
        const uint32_t i = held_block_of(held, offset);
        const int64_t end = i + 1 < held->n_blocks ? held->blocks[i + 1].first_row : held->rows;
        const int64_t until = ALM_MIN(end, to);
        status = read_block(cx, &held->blocks[i], &plain, &codec, offset, until,
                            first && offset == from, out);
        offset = until;
    }
    alm_buf_deinit(&plain);
    alm_block_codec_deinit(&codec);
    *rows = offset - from;
    return status;
}
