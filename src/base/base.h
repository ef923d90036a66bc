/*
 * base.h - what every file of the engine stands on: status codes, errors with a position in the
 * SQL text, the statement context, accounted arenas, byte slices.
 *
 * Errors      Every fallible function returns alm_status and writes its results through trailing
 *             pointers, on success only. Details go to cx->err; the first error wins.
 * Memory      Four lifetimes: process, session, query (an arena, freed whole), batch (an arena
 *             that is reset for each batch). Code that serves a query never calls free.
 * Threads     An alm_ctx belongs to one thread at a time. A parallel worker gets a context of its
 *             own (alm_ctx_fork) and hands its error back (alm_ctx_join).
 */
#ifndef ALM_BASE_BASE_H
#define ALM_BASE_BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ALM_NODISCARD         __attribute__((warn_unused_result))
#define ALM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ALM_UNUSED            __attribute__((unused))
#define ALM_HOT               __attribute__((hot))
/* Clones a kernel per instruction set level; the loader picks. Not under sanitizers (no ifunc). */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(ALM_NO_CLONES)
#define ALM_SIMD __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define ALM_SIMD
#endif

typedef enum alm_status {
    ALM_OK = 0,
#define ALM_ERR(name, sqlstate, http, doc) ALM_E_##name,
#include "base/err.def"
#undef ALM_ERR
    ALM_STATUS_COUNT
} alm_status;

const char *alm_status_name(alm_status status);     /* "SYNTAX" */
const char *alm_status_sqlstate(alm_status status); /* "42601" */
int alm_status_http(alm_status status);             /* 400 */

/* Invariants of the program, on in release builds. Never for input, disk or network. */
#define ALM_ASSERT(cond) ((cond) ? (void)0 : alm_assert_failed(#cond, __FILE__, __LINE__))
#ifdef ALM_DEBUG
#define ALM_DASSERT(cond) ALM_ASSERT(cond)
#else
#define ALM_DASSERT(cond) ((void)0)
#endif
/* A place that is never reached; says so, and ends the program if it is. */
#define ALM_UNREACHABLE(what) alm_assert_failed("never reached: " what, __FILE__, __LINE__)
_Noreturn void alm_assert_failed(const char *cond, const char *file, int line);

#define ALM_TRY(expr)                                                                              \
    do {                                                                                           \
        const alm_status alm_try_st_ = (expr);                                                     \
        if (alm_try_st_ != ALM_OK)                                                                 \
            return alm_try_st_;                                                                    \
    } while (0)

#define ALM_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ALM_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define ALM_MAX(a, b)    ((a) > (b) ? (a) : (b))

/* Null of each fixed-width type; BOOLEAN, BYTE and SHORT have none, FLOAT and DOUBLE use NaN. */
#define ALM_INT_NULL  INT32_MIN
#define ALM_LONG_NULL INT64_MIN
#define ALM_TS_NULL   INT64_MIN /* DATE, TIMESTAMP, TIMESTAMP_NS */

/* ------------------------------------------------------------------ slices */

typedef struct alm_str { /* borrowed bytes, UTF-8 where text; not terminated */
    const char *ptr;
    size_t len;
} alm_str;

#define ALM_STR(literal) ((alm_str){(literal), sizeof(literal) - 1})
/* Inline, so that the compiler counts the bytes of a literal. NULL has no bytes. */
static inline alm_str alm_str_of(const char *zstr)
{
    return (alm_str){zstr, zstr == NULL ? 0 : strlen(zstr)};
}
bool alm_str_eq(alm_str a, alm_str b);
bool alm_str_ieq(alm_str a, alm_str b); /* ASCII letters without case */
int alm_str_cmp(alm_str a, alm_str b);  /* bytes, then length */

/* ------------------------------------------------------------------ memory */

/* An account: bytes used against a limit, shared by the threads of one query; 0 = no limit.
 * A child account charges its parent too. */
