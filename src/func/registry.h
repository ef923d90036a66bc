/*
 * registry.h - the one list of functions: scalars, operators, casts, aggregates, window functions.
 *
 * A function is one alm_fn row in the table at the end of the file that holds its kernel. The
 * registry gathers the tables (registry.c names each table once), parses the signatures at start,
 * and resolves overloads. Binder, evaluator, functions(), autocomplete and the reference page all
 * read these rows; nothing else lists functions.
 *
 * Signature   "(unit STRING const, ts TIMESTAMP) TIMESTAMP". A parameter is: optional name, type or
 *             family, optional `const` (constant or bind variable at plan time), optional `...` on
 *             the last one (zero or more of it; one or more where a plain one stands before it).
 *             Families: ANY; NUMERIC (BYTE..DOUBLE); INTEGRAL; TEXT (STRING, VARCHAR, SYMBOL:
 *             kernels see views, or codes where the row sets ALM_FN_SYMBOLS); TIME (TIMESTAMP or
 *             TIMESTAMP_NS, kept as it is); SAME (type of the first parameter).
 *             Result: a type, or SAME, or TIME (that of the TIME parameters; NS if any), or `?` where
 *             bind() sets it.
 * Null rule   ALM_NULL_IN_NULL_OUT is promised by the kernel itself (sentinels make most kernels do
 *             it by nature); the flag tells the planner so.
 */
#ifndef ALM_FUNC_REGISTRY_H
#define ALM_FUNC_REGISTRY_H

#include "base/nearest.h"
#include "type/vector.h"

typedef enum alm_fn_kind { ALM_FN_SCALAR, ALM_FN_AGGREGATE, ALM_FN_WINDOW } alm_fn_kind;

enum {
    ALM_FN_VOLATILE = 1 << 0,  /* another value each row (rnd_*): never folded, never shared */
    ALM_FN_STABLE = 1 << 1,    /* constant within a statement (now()): folded when executed */
    ALM_FN_SYMBOLS = 1 << 2,   /* kernel takes SYMBOL arguments as codes */
    ALM_FN_INTERNAL = 1 << 3,  /* not listed to users (operators, casts, rewrites) */
    ALM_FN_ROW_ORDER = 1 << 4, /* aggregate whose result depends on row order (first, last) */
    ALM_FN_NULL_OUT = 1 << 5,  /* null in any argument gives null (or false) out */
    ALM_FN_WAITS = 1 << 6,   /* waits, or makes any amount of a little: never on a network thread */
    ALM_FN_RUNNING = 1 << 7, /* aggregate that OVER runs from the first row, whatever the frame */
    ALM_FN_BEYOND = 1 << 8,  /* only where an argument has a type of the row that is no LONG */
    ALM_FN_CHECKED = 1 << 9, /* refuses values: it may only see those that are asked for */
    /* Cannot fail because of a value, has no effect, and takes memory and time that tell nothing: it may see rows
     * that the user may not (sql/plan/op.def, BARRIER). */
    ALM_FN_LEAKPROOF = 1 << 10,
    ALM_FN_EFFECT =
        1 << 11 /* changes something besides its result: a statement with it is never begun anew */
};

struct alm_fn;

/*
 * One call site. `data` is made by bind, is read-only afterwards and shared by all threads; `state`
 * is per thread (random generators), made by the evaluator from fn->state_bytes zeroed bytes.
 * `arena` is where var-size results go: for scalars it lives as long as the batch, for aggregates
 * as long as the states.
 */
typedef struct alm_call {
    alm_ctx *cx;
    const struct alm_fn *fn;
    const void *data;
    void *state;
    alm_arena *arena;
    alm_type result;
    int32_t pos;
    uint32_t argc;
    uint64_t row_base; /* number of the first row of this batch in its stream (sequences) */
} alm_call;

/* What bind sees of an argument. `value` is set where it is constant (one element). */
typedef struct alm_arg {
    alm_type type;        /* NONE: a bind variable whose type is not known yet */
    const alm_vec *value; /* in the type it was written in, which `type` may differ from */
    int32_t pos;
    bool is_param; /* a bind variable while a statement is only described: constant, but
                             without a value yet; bind must cope */
} alm_arg;

