/*
 * op.h - what an operator is, and what exec offers to operators. Internal to exec/.
 *
 * Operator    alm_op is one run-time node for one plan node, used by one thread at a time. It pulls
 *             batches from its children with alm_op_next and returns batches of up to
 *             ALM_BATCH_ROWS rows. A batch is borrowed until the next call of next, start or close
 *             on the operator that made it. The consumer may make its columns dense in place
 *             (alm_batch_column); columns it does not touch may stay indirect under batch.sel.
 * To add one  op_<name>.c with a constructor, a row in op.def. The constructor calls alm_op_init,
 *             makes children with alm_op_child, and does no work on data: that waits for next.
 * Pipelines   Operators that need all their input first (group, sort, sample, join build) read it
 *             through an alm_pipe. Where the subtree is a chain of streaming operators over a scan,
 *             the pipe cuts the scan into morsels and runs a body for each of them on all threads,
 *             with one copy of the chain per thread. A GROUP BY at the bottom of the chain is run first;
 *             its groups are cut likewise. Else there is one "morsel" and one thread.
 *             Either way the body is the same code, and results are put together by morsel number,
 *             so that they do not depend on the number of threads.
 * Streaming   An operator whose rows follow from the rows of one child (filter, project, join probe)
 *             names that child in op.def (drive); state that all copies share (a join's hash table)
 *             is made once by its prepare function, before the copies, and found in
 *             alm_op_shared(op).
 * Memory      cx->arena of the calling thread for plans of work and small state; alm_pool for data,
 *             charged to the query account under the operator's name and given back at close;
 *             op->batch for what lives until the next batch (reset it at the start of next).
 * Cancel      alm_op_next calls alm_check: an operator that pulls is cancelled; one that loops over
 *             data of its own calls alm_check once per ALM_BATCH_ROWS rows.
 */
#ifndef ALM_EXEC_OP_H
#define ALM_EXEC_OP_H

#include "exec/data/pool.h"
#include "exec/exec.h"

typedef struct alm_op alm_op;
typedef struct alm_run alm_run;
typedef struct alm_pipe alm_pipe;

/* ---------------------------------------------------------------------- operators */

typedef struct alm_op_vt {
    const char *name;
    /* The next rows, or *out = NULL at the end (and again on each further call). */
    alm_status (*next)(alm_ctx *cx, alm_op *op, alm_batch **out);
    /* Streaming operators: begin with morsel `morsel`. NULL: forget nothing, ask the driving child. */
    alm_status (*start)(alm_ctx *cx, alm_op *op, uint32_t morsel);
    /* Gives back pools and arenas of its own. Children are closed by the framework. May be NULL. */
    void (*close)(alm_op *op);
    /* The consumer will take `rows` rows at the most. May be NULL. Pass it on where it holds. */
    void (*hint)(alm_op *op, int64_t rows);
    /* Exact number of rows it will give, -1 where only running it tells. NULL: -1. */
    int64_t (*count)(alm_ctx *cx, alm_op *op);
    /* Leaves out the next `rows` rows without making them; only where count is known. false: cannot. */
    bool (*skip)(alm_op *op, int64_t rows);
} alm_op_vt;

enum { ALM_OP_CHILDREN_MAX = 2 };

/* Embedded as the first member of each operator's own struct. */
struct alm_op {
    const alm_op_vt *vt;
    const alm_plan *plan;
    alm_run *run;
    alm_pipe *pipe; /* a copy in a parallel pipeline; NULL: the only one, all rows */
    alm_op *parent;
    alm_op *child[ALM_OP_CHILDREN_MAX];
    alm_arena batch;  /* memory of the current batch */
    alm_batch out;    /* usual place of the result; cols has plan->n_cols entries */
    int64_t child_ns; /* analyze: time spent in children */
};

/*
 * An operator that needs all its input before its first row, and whose complete result other threads can read
 * in parts: at the bottom of a pipeline the parts play the role of the morsels of a scan.
 */
typedef struct alm_op_parts {
    bool (*applies)(const alm_run *run, const alm_plan *plan); /* does this plan run so? */
    /* Makes the operator and lets it read all its input. After an error *out may be set; the caller closes it. */
    alm_status (*complete)(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_op **out);
    uint32_t (*count)(const alm_op *op);
    int64_t (*rows)(const alm_op *op); /* of all parts; -1: not known */
} alm_op_parts;

/* A row of op.def. */
typedef struct alm_op_kind {
    alm_status (*make)(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                       alm_op **out);
    /* Number of the child that drives it as a streaming operator, -1: not streaming for this plan.
     * NULL: never streaming. A SCAN returns -1 and is the source of pipelines by itself. */
    int32_t (*drive)(const alm_plan *plan);
    /* State shared by all copies, once per run, on the thread that opened the pipe. May be NULL. */
    alm_status (*prepare)(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **shared);
    void (*unprepare)(void *shared); /* at alm_exec_close. May be NULL */
    const alm_op_parts *parts;       /* NULL: its result is not read in parts */
} alm_op_kind;