typedef struct alm_mem {
    _Atomic int64_t used_bytes;
    _Atomic int64_t peak_bytes;
    int64_t limit_bytes;
    struct alm_mem *parent;
    const char *name;    /* named in the error: "query", "all queries" */
    const char *setting; /* behind limit_bytes, named there too; or NULL */
    /* Makes the allocator return free memory to the system; NULL: is not called. Only for an account without a parent. It is
     * called when used_bytes and the large blocks released since the last call exceed limit_bytes together, so that the
     * limit bounds the memory of the process, including what the allocator keeps for reuse. */
    void (*return_kept)(void);
    _Atomic int64_t released_bytes; /* since return_kept was called */
    /* Of limit_bytes, what is left to accounts below that have charged no more than small_bytes themselves. */
    int64_t reserve_bytes, small_bytes;
    /* alm_mem_charge calls it when `full`, an account that several statements share, has no room for `bytes` more of the
     * account `asks`. It chooses a statement to end, sets `gives_way` of its account, and returns true; or returns false, and
     * the charge fails. Only for an account without a parent. NULL: charges fail at once. */
    bool (*make_room)(struct alm_mem *root, const struct alm_mem *full, const struct alm_mem *asks,
                      int64_t bytes);
    /* Set by make_room to the full account: alm_check fails from then on, so that the statement ends and releases its
     * memory. NULL: the statement goes on. */
    _Atomic(const struct alm_mem *) gives_way;
} alm_mem;

typedef struct alm_ctx alm_ctx;

/* ALM_E_MEMORY names the account, the limit and `who` (an operator), and charges nothing. When make_room ends another statement,
 * a thread that may block (cx->may_wait) waits up to 3 seconds for its memory; another one gets ALM_E_YIELD if its statement
 * can yield, else ALM_E_MEMORY. */
ALM_NODISCARD alm_status alm_mem_charge(alm_ctx *cx, alm_mem *mem, int64_t bytes, const char *who);
void alm_mem_release(alm_mem *mem, int64_t bytes);
/* Bytes that can be charged now, with *limit of the account that bounds them; both INT64_MAX without limits. */
int64_t alm_mem_room(const alm_mem *mem, int64_t *limit);

/* Bump allocator; blocks grow from 4 KiB to 1 MiB and are charged to `mem` (may be NULL). */
typedef struct alm_arena {
    struct alm_arena_block *block;
    alm_mem *mem;
    size_t next_bytes;
    struct alm_arena_defer *deferred;
} alm_arena;

void alm_arena_init(alm_arena *arena, alm_mem *mem);
/* Starts with smaller blocks: for arenas of which many exist at a time and most hold little, as of prepared statements. */
void alm_arena_init_small(alm_arena *arena, alm_mem *mem);
void alm_arena_reset(alm_arena *arena);  /* keeps the largest block for reuse */
void alm_arena_deinit(alm_arena *arena); /* gives all blocks back */
/* 16-byte aligned, uninitialised. 64-byte aligned when bytes >= 256. */
ALM_NODISCARD alm_status alm_arena_bytes(alm_ctx *cx, alm_arena *arena, size_t bytes, void *out);
ALM_NODISCARD alm_status alm_arena_zero(alm_ctx *cx, alm_arena *arena, size_t bytes, void *out);
ALM_NODISCARD alm_status alm_arena_copy(alm_ctx *cx, alm_arena *arena, alm_str text, alm_str *out);
/* Calls fn(arg) when the arena is reset or given back, the last deferred first: for what lives as
 * long as the arena but is not memory of it (compiled expressions of a library). */
ALM_NODISCARD alm_status alm_arena_defer(alm_ctx *cx, alm_arena *arena, void (*fn)(void *arg),
                                         void *arg);
/* A terminated copy. */
ALM_NODISCARD alm_status alm_arena_zstr(alm_ctx *cx, alm_arena *arena, alm_str text,
                                        const char **out);