/* Optional. Checks arguments, may change arg types it wants cast to (args[i].type), sets *result
 * and *data (memory from the query arena cx->arena). */
typedef alm_status (*alm_fn_bind)(alm_ctx *cx, const struct alm_fn *fn, int32_t pos, uint32_t argc,
                                  alm_arg *args, alm_type *result, void **data);

/*
 * args[i] is dense or const; at least one is dense unless argc is 0 or n is 1 (then any mix).
 * out->data has room for n elements of the result width (views for text results) and is not an
 * alias of an argument. SYMBOL results: set out->dict and out->width when passing codes on, else
 * leave views.
 */
typedef alm_status (*alm_scalar_kernel)(alm_call *call, size_t n, const alm_vec *args,
                                        alm_vec *out);

/*
 * An aggregate is a plain-old-data state per group, in an array (one array per aggregate).
 * Rows come in row order within one array; partial arrays are merged in row order, so that results
 * do not depend on the number of threads.
 */
typedef struct alm_agg_ops {
    size_t state_bytes;
    void (*init)(const alm_call *call, void *states, size_t n);
    /* all n rows into one state */
    alm_status (*update)(alm_call *call, void *state, size_t n, const alm_vec *args);
    /* row i into states[group[i]] */
    alm_status (*scatter)(alm_call *call, void *states, const uint32_t *group, size_t n,
                          const alm_vec *args);
    /* dst[index ? index[i] : i] takes in src[i], i in 0..n-1; src rows come after dst rows */
    alm_status (*merge)(alm_call *call, void *dst, const uint32_t *index, const void *src,
                        size_t n);
    /* results of states 0..n-1 into out (flat, n elements; text as views) */
    alm_status (*finish)(alm_call *call, const void *states, size_t n, alm_vec *out);
    uint8_t fuse; /* alm_fuse (agg/fused.h): scatter may be taken together with others */
    /* States are plain data: src of a merge may go on and be merged again. Where it is not set, a merge
     * may take over what src points to. */
    bool plain;
    /* FILL(LINEAR) of what is measured along a way, so that buckets add up to all of it: the part of the way from the last
     * point of state a to the first of state b that falls into [from, to), times as the last argument has them. NULL: a value
     * between two others is on the line between them. The states are plain data. */
    double (*between)(const void *a, const void *b, int64_t from, int64_t to);
} alm_agg_ops;

struct alm_window_ops; /* func/window/window.h */

/* The frame of a window: what its bounds count, where it begins and ends, and which rows in it are left out. */
typedef enum alm_frame_unit {
    ALM_FRAME_NONE,
    ALM_FRAME_ROWS,
    ALM_FRAME_RANGE,
    ALM_FRAME_GROUPS
} alm_frame_unit;

typedef enum alm_frame_bound {
    ALM_BOUND_NONE,
    ALM_BOUND_UNBOUNDED_PRECEDING,
    ALM_BOUND_PRECEDING,
    ALM_BOUND_CURRENT,
    ALM_BOUND_FOLLOWING,
    ALM_BOUND_UNBOUNDED_FOLLOWING
} alm_frame_bound;

typedef enum alm_frame_exclude {
    ALM_EXCLUDE_NONE,
    ALM_EXCLUDE_CURRENT,
    ALM_EXCLUDE_GROUP,
    ALM_EXCLUDE_TIES
} alm_frame_exclude;

typedef struct alm_fn {
    const char *name; /* lower case; operators by their symbol: "+", "=", "like", "::int" */
    const char *signature;
    alm_fn_kind kind;
    uint32_t flags;
    alm_fn_bind bind;
    alm_scalar_kernel kernel;
    size_t state_bytes;
    const alm_agg_ops *agg;
    const struct alm_window_ops *window;
    uint8_t monotone_arg; /* 1-based: the result never falls while this argument rises; 0: none */
    const char *doc, *example, *since;
} alm_fn;

typedef struct alm_fn_table {
    const alm_fn *rows;
    size_t count;
} alm_fn_table;

typedef struct alm_registry alm_registry;