/* Per plan node of one execution. */
typedef struct alm_op_node {
    const alm_plan *plan;
    void *shared;
    alm_arena own; /* of `shared`, where the arena at hand may go before the run */
    bool prepared;
    _Atomic int64_t rows, batches, cpu_ns, bytes;
    alm_mem mem;        /* of its operators, below the query's; in use when the run is analyzed */
    alm_op_stats stats; /* a copy to hand out */
} alm_op_node;

/* One execution; what the operators of all threads share. */
struct alm_run {
    alm_exec_env env;
    const alm_plan *plan;
    const alm_arena *arena; /* what is taken from it lasts as long as the run */
    alm_op_node *node;      /* by plan id */
    uint32_t n_nodes;
    const alm_op_kind
        *kinds; /* by alm_plan_op: the table of op_table.h, which names all operators */
};

/* NULL: there is no such operator. */
const alm_op_kind *alm_op_kind_of(const alm_run *run, alm_plan_op op);

/* Analyzed, an operator takes its memory from an account of its own: cx->mem is that from here; gives back
 * the one before, which the caller puts back. */
alm_mem *alm_run_enter(alm_ctx *cx, alm_run *run, const alm_plan *plan);
int64_t alm_thread_cpu_ns(void); /* processor time of the calling thread */

/* Fills the embedded part; memory of `out.cols` from cx->arena. */
ALM_NODISCARD alm_status alm_op_init(alm_ctx *cx, alm_op *op, const alm_op_vt *vt, alm_run *run,
                                     const alm_plan *plan, alm_pipe *pipe);
/* Builds the tree of a plan. pipe != NULL: a copy for this thread. */
ALM_NODISCARD alm_status alm_op_new(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                                    alm_op **out);
/* Same for op->plan->child[i], as op->child[i]; in a pipe only the driving child is part of it. */
ALM_NODISCARD alm_status alm_op_child(alm_ctx *cx, alm_op *op, uint32_t i);
ALM_NODISCARD alm_status alm_op_next(alm_ctx *cx, alm_op *op, alm_batch **out);
ALM_NODISCARD alm_status alm_op_start(alm_ctx *cx, alm_op *op, uint32_t morsel);
void alm_op_hint(alm_op *op, int64_t rows);
int64_t alm_op_count(alm_ctx *cx, alm_op *op);
bool alm_op_skip(alm_op *op, int64_t rows);
void alm_op_close(alm_op *op); /* with its children; NULL is fine */
/* The node's shared state; prepares it if nobody did yet (only outside of parallel bodies). */
ALM_NODISCARD alm_status alm_op_shared(alm_ctx *cx, alm_run *run, const alm_plan *plan, void *out);
/* Bytes for EXPLAIN ANALYZE. */
void alm_op_count_bytes(alm_run *run, const alm_plan *plan, int64_t bytes);

/* ------------------------------------------------------------------------ pipelines */

/*
 * One morsel of the input, on the thread with number `slot`: pull `input` until NULL. cx is the
 * thread's own (error, arena of query lifetime); it may differ from morsel to morsel.
 */
typedef alm_status (*alm_pipe_body)(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel,
                                    alm_op *input);

/* Over the subtree `top`. `consumer` names the operator that reads (statistics; may be NULL). */
ALM_NODISCARD alm_status alm_pipe_new(alm_ctx *cx, alm_run *run, const alm_plan *top,
                                      const alm_plan *consumer, alm_pipe **out);
uint32_t alm_pipe_morsels(const alm_pipe *pipe); /* 0: no rows at all */
uint32_t alm_pipe_slots(const alm_pipe *pipe);   /* slot numbers are below it */
bool alm_pipe_parallel(const alm_pipe *pipe);    /* false: one morsel, whatever its size */
/* The finished GROUP BY that the chain starts with instead of a scan (group/part.c); NULL: none. */
alm_op *alm_pipe_source(const alm_pipe *pipe);
int64_t alm_pipe_rows(const alm_pipe *pipe); /* upper bound before filters; -1 unknown */
/* Runs body for morsels [lo, hi), in any order and in parallel; the first error wins. */
ALM_NODISCARD alm_status alm_pipe_run(alm_ctx *cx, alm_pipe *pipe, uint32_t lo, uint32_t hi,
                                      alm_pipe_body body, void *arg);
/* Runs task(i) for i in [0, n) on all threads with contexts of their own: merge phases. */
typedef alm_status (*alm_pipe_task)(alm_ctx *cx, void *arg, uint32_t slot, uint32_t i);
ALM_NODISCARD alm_status alm_pipe_each(alm_ctx *cx, alm_pipe *pipe, uint32_t n, alm_pipe_task task,
                                       void *arg);
/* Closes the copies and gives back the arenas of the threads: all that bodies took from cx->arena. NULL
 * is fine. */
void alm_pipe_free(alm_pipe *pipe);

/* ------------------------------------------------------------------------ expressions */

bool alm_eval_expr_equal(const alm_expr *a, const alm_expr *b); /* same value for the same row */
bool alm_eval_expr_volatile(const alm_expr *expr);
/* Sets used[col] for each input column of the expression. */
void alm_expr_cols(const alm_expr *expr, bool *used, uint32_t n_cols);

#endif
