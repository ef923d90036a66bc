/* write_store.c - see write_store.h. */
#include "codec/parquet/write_store.h"

#include "base/hash.h"
#include "base/utf8.h"

/* Texts that are not symbols are told by number while they repeat: so many at the most, and each twice on average. */
enum { TEXTS_MAX = 1 << 17, SLOTS_LEAST = 64, UNITS = 1 << 16 };

/* -------------------------------------------------------------------------- numbers of texts */

static uint32_t *words(const alm_buf *buf)
{
    return (uint32_t *)(void *)buf->ptr;
}

static void texts_init(alm_pq_texts *texts, alm_mem *mem)
{
    alm_buf_init(&texts->bytes, mem);
    alm_buf_init(&texts->len, mem);
    alm_buf_init(&texts->at, mem);
    alm_buf_init(&texts->slots, mem);
}

static void texts_deinit(alm_pq_texts *texts)
{
    alm_buf_deinit(&texts->bytes);
    alm_buf_deinit(&texts->len);
    alm_buf_deinit(&texts->at);
    alm_buf_deinit(&texts->slots);
}

static void texts_reset(alm_pq_texts *texts)
{
    texts->bytes.len = texts->len.len = texts->at.len = 0;
    texts->n = 0;
    if (texts->slots.len > 0)
        (void)memset(texts->slots.ptr, 0, texts->slots.len);
}

static alm_status write_store_zeros(alm_ctx *cx, alm_buf *buf, size_t n)
{
    ALM_TRY(alm_buf_reserve(cx, buf, n));
    (void)memset(buf->ptr + buf->len, 0, n);
    buf->len += n;
    return ALM_OK;
}

static alm_status write_store_grow_slots(alm_ctx *cx, alm_pq_texts *texts)
{
    const uint32_t size = texts->slots.len == 0 ? SLOTS_LEAST : 2 * (texts->mask + 1);
    texts->slots.len = 0;
    ALM_TRY(write_store_zeros(cx, &texts->slots, (size_t)size * sizeof(uint32_t)));
    texts->mask = size - 1;
    for (uint32_t i = 0; i < texts->n; i++) {
        uint32_t slot = (uint32_t)alm_hash_str(alm_pq_text(texts, i)) & texts->mask;
        while (words(&texts->slots)[slot] != 0)
            slot = (slot + 1) & texts->mask;
        words(&texts->slots)[slot] = i + 1;
    }
    return ALM_OK;
}

