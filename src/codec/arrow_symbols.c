/* arrow_symbols.c - see arrow_symbols.h. */
#include "codec/arrow_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "almanac.h"
#include "base/hash.h"

void alm_arrow_symbols_deinit(alm_arrow_symbols *symbols)
{
    alm_buf_deinit(&symbols->offsets);
    alm_buf_deinit(&symbols->bytes);
    alm_buf_deinit(&symbols->indices);
    alm_buf_deinit(&symbols->valid);
    alm_buf_deinit(&symbols->codes);
    free(symbols->slots);
}

/* `values`: no more distinct values come. */
static alm_status symbols_init(alm_ctx *cx, alm_arrow_symbols *symbols, uint64_t values,
                               size_t rows)
{
    *symbols = (alm_arrow_symbols){.mask = 15};
    alm_buf_init(&symbols->offsets, cx->mem);
    alm_buf_init(&symbols->bytes, cx->mem);
    alm_buf_init(&symbols->indices, cx->mem);
    alm_buf_init(&symbols->valid, cx->mem);
    alm_buf_init(&symbols->codes, cx->mem);
    while (symbols->mask < 2 * values)
        symbols->mask = 2 * symbols->mask + 1;
    symbols->slots = calloc((size_t)symbols->mask + 1, sizeof *symbols->slots);
    if (symbols->slots == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory for a dictionary");
    static const int32_t first = 0;
    ALM_TRY(alm_buf_append(cx, &symbols->offsets, (const char *)&first, sizeof first));
    return alm_buf_reserve(cx, &symbols->indices, rows * sizeof(int32_t));
}

static alm_status arrow_symbols_add_value(alm_ctx *cx, alm_arrow_symbols *symbols, uint32_t slot,
                                          alm_str text)
{
    ALM_ASSERT(symbols->slots[slot] == 0 && symbols->n < symbols->mask);
    symbols->slots[slot] = (int32_t)++symbols->n;
    ALM_TRY(alm_buf_append(cx, &symbols->bytes, text.ptr, text.len));
    if (symbols->bytes.len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "text of one Arrow column is over 2 GiB");
    const int32_t end = (int32_t)symbols->bytes.len;
    return alm_buf_append(cx, &symbols->offsets, (const char *)&end, sizeof end);
}

/* --------------------------------------------------------------------------- texts */

static alm_str arrow_symbols_value_at(const alm_arrow_symbols *symbols, int32_t i)
{
    int32_t at[2];
    (void)memcpy(at, symbols->offsets.ptr + sizeof(int32_t) * (size_t)i, sizeof at);
    return (alm_str){symbols->bytes.ptr + at[0], (size_t)(at[1] - at[0])};
}

static alm_status arrow_symbols_find_text(alm_ctx *cx, alm_arrow_symbols *symbols, alm_str text,
                                          int32_t *out)
{
    uint32_t slot = (uint32_t)alm_hash_str(text) & symbols->mask;
    for (; symbols->slots[slot] != 0; slot = (slot + 1) & symbols->mask) {
        *out = symbols->slots[slot] - 1;
        if (alm_str_eq(arrow_symbols_value_at(symbols, *out), text))
            return ALM_OK;
    }
    *out = (int32_t)symbols->n;
    return arrow_symbols_add_value(cx, symbols, slot, text);
}

alm_status alm_arrow_symbols_of_texts(alm_ctx *cx, const struct ArrowArray *a,
                                      alm_arrow_symbols *out)
{
    const uint8_t *valid = a->buffers[0];
    const int32_t *offsets = a->buffers[1];
    const char *bytes = a->buffers[2];
    ALM_TRY(symbols_init(cx, out, (uint64_t)a->length, (size_t)a->length));
    for (int64_t i = 0; i < a->length; i++) {
        int32_t index = 0;
        const alm_str text = {bytes + offsets[i], (size_t)(offsets[i + 1] - offsets[i])};
        if (valid == NULL || (valid[i / 8] >> (i % 8) & 1) != 0)
            ALM_TRY(arrow_symbols_find_text(cx, out, text, &index));
        ALM_TRY(alm_buf_append(cx, &out->indices, (const char *)&index, sizeof index));
    }
    out->nulls = a->null_count;
    return ALM_OK;
}

/* --------------------------------------------------------------------------- codes */

static uint32_t arrow_symbols_code_at(const alm_arrow_symbols *symbols, int32_t i)
{
    uint32_t code = 0;
    (void)memcpy(&code, symbols->codes.ptr + sizeof code * (size_t)i, sizeof code);
    return code;
}

/* The code is its own hash: codes are dense, so a dictionary that fits into the slots has no collisions. */
static alm_status find_code(alm_ctx *cx, alm_arrow_symbols *symbols, const alm_dict *dict,
                            uint32_t code, int32_t *out)
{
    uint32_t slot = code & symbols->mask;
    for (; symbols->slots[slot] != 0; slot = (slot + 1) & symbols->mask) {
        *out = symbols->slots[slot] - 1;
        if (arrow_symbols_code_at(symbols, *out) == code)
            return ALM_OK;
    }
    ALM_ASSERT(code < dict->count);
    *out = (int32_t)symbols->n;
    ALM_TRY(alm_buf_append(cx, &symbols->codes, (const char *)&code, sizeof code));
    return arrow_symbols_add_value(cx, symbols, slot, alm_view_str(&dict->views[code], NULL));
}

alm_status alm_arrow_symbols_of_codes(alm_ctx *cx, const alm_vec *vec, uint32_t rows,
                                      alm_arrow_symbols *out)
{
    ALM_ASSERT(vec->type.id == ALM_T_SYMBOL && vec->dict != NULL);
    const uint64_t values = rows < vec->dict->count ? rows : vec->dict->count;
    ALM_TRY(symbols_init(cx, out, values, rows));
    ALM_TRY(alm_buf_reserve(cx, &out->valid, (rows + 7) / 8));
    int32_t *indices = (int32_t *)(void *)out->indices.ptr;
    uint8_t *valid = (uint8_t *)out->valid.ptr;
    (void)memset(valid, 0, (rows + 7) / 8);
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t code = alm_vec_code(vec, i);
        indices[i] = 0;
        if (code == 0) {
            out->nulls++;
            continue;
        }
        ALM_TRY(find_code(cx, out, vec->dict, code, &indices[i]));
        valid[i / 8] |= (uint8_t)(1U << (i % 8));
    }
    out->indices.len = rows * sizeof(int32_t);
    out->valid.len = (rows + 7) / 8;
    ALM_ASSERT(out->n <= values && out->nulls <= rows);
    return ALM_OK;
}
