/*
 * number.c - see number.h. Keys are computed and looked up batch by batch.
 */
#include "exec/join/number.h"

#include "exec/eval/eval.h"

static alm_status number_batches(alm_ctx *cx, const alm_rows *rows, alm_eval *eval,
                                 alm_arena *scratch, alm_vec *keys, uint32_t *number,
                                 alm_keymap *map)
{
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, rows->n_cols + 1, &cols));
    for (uint32_t place = 0; place < rows->n; place += ALM_BATCH_ROWS) {
        const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, rows->n - place);
        alm_batch batch = {.rows = n_rows, .n_cols = rows->n_cols, .cols = cols};
        for (uint32_t col = 0; col < rows->n_cols; col++)
            alm_rows_slice(rows, col, place, &cols[col]);
        alm_arena_reset(scratch);
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_eval_run(cx, eval, scratch, &batch, keys));
        ALM_TRY(alm_keymap_add(cx, map, keys, n_rows, number + place));
    }
    return ALM_OK;
}

alm_status alm_rows_number(alm_ctx *cx, const alm_rows *rows, const alm_expr *const *keys,
                           const alm_type *types, uint32_t n_keys, uint32_t *number,
                           alm_keymap **map)
{
    alm_eval *eval = NULL;
    alm_vec *values = NULL;
    alm_arena scratch;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &values));
    ALM_TRY(alm_keymap_new(cx, rows->pool, types, n_keys, map));
    ALM_TRY(alm_eval_new(cx, keys, n_keys, &eval));
    alm_arena_init(&scratch, cx->mem);
    const alm_status status = number_batches(cx, rows, eval, &scratch, values, number, *map);
    alm_eval_free(eval);
    alm_arena_deinit(&scratch);
    return status;
}
