/*
 * join.h - hash joins: the table made of the right input, and how left keys are looked up in it.
 *
 * Table       All rows of the right input in memory, behind them one row of nulls. Each distinct key
 *             has a number; rows are listed by number, ascending. A single symbol key is numbered by
 *             its code and needs no hashing; without keys all rows have number 0.
 * Symbols     Left codes are translated to right codes once per left code, by text, whatever the two
 *             dictionaries.
 * Threads     The table is read-only once made (but for the marks of matched rows, which only the
 *             serial kinds set); an alm_join_probe belongs to one thread.
 * Null rule   Null equals null.
 */
#ifndef ALM_EXEC_JOIN_H
#define ALM_EXEC_JOIN_H

#include "exec/data/keymap.h"
#include "exec/data/rows.h"
#include "exec/eval/eval.h"

#define ALM_JOIN_NO_ROW UINT32_MAX

typedef struct alm_join_table {
    alm_arena arena; /* own, so that it may outlive the thread context that made it */
    alm_pool pool;
    alm_rows rows;
    uint32_t n;           /* rows of the right input; row n is all nulls */
    alm_keymap *map;      /* NULL: no keys, or one symbol key */
    const alm_dict *dict; /* one symbol key: numbers are its codes */
    uint32_t n_numbers;
    bool keyed;
    bool unique;     /* at most one row per number: first[number] is it, or ALM_JOIN_NO_ROW */
    uint32_t *first; /* else rows of number k: list[first[k] .. first[k + 1]); list NULL: itself */
    uint32_t *list;
    uint8_t *matched; /* RIGHT, FULL: per row */
} alm_join_table;

ALM_NODISCARD alm_status alm_join_table_new(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                            alm_join_table **out);
void alm_join_table_free(alm_join_table *table); /* NULL is fine */
/* All rows of an input of the join, read in parallel where it is a pipeline, in its order. */
ALM_NODISCARD alm_status alm_join_read_rows(alm_ctx *cx, alm_run *run, const alm_plan *input,
                                            const alm_plan *join, alm_rows *rows);

/* What all copies of a join share: one of the two. */
typedef struct alm_join_shared {
    alm_join_table *table;
    struct alm_asof_right *asof;
} alm_join_shared;

/* Translation of codes of one dictionary, filled as codes are met. */
typedef struct alm_join_codes {
    uint32_t *to; /* or a mark: not asked for yet */
    uint32_t dict_id, count;
} alm_join_codes;

typedef struct alm_join_probe {
    const alm_join_table *table;
    alm_eval *eval;
    alm_vec *key;
    uint32_t n_keys;
    alm_join_codes *codes; /* by key */
    alm_pool pool;
} alm_join_probe;

/* Memory from cx->arena, which must outlive it. */
ALM_NODISCARD alm_status alm_join_probe_new(alm_ctx *cx, const alm_plan *plan, const char *who,
                                            alm_join_probe *out);
ALM_NODISCARD alm_status alm_join_probe_keys(alm_ctx *cx, alm_expr *const *left_keys, uint32_t n,
                                             const char *who, alm_join_probe *out);
void alm_join_probe_free(alm_join_probe *probe);
/* Key numbers of the rows of a batch of the left input, ALM_JOIN_NO_ROW where the key is not in the
 * table. `arena`: what lives as long as the batch. */
ALM_NODISCARD alm_status alm_join_probe_run(alm_ctx *cx, alm_join_probe *probe, alm_arena *arena,
                                            alm_batch *left, uint32_t *number);

/* The same against a key map, or (one text key) as codes of a dictionary. UINT32_MAX: not there. */
ALM_NODISCARD alm_status alm_join_probe_map(alm_ctx *cx, alm_join_probe *probe,
                                            const alm_keymap *map, alm_arena *arena,
                                            alm_batch *left, uint32_t *number);
ALM_NODISCARD alm_status alm_join_probe_dict(alm_ctx *cx, alm_join_probe *probe,
                                             const alm_dict *dict, alm_arena *arena,
                                             alm_batch *left, uint32_t *number);

/*
 * Codes (4 bytes each) of n values of a text vector in another dictionary; 0 for null,
 * ALM_JOIN_NO_ROW for texts it does not have.
 */
ALM_NODISCARD alm_status alm_join_translate(alm_ctx *cx, alm_pool *pool, alm_join_codes *codes,
                                            const alm_dict *dict, const alm_vec *vec,
                                            uint32_t n_rows, uint32_t *out);

#endif