/* The number of a text, which is added where it is new. */
static alm_status texts_number(alm_ctx *cx, alm_pq_texts *texts, alm_str text, uint32_t *out)
{
    if (texts->slots.len == 0 || texts->n >= (texts->mask + 1) / 2)
        ALM_TRY(write_store_grow_slots(cx, texts));
    uint32_t slot = (uint32_t)alm_hash_str(text) & texts->mask;
    for (uint32_t found; (found = words(&texts->slots)[slot]) != 0; slot = (slot + 1) & texts->mask)
        if (alm_str_eq(alm_pq_text(texts, found - 1), text)) {
            *out = found - 1;
            return ALM_OK;
        }
    const uint64_t place = texts->bytes.len;
    const uint32_t len = (uint32_t)text.len;
    if (texts->n >= INT32_MAX - 1 || place + len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the dictionary of a row group is over 2 GiB");
    ALM_TRY(alm_buf_append(cx, &texts->bytes, text.ptr, text.len));
    ALM_TRY(alm_buf_append(cx, &texts->at, &place, sizeof(place)));
    ALM_TRY(alm_buf_append(cx, &texts->len, &len, sizeof(len)));
    *out = texts->n++;
    words(&texts->slots)[slot] = *out + 1;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- the store */

void alm_pq_store_init(alm_pq_store *store, const alm_pq_column *column, alm_mem *mem)
{
    const alm_type_id id = (alm_type_id)column->type.id;
    const bool text =
        alm_type_is_text(column->type) || (id == ALM_T_CHAR && !column->raw) || id == ALM_T_NULL;
    const bool plain = column->hint != ALM_PQ_HINT_AUTO && column->hint != ALM_PQ_HINT_DICTIONARY;
    *store = (alm_pq_store){.type = column->type, .width = alm_type_width(column->type)};
    store->sticky = id == ALM_T_SYMBOL || id == ALM_T_CHAR || id == ALM_T_NULL;
    if (text && (store->sticky || !plain))
        store->first_form = ALM_PQ_FORM_CODES;
    else if (text || alm_type_has_heap(column->type))
        store->first_form = ALM_PQ_FORM_BYTES;
    alm_buf_init(&store->values, mem);
    alm_buf_init(&store->bytes, mem);
    alm_buf_init(&store->known, mem);
    alm_buf_init(&store->code_of, mem);
    texts_init(&store->texts, mem);
    alm_pq_store_reset(store);
}

void alm_pq_store_deinit(alm_pq_store *store)
{
    alm_buf_deinit(&store->values);
    alm_buf_deinit(&store->bytes);
    alm_buf_deinit(&store->known);
    alm_buf_deinit(&store->code_of);
    texts_deinit(&store->texts);
}

void alm_pq_store_reset(alm_pq_store *store)
{
    store->form = store->first_form;
    store->rows = 0;
    store->values.len = store->bytes.len = store->known.len = store->code_of.len = 0;
    store->dict = NULL;
    store->one_dict = true;
    texts_reset(&store->texts);
}

int64_t alm_pq_store_bytes(const alm_pq_store *store)
{
    return (int64_t)(store->values.len + store->bytes.len + store->texts.bytes.len);
}

/* Room for n more words behind the values. */
static alm_status add_words(alm_ctx *cx, alm_pq_store *store, uint32_t n, uint32_t **out)
{
    ALM_TRY(alm_buf_reserve(cx, &store->values, (size_t)n * sizeof(uint32_t)));
    *out = (uint32_t *)(void *)(store->values.ptr + store->values.len);
    store->values.len += (size_t)n * sizeof(uint32_t);
    return ALM_OK;
}

static alm_status add_fixed(alm_ctx *cx, alm_pq_store *store, const alm_vec *vec, uint32_t from,
                            uint32_t n_rows)
{
    ALM_ASSERT(vec->width == store->width);
    ALM_TRY(alm_buf_reserve(cx, &store->values, (size_t)n_rows * store->width));
    char *dest = store->values.ptr + store->values.len;
    store->values.len += (size_t)n_rows * store->width;
    if (!vec->is_const) {
        (void)memcpy(dest, (const char *)vec->data + (size_t)from * store->width,
                     (size_t)n_rows * store->width);
        return ALM_OK;
    }
    for (uint32_t i = 0; i < n_rows; i++)
        (void)memcpy(dest + (size_t)i * store->width, vec->data, store->width);
    return ALM_OK;
}

/* ---- views */

static alm_status add_view(alm_ctx *cx, alm_pq_store *store, const alm_view *view, const char *heap,
                           uint32_t *dest)
{
    *dest = store->form == ALM_PQ_FORM_CODES ? 0 : ALM_VIEW_NULL;
    if (alm_view_is_null(view))
        return ALM_OK;
    const alm_str text = alm_view_str(view, heap);
    if (text.len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a value of %zu bytes is over 2 GiB", text.len);
    if (store->form == ALM_PQ_FORM_BYTES) {
        *dest = view->len;
        return alm_buf_append(cx, &store->bytes, text.ptr, text.len);
    }
    ALM_TRY(texts_number(cx, &store->texts, text, dest));
    *dest += 1;
    return ALM_OK;
}

/* ---- codes of a dictionary, and units of CHAR, each of which is looked up once */

static alm_status code_number(alm_ctx *cx, alm_pq_store *store, const alm_vec *vec, uint32_t code,
                              uint32_t *out)
{
    char unit[4];
    alm_str text = {unit, 0};
    uint32_t number = 0;
    if (vec->dict != NULL)
        text = alm_view_str(&vec->dict->views[code], NULL);
    else
        text.len = alm_utf8_from_unit((uint16_t)code, unit);
    const uint32_t before = store->texts.n;
    ALM_TRY(texts_number(cx, &store->texts, text, &number));
    if (number == before && store->one_dict)
        ALM_TRY(alm_buf_append(cx, &store->code_of, &code, sizeof(code)));
    *out = words(&store->known)[code] = number + 1;
    return ALM_OK;
}

static alm_status begin_dict(alm_ctx *cx, alm_pq_store *store, const alm_dict *dict)
{
    const size_t n = dict != NULL ? dict->count : UNITS;
    const bool same =
        store->dict != NULL ? dict != NULL && store->dict_id == dict->id : dict == NULL;
    if (store->rows > 0 && !same)
        store->one_dict = false;
    if (!same)
        store->known.len = 0;
    store->dict = dict;
    store->dict_id = dict != NULL ? dict->id : 0;
    const size_t have = store->known.len / sizeof(uint32_t);
    return have < n ? write_store_zeros(cx, &store->known, (n - have) * sizeof(uint32_t)) : ALM_OK;
}

static uint32_t write_store_code_at(const alm_vec *vec, size_t i)
{
    return vec->dict != NULL ? alm_vec_code(vec, i)
                             : ((const uint16_t *)vec->data)[vec->is_const ? 0 : i];
}

static alm_status write_store_add_codes(alm_ctx *cx, alm_pq_store *store, const alm_vec *vec,
                                        uint32_t from, uint32_t n_rows)
{
    uint32_t *dest = NULL;
    ALM_TRY(begin_dict(cx, store, vec->dict));
    ALM_TRY(add_words(cx, store, n_rows, &dest));
    for (uint32_t i = 0; i < n_rows; i++) {
        const uint32_t code = write_store_code_at(vec, from + i);
        if (store->form == ALM_PQ_FORM_BYTES) {
            ALM_TRY(add_view(cx, store, &vec->dict->views[code], NULL, &dest[i]));
            continue;
        }
        dest[i] = code == 0 ? 0 : words(&store->known)[code];
        if (code != 0 && dest[i] == 0)
            ALM_TRY(code_number(cx, store, vec, code, &dest[i]));
    }
    return ALM_OK;
}

static alm_status add_views(alm_ctx *cx, alm_pq_store *store, const alm_vec *vec, uint32_t from,
                            uint32_t n_rows)
{
    const alm_view *view = vec->data;
    uint32_t *dest = NULL;
    store->one_dict = false;
    ALM_TRY(add_words(cx, store, n_rows, &dest));
    for (uint32_t i = 0; i < n_rows; i++) {
        if (i > 0 && vec->is_const && store->form == ALM_PQ_FORM_CODES)
            dest[i] = dest[0];
        else
            ALM_TRY(add_view(cx, store, &view[vec->is_const ? 0 : from + i], vec->heap, &dest[i]));
    }
    return ALM_OK;
}

/* ---- from numbers to bytes */

static alm_status store_write_out(alm_ctx *cx, alm_pq_store *store)
{
    uint32_t *code = words(&store->values);
    for (uint32_t i = 0; i < store->rows; i++) {
        if (code[i] == 0) {
            code[i] = ALM_VIEW_NULL;
            continue;
        }
        const alm_str text = alm_pq_text(&store->texts, code[i] - 1);
        ALM_TRY(alm_buf_append(cx, &store->bytes, text.ptr, text.len));
        code[i] = (uint32_t)text.len;
    }
    store->form = ALM_PQ_FORM_BYTES;
    texts_reset(&store->texts);
    return ALM_OK;
}

static bool pays(const alm_pq_store *store)
{
    return store->sticky || (store->texts.n <= TEXTS_MAX && store->texts.n <= store->rows / 2);
}

alm_status alm_pq_store_add(alm_ctx *cx, alm_pq_store *store, const alm_vec *vec, uint32_t from,
                            uint32_t to)
{
    const uint32_t len = to - from;
    ALM_ASSERT(len <= ALM_PQ_STEP);
    if (store->type.id == ALM_T_NULL) {
        ALM_TRY(write_store_zeros(cx, &store->values, (size_t)len * sizeof(uint32_t)));
    } else if (store->form == ALM_PQ_FORM_FIXED) {
        ALM_TRY(add_fixed(cx, store, vec, from, len));
    } else if (vec->dict != NULL || store->type.id == ALM_T_CHAR) {
        ALM_TRY(write_store_add_codes(cx, store, vec, from, len));
    } else {
        ALM_TRY(add_views(cx, store, vec, from, len));
    }
    store->rows += len;
    if (store->form == ALM_PQ_FORM_CODES && store->rows % ALM_PQ_STEP == 0 && !pays(store))
        return store_write_out(cx, store);
    return ALM_OK;
}

alm_status alm_pq_store_end(alm_ctx *cx, alm_pq_store *store)
{
    return store->form == ALM_PQ_FORM_CODES && !pays(store) ? store_write_out(cx, store) : ALM_OK;
}