/* Parses all rows; fails (ALM_E_INTERNAL, names the row) on a bad signature. */
ALM_NODISCARD alm_status alm_registry_new(alm_ctx *cx, alm_registry **out);
void alm_registry_free(alm_registry *reg);
/* Rows in order of name, for functions() and the reference page. */
size_t alm_registry_count(const alm_registry *reg);
const alm_fn *alm_registry_at(const alm_registry *reg, size_t i);
/* Topic of row i: "numeric", "date-time" ...; a page of the documentation each. */
const char *alm_registry_group(const alm_registry *reg, size_t i);
/* The names that can be called, of every kind: what a wrong one may have been meant to be. */
void alm_registry_offer(const alm_registry *reg, alm_nearest *near);
/* Is there any function of that name and kind (any case)? */
bool alm_registry_has(const alm_registry *reg, alm_str name, alm_fn_kind kind);

typedef struct alm_resolved {
    const alm_fn *fn;
    alm_type arg_types[64]; /* what each argument must be cast to; == given type: no cast */
    uint32_t n_arg_types;   /* arguments above it take the type of the last */
    alm_type result;
    void *data;
    uint32_t argc;
} alm_resolved;

/*
 * Overload resolution: exact match first, then least total implicit cast cost (alm_cast_cost).
 * Errors in the reference's words, and what the function takes behind them: "unknown function name:
 * f(INT)", "there is no matching function `f` with the argument types: (INT, INT); it takes (TEXT)",
 * "there is no matching operator `+` with the argument types: BOOLEAN + INT".
 */
/* args[i].type is changed to what the function wants; out->arg_types repeats the first 64. More than
 * 64 arguments are possible where all above the 64th want one type (lists of IN). */
ALM_NODISCARD alm_status alm_registry_resolve(alm_ctx *cx, const alm_registry *reg, alm_str name,
                                              alm_fn_kind kind, int32_t pos, uint32_t argc,
                                              alm_arg *args, alm_resolved *out);

/* ------------------------------------------------------------------- casts (func/cast.h rules) */

/* Cost of an implicit cast as a function argument: 0 same type, > 0 widening, < 0 not implicit. */
int alm_cast_cost(alm_type from, alm_type target);
/* The function that casts explicitly, NULL if there is none. One argument. */
const alm_fn *alm_cast_fn(const alm_registry *reg, alm_type from, alm_type target);
/* Is it one of the functions below or that one? */
bool alm_fn_is_cast(const alm_fn *fn);
/* Type in which two branches meet (CASE, COALESCE, UNION, comparison); NONE: they do not. */
alm_type alm_type_meet(alm_type a, alm_type b);

/* Set operations are wider: SYMBOL gives STRING, and whatever meets text becomes text. NONE: a time and a number, which do not
 * meet in them. */
alm_type alm_type_union(alm_type a, alm_type b);
/* Casts that stand without being written. They refuse (ALM_E_VALUE "inconvertible value: ...") what
 * an explicit cast turns into null. NULL: there is none.
 * implicit: of a constant to an argument type chosen by resolution (alm_resolved.arg_types), whatever its cost; the rows of a
 *           column take the lenient cast, so that one of them does not end a statement.
 * lenient:  reads what the implicit cast reads, and gives null for what that refuses.
 * assign:   from a value to the column it is stored in (INSERT, UPDATE). */
const alm_fn *alm_lenient_fn(const alm_registry *reg, alm_type from, alm_type target);
const alm_fn *alm_implicit_fn(const alm_registry *reg, alm_type from, alm_type target);
const alm_fn *alm_assign_fn(const alm_registry *reg, alm_type from, alm_type target);
/* The comparison that `not (a op b)` means: "<" gives ">=". NULL: wrap it in "not". In the two-valued
 * logic of the dialect `not (null > 5)` is false, as `null <= 5` is. */
const char *alm_fn_negated(const char *name);

/* ------------------------------------------------------------------- + - * (operator/arith.c) */

/* The same operator, failing where fn gives null for a result beyond its type; NULL: fn never does. */
const alm_fn *alm_fn_checked(const alm_fn *fn);
/* The same operator over two INT with a LONG as result; NULL: fn is none over INT. */
const alm_fn *alm_fn_wide(const alm_fn *fn);
/* "LONG out of range" */
ALM_NODISCARD alm_status alm_out_of_range(alm_ctx *cx, int32_t pos, alm_type type);

#endif