ALM_NODISCARD alm_status alm_arena_printf(alm_ctx *cx, alm_arena *arena, const char **out,
                                          const char *format, ...) ALM_PRINTF(4, 5);
/* Typed allocation into a pointer: ALM_NEW(cx, arena, &node) and ALM_NEWN(cx, arena, n, &array);
 * both zeroed. `out` is the address of the typed pointer. */
#define ALM_NEW(cx, arena, out) alm_arena_zero((cx), (arena), sizeof(**(out)), (out))
#define ALM_NEWN(cx, arena, n, out)                                                                \
    alm_arena_zero((cx), (arena), (size_t)(n) * sizeof(**(out)), (out))

/* Growable bytes on the heap (malloc), charged to `mem`; for encoders and network buffers. */
typedef struct alm_buf {
    char *ptr;
    size_t len, cap;
    alm_mem *mem;
} alm_buf;

void alm_buf_init(alm_buf *buf, alm_mem *mem);
void alm_buf_deinit(alm_buf *buf);
ALM_NODISCARD alm_status alm_buf_reserve(alm_ctx *cx, alm_buf *buf, size_t more_bytes);
/* The bytes of buf, which are the caller's now. buf is empty, and has room for as many, so that it is not copied
 * while it grows again; where memory for that is missing it has none. */
ALM_NODISCARD alm_buf alm_buf_renew(alm_buf *buf);
/* Inline, because encoders append a few bytes at a time to buffers that have room for them. */
ALM_NODISCARD static inline alm_status alm_buf_append(alm_ctx *cx, alm_buf *buf, const void *bytes,
                                                      size_t n)
{
    if (n > buf->cap - buf->len)
        ALM_TRY(alm_buf_reserve(cx, buf, n));
    if (n > 0)
        memcpy(buf->ptr + buf->len, bytes, n);
    buf->len += n;
    return ALM_OK;
}
ALM_NODISCARD static inline alm_status alm_buf_text(alm_ctx *cx, alm_buf *buf, const char *zstr)
{
    return alm_buf_append(cx, buf, zstr, strlen(zstr));
}
ALM_NODISCARD alm_status alm_buf_printf(alm_ctx *cx, alm_buf *buf, const char *format, ...)
    ALM_PRINTF(3, 4);

/* ----------------------------------------------------------------- context */

typedef struct alm_error {
    alm_status code;
    int32_t sql_pos; /* offset in bytes in the SQL text, -1 if none; net/ counts characters */
    char msg[1024];
} alm_error;

/*
 * What lives with one statement on one thread. All time, randomness, disk and permission go
 * through it, so that tests can replace them. Zero-initialised is a usable context without limits
 * (arena must be set before anything allocates from it).
 */
struct alm_ctx {
    alm_error err;
    alm_arena *arena; /* query lifetime */
    alm_mem *mem;     /* query account */
    alm_mem *
        lasting; /* of the user: memory for rows that may outlive the statement (open transactions, loads); NULL: no account */
    alm_mem *files; /* bytes in temporary files of the user; NULL: only those of all are bounded */
    alm_mem *
        symbols; /* of the user: symbols that he is the first to write; NULL: only those of all are bounded */
    const struct alm_conf *conf;
    const struct alm_io *io;
    struct alm_zones *zones;   /* time/zone.h: zones by name, loaded on first use */
    const atomic_bool *cancel; /* set by another thread: stop soon */
    int64_t deadline_ns;       /* monotonic clock, 0 = none */
    int64_t started_ns;        /* monotonic clock */
    int64_t timeout_ms;        /* what deadline_ns was made of, for the message */
    const _Atomic int64_t *
        yield_ns; /* monotonic clock, until when this thread may be held up: then ALM_E_YIELD; 0 or NULL: any time */
    int64_t
        snapshot_until_ns; /* monotonic clock: what it reads is kept for it no longer; 0: for ever */
    int64_t snapshot_age_ms; /* storage.snapshot.age.max, for the message */
    int64_t now_ns;          /* wall clock at statement start: now() and friends */
    uint64_t seed;           /* of this statement's random functions */
    const char *user;
    struct alm_session *session;
    uint64_t rewrite;   /* storage.h, alm_rewrite_begin; 0: what is read is not written again */
    int64_t map_faults; /* of io, when the first rewrite that has not ended began */
    int64_t steps;      /* of searches in the statement (alm_steps_add) */
    int64_t nodes;      /* that the statement is made of so far (alm_nodes_add) */
    bool
        frees; /* an administrator's change that frees space or takes permissions away: made when the disk is full, too */
    bool may_wait; /* this thread may block, because it serves no other connection meanwhile */
    bool waits;    /* what is planned calls a function that waits */
    bool effects;  /* ... one that changes something besides its result */
    const struct alm_lookup *lookup; /* base/lookup.h: what functions may ask; may be NULL */
    const struct alm_access
        *access; /* base/access.h: who may do what; NULL: everybody everything */
};

