/*
 * arena.c - memory accounts and the bump allocator.
 *
 * An arena is a list of blocks, the current one first. Blocks double from 4 KiB to 1 MiB; what does
 * not fit a block of the next size gets a block of its own, put behind the current one so that the
 * room left there stays in use. A reset keeps the largest block: an arena that is reset per batch
 * soon holds one block that fits all, and then never calls malloc again.
 *
 * Under AddressSanitizer the unused bytes of a block are poisoned and every piece is followed by a
 * gap, so that reading past a piece, or after a reset, is reported.
 */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
enum { GAP_BYTES = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(ptr, n)   ((void)(ptr), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(ptr, n) ((void)(ptr), (void)(n))
enum { GAP_BYTES = 0 };
#endif

enum {
    BLOCK_BYTES_MIN = 4096,
    BLOCK_BYTES_SMALL = 1024,
    BLOCK_BYTES_MAX = 1 << 20,
    PIECE_ALIGN = 16,
    WIDE_ALIGN = 64, /* a cache line, and the widest vector register */
    WIDE_FROM = 256
};

typedef struct alm_arena_block {
    _Alignas(WIDE_ALIGN) struct alm_arena_block *next;
    size_t bytes; /* with this header */
    size_t used;  /* with this header */
} alm_arena_block;

/* ---------------------------------------------------------------- accounts */

static void raise_peak(alm_mem *mem, int64_t used)
{
    int64_t peak = atomic_load_explicit(&mem->peak_bytes, memory_order_relaxed);
    while (used > peak &&
           !atomic_compare_exchange_weak_explicit(&mem->peak_bytes, &peak, used,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Smaller blocks are not counted: the allocator's thread caches take them, and they are used again soon. */
enum { KEPT_FROM = 16384 };

/* Calls return_kept when the bytes in use and those released since the last call exceed the limit together. It waits until a
 * sixteenth of the limit was released, because pages that are returned and needed again at once cost page faults. */
static void bound_kept(alm_mem *root, int64_t used)
{
    const int64_t limit = root->limit_bytes;
    int64_t released = atomic_load_explicit(&root->released_bytes, memory_order_relaxed);
    if (limit <= 0 || released < limit / 16 || released <= limit - used)
        return;
    if (atomic_compare_exchange_strong(&root->released_bytes, &released, 0))
        root->return_kept();
}

/* own: what the account that asks has charged itself, with the bytes it asks for. */
static int64_t limit_for(const alm_mem *mem, int64_t own)
{
    return own > mem->small_bytes ? mem->limit_bytes - mem->reserve_bytes : mem->limit_bytes;
}

/* NULL: charged. Else the account without room, which has *before bytes; nothing is charged. */
static alm_mem *arena_charge(alm_mem *mem, int64_t bytes, int64_t *before)
{
    int64_t own = 0;
    for (alm_mem *m = mem; m != NULL; m = m->parent) {
        *before = atomic_fetch_add_explicit(&m->used_bytes, bytes, memory_order_relaxed);
        if (m == mem)
            own = *before + bytes;
        if (m->limit_bytes > 0 && bytes > limit_for(m, own) - *before) {
            for (alm_mem *undo = mem;; undo = undo->parent) {
                atomic_fetch_sub_explicit(&undo->used_bytes, bytes, memory_order_relaxed);
                if (undo == m)
                    return m;
            }
        }
        raise_peak(m, *before + bytes);
        if (bytes >= KEPT_FROM && m->return_kept != NULL)
            bound_kept(m, *before + bytes);
    }
    return NULL;
}

alm_status alm_fail_way(alm_ctx *cx)
{
    const alm_mem *full = atomic_load(&cx->mem->gives_way);
    return alm_fail(cx, ALM_E_MEMORY, -1,
                    "memory limit of %s exceeded; the one that used most was ended [limit=%lld, "
                    "used=%lld%s%s]",
                    full->name != NULL ? full->name : "all queries", (long long)full->limit_bytes,
                    (long long)atomic_load(&cx->mem->used_bytes),
                    full->setting != NULL ? ", setting=" : "",
                    full->setting != NULL ? full->setting : "");
}

static bool is_shared_full(const alm_mem *mem, const alm_mem *full, alm_mem **root)
{
    if (full == NULL || full == mem)
        return false;
    for (*root = mem->parent; (*root)->parent != NULL;)
        *root = (*root)->parent;
    return (*root)->make_room != NULL;
}

/* Room that another statement gives up comes when that one looks at alm_check, or when the connection that holds it still is looked at. */
static alm_status wait_for_room(alm_ctx *cx, alm_mem *mem, int64_t bytes, alm_mem **full,
                                int64_t *before)
{
    enum { PAUSE_NS = 1000000, PAUSES = 3000 };
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    alm_mem *root = NULL;
    for (int i = 0; i < PAUSES && is_shared_full(mem, *full, &root); i++) {
        if (!root->make_room(root, *full, mem, bytes))
            return ALM_OK;
        if (!cx->may_wait)
            return cx->yield_ns != NULL && atomic_load(cx->yield_ns) != 0
                       ? alm_fail(cx, ALM_E_YIELD, -1, "the statement goes on elsewhere")
                       : ALM_OK;
        (void)nanosleep(&pause, NULL);
        ALM_TRY(alm_check(cx));
        *full = arena_charge(mem, bytes, before);
    }
    return ALM_OK;
}

alm_status alm_mem_charge(alm_ctx *cx, alm_mem *mem, int64_t bytes, const char *who)
{
    int64_t before = 0;
    ALM_ASSERT(bytes >= 0);
    alm_mem *m = arena_charge(mem, bytes, &before);
    if (m == NULL)
        return ALM_OK;
    ALM_TRY(wait_for_room(cx, mem, bytes, &m, &before));
    if (m == NULL)
        return ALM_OK;
    return alm_fail(cx, ALM_E_MEMORY, -1,
                    "memory limit of %s exceeded [limit=%lld, used=%lld, wanted=%lld, by=%s%s%s]",
                    m->name != NULL ? m->name : "query", (long long)m->limit_bytes,
                    (long long)before, (long long)bytes, who != NULL ? who : "arena",
                    m->setting != NULL ? ", setting=" : "", m->setting != NULL ? m->setting : "");
}

int64_t alm_mem_room(const alm_mem *mem, int64_t *limit)
{
    int64_t room = INT64_MAX;
    const int64_t own =
        mem != NULL ? atomic_load_explicit(&mem->used_bytes, memory_order_relaxed) : 0;
    *limit = INT64_MAX;
    for (const alm_mem *m = mem; m != NULL; m = m->parent) {
        if (m->limit_bytes <= 0)
            continue;
        const int64_t most = limit_for(m, own);
        const int64_t left = most - atomic_load_explicit(&m->used_bytes, memory_order_relaxed);
        if (left < room) {
            room = left;
            *limit = most;
        }
    }
    return room;
}

void alm_mem_release(alm_mem *mem, int64_t bytes)
{
    ALM_ASSERT(bytes >= 0);
    for (alm_mem *m = mem; m != NULL; m = m->parent) {
        const int64_t before =
            atomic_fetch_sub_explicit(&m->used_bytes, bytes, memory_order_relaxed);
        ALM_ASSERT(before >= bytes);
        if (bytes >= KEPT_FROM && m->return_kept != NULL)
            atomic_fetch_add_explicit(&m->released_bytes, bytes, memory_order_relaxed);
    }
}

/* ------------------------------------------------------------------- arena */

void alm_arena_init(alm_arena *arena, alm_mem *mem)
{
    *arena = (alm_arena){.mem = mem, .next_bytes = BLOCK_BYTES_MIN};
}

void alm_arena_init_small(alm_arena *arena, alm_mem *mem)
{
    *arena = (alm_arena){.mem = mem, .next_bytes = BLOCK_BYTES_SMALL};
}

static void block_free(alm_arena *arena, alm_arena_block *block)
{
    const size_t bytes = block->bytes;
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    free(block);
    if (arena->mem != NULL)
        alm_mem_release(arena->mem, (int64_t)bytes);
}

/* Lives in the arena itself. */
typedef struct alm_arena_defer {
    struct alm_arena_defer *next;
    void (*fn)(void *arg);
    void *arg;
} alm_arena_defer_item;

alm_status alm_arena_defer(alm_ctx *cx, alm_arena *arena, void (*fn)(void *arg), void *arg)
{
    alm_arena_defer_item *item = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, sizeof *item, &item));
    *item = (alm_arena_defer_item){.next = arena->deferred, .fn = fn, .arg = arg};
    arena->deferred = item;
    return ALM_OK;
}

static void run_deferred(alm_arena *arena)
{
    while (arena->deferred != NULL) {
        alm_arena_defer_item *item = arena->deferred;
        arena->deferred = item->next;
        item->fn(item->arg);
    }
}

void alm_arena_deinit(alm_arena *arena)
{
    run_deferred(arena);
    for (alm_arena_block *block = arena->block, *next; block != NULL; block = next) {
        next = block->next;
        block_free(arena, block);
    }
    alm_arena_init(arena, arena->mem);
}

void alm_arena_reset(alm_arena *arena)
{
    run_deferred(arena);
    alm_arena_block *keep = NULL;
    for (alm_arena_block *block = arena->block, *next; block != NULL; block = next) {
        next = block->next;
        if (keep == NULL || block->bytes > keep->bytes) {
            if (keep != NULL)
                block_free(arena, keep);
            keep = block;
        } else {
            block_free(arena, block);
        }
    }
    arena->block = keep;
    if (keep != NULL) {
        keep->next = NULL;
        keep->used = sizeof(alm_arena_block);
        ASAN_POISON_MEMORY_REGION((char *)keep + keep->used, keep->bytes - keep->used);
    }
}

static alm_status block_new(alm_ctx *cx, alm_arena *arena, size_t bytes, alm_arena_block **out)
{
    ALM_ASSERT(bytes % WIDE_ALIGN == 0);
    if (arena->mem != NULL)
        ALM_TRY(alm_mem_charge(cx, arena->mem, (int64_t)bytes, NULL));
    alm_arena_block *block = aligned_alloc(WIDE_ALIGN, bytes);
    if (block == NULL) {
        if (arena->mem != NULL)
            alm_mem_release(arena->mem, (int64_t)bytes);
        return alm_fail(cx, ALM_E_MEMORY, -1, "the machine has no memory left for %zu bytes",
                        bytes);
    }
    block->bytes = bytes;
    block->used = sizeof(alm_arena_block);
    ASAN_POISON_MEMORY_REGION((char *)block + block->used, block->bytes - block->used);
    *out = block;
    return ALM_OK;
}

static size_t arena_align_up(size_t n, size_t align)
{
    return (n + align - 1) & ~(align - 1);
}

static void *block_take(alm_arena_block *block, size_t bytes, size_t align)
{
    const size_t offset = arena_align_up(block->used, align);
    if (offset > block->bytes || bytes > block->bytes - offset)
        return NULL;
    char *piece = (char *)block + offset;
    block->used = ALM_MIN(arena_align_up(offset + bytes + GAP_BYTES, PIECE_ALIGN), block->bytes);
    ASAN_UNPOISON_MEMORY_REGION(piece, bytes);
    return piece;
}

static alm_status grow_and_take(alm_ctx *cx, alm_arena *arena, size_t bytes, size_t align,
                                void **piece)
{
    if (bytes > (size_t)INT64_MAX / 2)
        return alm_fail(cx, ALM_E_MEMORY, -1, "a piece of %zu bytes is too large", bytes);
    const size_t need =
        arena_align_up(sizeof(alm_arena_block) + bytes + GAP_BYTES + WIDE_ALIGN, WIDE_ALIGN);
    alm_arena_block *block = NULL;
    if (arena->next_bytes == 0) /* zero-initialised */
        arena->next_bytes = BLOCK_BYTES_MIN;
    if (need > arena->next_bytes) {
        ALM_TRY(block_new(cx, arena, need, &block));
        if (arena->block != NULL) {
            block->next = arena->block->next;
            arena->block->next = block;
        } else {
            block->next = NULL;
            arena->block = block;
        }
    } else {
        ALM_TRY(block_new(cx, arena, arena->next_bytes, &block));
        block->next = arena->block;
        arena->block = block;
    }
    if (arena->next_bytes < BLOCK_BYTES_MAX)
        arena->next_bytes *= 2;
    *piece = block_take(block, bytes, align);
    ALM_ASSERT(*piece != NULL);
    return ALM_OK;
}

alm_status alm_arena_bytes(alm_ctx *cx, alm_arena *arena, size_t bytes, void *out)
{
    const size_t align = bytes >= WIDE_FROM ? WIDE_ALIGN : PIECE_ALIGN;
    void *piece = arena->block != NULL ? block_take(arena->block, bytes, align) : NULL;
    if (piece == NULL)
        ALM_TRY(grow_and_take(cx, arena, bytes, align, &piece));
    memcpy(out, &piece, sizeof(piece));
    return ALM_OK;
}

alm_status alm_arena_zero(alm_ctx *cx, alm_arena *arena, size_t bytes, void *out)
{
    void *piece = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, bytes, &piece));
    memset(piece, 0, bytes);
    memcpy(out, &piece, sizeof(piece));
    return ALM_OK;
}

alm_status alm_arena_copy(alm_ctx *cx, alm_arena *arena, alm_str text, alm_str *out)
{
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, text.len, &copy));
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    *out = (alm_str){copy, text.len};
    return ALM_OK;
}

alm_status alm_arena_zstr(alm_ctx *cx, alm_arena *arena, alm_str text, const char **out)
{
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, text.len + 1, &copy));
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *out = copy;
    return ALM_OK;
}

alm_status alm_arena_printf(alm_ctx *cx, alm_arena *arena, const char **out, const char *format,
                            ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (n < 0)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "bad format '%s'", format);
    char *text = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n + 1, &text));
    if ((size_t)n < sizeof(small)) {
        memcpy(text, small, (size_t)n + 1);
    } else {
        va_start(args, format);
        (void)vsnprintf(text, (size_t)n + 1, format, args);
        va_end(args);
    }
    *out = text;
    return ALM_OK;
}
