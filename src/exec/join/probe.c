/*
 * probe.c - key numbers of left rows in the table of a hash join. See join.h.
 */
#include "exec/join/join.h"

#define TODO (UINT32_MAX - 1)

/* ---------------------------------------------------------------------------- translation */

static uint32_t probe_find_text(const alm_dict *dict, const alm_view *view, const char *heap)
{
    if (alm_view_is_null(view))
        return 0;
    const uint32_t code = dict->find(dict, alm_view_str(view, heap));
    return code == 0 ? ALM_JOIN_NO_ROW : code;
}

/* The translation table of the vector's dictionary; another dictionary starts it anew. */
static alm_status codes_for(alm_ctx *cx, alm_pool *pool, alm_join_codes *codes,
                            const alm_dict *from)
{
    if (codes->to != NULL && codes->dict_id == from->id && codes->count >= from->count)
        return ALM_OK;
    const uint32_t keep = codes->to != NULL && codes->dict_id == from->id ? codes->count : 0;
    ALM_TRY(alm_pool_grow(cx, pool, &codes->to, keep * sizeof *codes->to,
                          from->count * sizeof *codes->to));
    for (uint32_t i = keep; i < from->count; i++)
        codes->to[i] = TODO;
    codes->dict_id = from->id;
    codes->count = from->count;
    return ALM_OK;
}

alm_status alm_join_translate(alm_ctx *cx, alm_pool *pool, alm_join_codes *codes,
                              const alm_dict *dict, const alm_vec *vec, uint32_t n_rows,
                              uint32_t *out)
{
    if (vec->dict == NULL) {
        const alm_view *view = vec->data;
        const size_t step = vec->is_const ? 0 : 1;
        for (uint32_t i = 0; i < n_rows; i++)
            out[i] = probe_find_text(dict, &view[i * step], vec->heap);
        return ALM_OK;
    }
    if (vec->dict->id == dict->id) {
        for (uint32_t i = 0; i < n_rows; i++)
            out[i] = alm_vec_code(vec, i);
        return ALM_OK;
    }
    ALM_TRY(codes_for(cx, pool, codes, vec->dict));
    for (uint32_t i = 0; i < n_rows; i++) {
        const uint32_t code = alm_vec_code(vec, i);
        uint32_t to = codes->to[code];
        if (to == TODO)
            to = codes->to[code] = probe_find_text(dict, &vec->dict->views[code], NULL);
        out[i] = to;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- look-ups */

/* One text key against symbols on the left: each symbol is looked up once. */
static alm_status probe_symbols(alm_ctx *cx, alm_join_probe *probe, const alm_keymap *map,
                                alm_arena *arena, uint32_t n, uint32_t *number)
{
    const alm_vec *vec = &probe->key[0];
    alm_join_codes *codes = &probe->codes[0];
    ALM_TRY(codes_for(cx, &probe->pool, codes, vec->dict));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t code = alm_vec_code(vec, i);
        if (codes->to[code] == TODO) {
            const alm_vec one = {.type = ALM_TY(VARCHAR),
                                 .width = sizeof(alm_view),
                                 .is_const = true,
                                 .data = (void *)(uintptr_t)&vec->dict->views[code]};
            ALM_TRY(alm_keymap_probe(cx, map, arena, &one, 1, &codes->to[code]));
        }
        number[i] = codes->to[code];
    }
    return ALM_OK;
}

alm_status alm_join_probe_map(alm_ctx *cx, alm_join_probe *probe, const alm_keymap *map,
                              alm_arena *arena, alm_batch *left, uint32_t *number)
{
    const uint32_t n_rows = left->rows;
    ALM_TRY(alm_eval_run(cx, probe->eval, arena, left, probe->key));
    if (probe->n_keys == 1 && probe->key[0].dict != NULL && alm_keymap_dict(map, 0) == NULL)
        return probe_symbols(cx, probe, map, arena, n_rows, number);
    for (uint32_t key = 0; key < probe->n_keys; key++) {
        const alm_dict *dict = alm_keymap_dict(map, key);
        if (dict == NULL || (probe->key[key].dict != NULL && probe->key[key].dict->id == dict->id))
            continue;
        uint32_t *code = NULL;
        ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * sizeof *code, &code));
        ALM_TRY(alm_join_translate(cx, &probe->pool, &probe->codes[key], dict, &probe->key[key],
                                   n_rows, code));
        probe->key[key] =
            (alm_vec){.type = ALM_TY(SYMBOL), .width = sizeof *code, .dict = dict, .data = code};
    }
    return alm_keymap_probe(cx, map, arena, probe->key, n_rows, number);
}

alm_status alm_join_probe_dict(alm_ctx *cx, alm_join_probe *probe, const alm_dict *dict,
                               alm_arena *arena, alm_batch *left, uint32_t *number)
{
    ALM_TRY(alm_eval_run(cx, probe->eval, arena, left, probe->key));
    return alm_join_translate(cx, &probe->pool, &probe->codes[0], dict, &probe->key[0], left->rows,
                              number);
}

alm_status alm_join_probe_run(alm_ctx *cx, alm_join_probe *probe, alm_arena *arena, alm_batch *left,
                              uint32_t *number)
{
    const alm_join_table *table = probe->table;
    const uint32_t n_rows = left->rows;
    if (!table->keyed) {
        memset(number, 0, n_rows * sizeof *number);
        return ALM_OK;
    }
    if (table->n == 0) {
        memset(number, 0xff, n_rows * sizeof *number);
        return ALM_OK;
    }
    if (table->dict == NULL)
        return alm_join_probe_map(cx, probe, table->map, arena, left, number);
    ALM_TRY(alm_join_probe_dict(cx, probe, table->dict, arena, left, number));
    for (uint32_t i = 0; i < n_rows;
         i++) /* the same dictionary may have grown for a later reader */
        number[i] = number[i] < table->n_numbers ? number[i] : ALM_JOIN_NO_ROW;
    return ALM_OK;
}

alm_status alm_join_probe_keys(alm_ctx *cx, alm_expr *const *left_keys, uint32_t n, const char *who,
                               alm_join_probe *out)
{
    *out = (alm_join_probe){.n_keys = n};
    alm_pool_init(&out->pool, cx->mem, who);
    if (n == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &out->key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &out->codes));
    return alm_eval_new(cx, (const alm_expr *const *)left_keys, n, &out->eval);
}

alm_status alm_join_probe_new(alm_ctx *cx, const alm_plan *plan, const char *who,
                              alm_join_probe *out)
{
    return alm_join_probe_keys(cx, plan->join.left_keys, plan->join.n_keys, who, out);
}

void alm_join_probe_free(alm_join_probe *probe)
{
    alm_eval_free(probe->eval);
    alm_pool_deinit(&probe->pool);
    probe->eval = NULL;
}