/* Records the error unless one is recorded already; returns the code that is recorded. */
alm_status alm_fail(alm_ctx *cx, alm_status code, int32_t sql_pos, const char *format, ...)
    ALM_PRINTF(4, 5);
void alm_error_clear(alm_ctx *cx);
/* Cancel, time-out, the age of what is read, and yield_ns; call once per batch in every loop over data. Cheap (a few loads, one clock). */
ALM_NODISCARD alm_status alm_check(alm_ctx *cx);
/* ALM_E_MEMORY of a statement that is ended to release its memory (alm_mem.gives_way). */
alm_status alm_fail_way(alm_ctx *cx);
/* ALM_E_SNAPSHOT_AGE, with the text that names the setting. */
alm_status alm_fail_age(alm_ctx *cx);
/*
 * Parser, binder and planner call it for all that they make of a statement: a node of the tree, an expression, a step of the
 * plan, a column of a step. ALM_E_LIMIT beyond sql.nodes.max; cancel and time-out are looked at once in NODES_LOOK nodes, so
 * loops over such things call it too, with n = 1, where a statement may have many.
 */
enum { ALM_NODES_LOOK = 1024 };
ALM_NODISCARD alm_status alm_nodes_look(alm_ctx *cx, int32_t sql_pos);
ALM_NODISCARD static inline alm_status alm_nodes_add(alm_ctx *cx, int64_t n, int32_t sql_pos)
{
    const int64_t before = cx->nodes;
    cx->nodes += n;
    return before / ALM_NODES_LOOK == cx->nodes / ALM_NODES_LOOK ? ALM_OK
                                                                 : alm_nodes_look(cx, sql_pos);
}
/* Steps of a search through what a statement is made of: cancel and time-out alone. */
ALM_NODISCARD static inline alm_status alm_steps_add(alm_ctx *cx, int64_t n)
{
    enum { STEPS_LOOK = 16384 };
    const int64_t before = cx->steps;
    cx->steps += n;
    return before / STEPS_LOOK == cx->steps / STEPS_LOOK ? ALM_OK : alm_check(cx);
}
/* Bytes that one row makes a function look at: cancel and time-out once in 256 KiB or 16,384 rows. */
ALM_NODISCARD static inline alm_status alm_text_work(alm_ctx *cx, size_t bytes)
{
    enum { BYTES_OF_A_STEP = 16 };
    return alm_steps_add(cx, 1 + (int64_t)(bytes / BYTES_OF_A_STEP));
}
/* Context for a parallel worker: same limits, own error and no arena. */
void alm_ctx_fork(const alm_ctx *parent, alm_ctx *child);
/* Moves the child's error up (first wins). */
alm_status alm_ctx_join(alm_ctx *parent, const alm_ctx *child);
int64_t alm_monotonic_ns(void);

#endif
