/* write_store.c - see write_store.h. */
#include "codec/parquet/write_store.h"

#include "base/hash.h"
#include "base/utf8.h"

/* Texts that are not symbols are told by number while they repeat: so many at the most, and each twice on average. */
enum { TEXTS_MAX = 1 << 17, SLOTS_LEAST = 64, UNITS = 1 << 16 };

/* -------------------------------------------------------------------------- numbers of texts */

static uint32_t *words(const alm_buf *b)
{
    return (uint32_t *)(void *)b->ptr;
}

static void texts_init(alm_pq_texts *t, alm_mem *mem)
{
    alm_buf_init(&t->bytes, mem);
    alm_buf_init(&t->len, mem);
    alm_buf_init(&t->at, mem);
    alm_buf_init(&t->slots, mem);
}

static void texts_deinit(alm_pq_texts *t)
{
    alm_buf_deinit(&t->bytes);
    alm_buf_deinit(&t->len);
    alm_buf_deinit(&t->at);
    alm_buf_deinit(&t->slots);
}

static void texts_reset(alm_pq_texts *t)
{
    t->bytes.len = t->len.len = t->at.len = 0;
    t->n = 0;
    if (t->slots.len > 0)
        (void)memset(t->slots.ptr, 0, t->slots.len);
}

static alm_status zeros(alm_ctx *cx, alm_buf *b, size_t n)
{
    ALM_TRY(alm_buf_reserve(cx, b, n));
    (void)memset(b->ptr + b->len, 0, n);
    b->len += n;
    return ALM_OK;
}

static alm_status grow_slots(alm_ctx *cx, alm_pq_texts *t)
{
    const uint32_t size = t->slots.len == 0 ? SLOTS_LEAST : 2 * (t->mask + 1);
    t->slots.len = 0;
    ALM_TRY(zeros(cx, &t->slots, (size_t)size * sizeof(uint32_t)));
    t->mask = size - 1;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t slot = (uint32_t)alm_hash_str(alm_pq_text(t, i)) & t->mask;
        while (words(&t->slots)[slot] != 0)
            slot = (slot + 1) & t->mask;
        words(&t->slots)[slot] = i + 1;
    }
    return ALM_OK;
}

/* The number of a text, which is added where it is new. */
static alm_status texts_number(alm_ctx *cx, alm_pq_texts *t, alm_str text, uint32_t *out)
{
    if (t->slots.len == 0 || t->n >= (t->mask + 1) / 2)
        ALM_TRY(grow_slots(cx, t));
    uint32_t slot = (uint32_t)alm_hash_str(text) & t->mask;
    for (uint32_t found; (found = words(&t->slots)[slot]) != 0; slot = (slot + 1) & t->mask)
        if (alm_str_eq(alm_pq_text(t, found - 1), text)) {
            *out = found - 1;
            return ALM_OK;
        }
    const uint64_t at = t->bytes.len;
    const uint32_t len = (uint32_t)text.len;
    if (t->n >= INT32_MAX - 1 || at + len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the dictionary of a row group is over 2 GiB");
    ALM_TRY(alm_buf_append(cx, &t->bytes, text.ptr, text.len));
    ALM_TRY(alm_buf_append(cx, &t->at, &at, sizeof(at)));
    ALM_TRY(alm_buf_append(cx, &t->len, &len, sizeof(len)));
    *out = t->n++;
    words(&t->slots)[slot] = *out + 1;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- the store */

void alm_pq_store_init(alm_pq_store *s, const alm_pq_column *column, alm_mem *mem)
{
    const alm_type_id id = (alm_type_id)column->type.id;
    const bool text =
        alm_type_is_text(column->type) || (id == ALM_T_CHAR && !column->raw) || id == ALM_T_NULL;
    const bool plain = column->hint != ALM_PQ_HINT_AUTO && column->hint != ALM_PQ_HINT_DICTIONARY;
    *s = (alm_pq_store){.type = column->type, .width = alm_type_width(column->type)};
    s->sticky = id == ALM_T_SYMBOL || id == ALM_T_CHAR || id == ALM_T_NULL;
    if (text && (s->sticky || !plain))
        s->first_form = ALM_PQ_FORM_CODES;
    else if (text || alm_type_has_heap(column->type))
        s->first_form = ALM_PQ_FORM_BYTES;
    alm_buf_init(&s->values, mem);
    alm_buf_init(&s->bytes, mem);
    alm_buf_init(&s->known, mem);
    alm_buf_init(&s->code_of, mem);
    texts_init(&s->texts, mem);
    alm_pq_store_reset(s);
}

void alm_pq_store_deinit(alm_pq_store *s)
{
    alm_buf_deinit(&s->values);
    alm_buf_deinit(&s->bytes);
    alm_buf_deinit(&s->known);
    alm_buf_deinit(&s->code_of);
    texts_deinit(&s->texts);
}

void alm_pq_store_reset(alm_pq_store *s)
{
    s->form = s->first_form;
    s->rows = 0;
    s->values.len = s->bytes.len = s->known.len = s->code_of.len = 0;
    s->dict = NULL;
    s->one_dict = true;
    texts_reset(&s->texts);
}

int64_t alm_pq_store_bytes(const alm_pq_store *s)
{
    return (int64_t)(s->values.len + s->bytes.len + s->texts.bytes.len);
}

/* Room for n more words behind the values. */
static alm_status add_words(alm_ctx *cx, alm_pq_store *s, uint32_t n, uint32_t **out)
{
    ALM_TRY(alm_buf_reserve(cx, &s->values, (size_t)n * sizeof(uint32_t)));
    *out = (uint32_t *)(void *)(s->values.ptr + s->values.len);
    s->values.len += (size_t)n * sizeof(uint32_t);
    return ALM_OK;
}

static alm_status add_fixed(alm_ctx *cx, alm_pq_store *s, const alm_vec *vec, uint32_t from,
                            uint32_t n)
{
    ALM_ASSERT(vec->width == s->width);
    ALM_TRY(alm_buf_reserve(cx, &s->values, (size_t)n * s->width));
    char *to = s->values.ptr + s->values.len;
    s->values.len += (size_t)n * s->width;
    if (!vec->is_const) {
        (void)memcpy(to, (const char *)vec->data + (size_t)from * s->width, (size_t)n * s->width);
        return ALM_OK;
    }
    for (uint32_t i = 0; i < n; i++)
        (void)memcpy(to + (size_t)i * s->width, vec->data, s->width);
    return ALM_OK;
}

/* ---- views */

static alm_status add_view(alm_ctx *cx, alm_pq_store *s, const alm_view *view, const char *heap,
                           uint32_t *to)
{
    *to = s->form == ALM_PQ_FORM_CODES ? 0 : ALM_VIEW_NULL;
    if (alm_view_is_null(view))
        return ALM_OK;
    const alm_str text = alm_view_str(view, heap);
    if (text.len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a value of %zu bytes is over 2 GiB", text.len);
    if (s->form == ALM_PQ_FORM_BYTES) {
        *to = view->len;
        return alm_buf_append(cx, &s->bytes, text.ptr, text.len);
    }
    ALM_TRY(texts_number(cx, &s->texts, text, to));
    *to += 1;
    return ALM_OK;
}

/* ---- codes of a dictionary, and units of CHAR, each of which is looked up once */

static alm_status code_number(alm_ctx *cx, alm_pq_store *s, const alm_vec *vec, uint32_t code,
                              uint32_t *out)
{
    char unit[4];
    alm_str text = {unit, 0};
    uint32_t number = 0;
    if (vec->dict != NULL)
        text = alm_view_str(&vec->dict->views[code], NULL);
    else
        text.len = alm_utf8_from_unit((uint16_t)code, unit);
    const uint32_t before = s->texts.n;
    ALM_TRY(texts_number(cx, &s->texts, text, &number));
    if (number == before && s->one_dict)
        ALM_TRY(alm_buf_append(cx, &s->code_of, &code, sizeof(code)));
    *out = words(&s->known)[code] = number + 1;
    return ALM_OK;
}

static alm_status begin_dict(alm_ctx *cx, alm_pq_store *s, const alm_dict *dict)
{
    const size_t n = dict != NULL ? dict->count : UNITS;
    const bool same = s->dict != NULL ? dict != NULL && s->dict_id == dict->id : dict == NULL;
    if (s->rows > 0 && !same)
        s->one_dict = false;
    if (!same)
        s->known.len = 0;
    s->dict = dict;
    s->dict_id = dict != NULL ? dict->id : 0;
    const size_t have = s->known.len / sizeof(uint32_t);
    return have < n ? zeros(cx, &s->known, (n - have) * sizeof(uint32_t)) : ALM_OK;
}

static uint32_t code_at(const alm_vec *vec, size_t i)
{
    return vec->dict != NULL ? alm_vec_code(vec, i)
                             : ((const uint16_t *)vec->data)[vec->is_const ? 0 : i];
}

static alm_status add_codes(alm_ctx *cx, alm_pq_store *s, const alm_vec *vec, uint32_t from,
                            uint32_t n)
{
    uint32_t *to = NULL;
    ALM_TRY(begin_dict(cx, s, vec->dict));
    ALM_TRY(add_words(cx, s, n, &to));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t code = code_at(vec, from + i);
        if (s->form == ALM_PQ_FORM_BYTES) {
            ALM_TRY(add_view(cx, s, &vec->dict->views[code], NULL, &to[i]));
            continue;
        }
        to[i] = code == 0 ? 0 : words(&s->known)[code];
        if (code != 0 && to[i] == 0)
            ALM_TRY(code_number(cx, s, vec, code, &to[i]));
    }
    return ALM_OK;
}

static alm_status add_views(alm_ctx *cx, alm_pq_store *s, const alm_vec *vec, uint32_t from,
                            uint32_t n)
{
    const alm_view *view = vec->data;
    uint32_t *to = NULL;
    s->one_dict = false;
    ALM_TRY(add_words(cx, s, n, &to));
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && vec->is_const && s->form == ALM_PQ_FORM_CODES)
            to[i] = to[0];
        else
            ALM_TRY(add_view(cx, s, &view[vec->is_const ? 0 : from + i], vec->heap, &to[i]));
    }
    return ALM_OK;
}

/* ---- from numbers to bytes */

static alm_status write_out(alm_ctx *cx, alm_pq_store *s)
{
    uint32_t *code = words(&s->values);
    for (uint32_t i = 0; i < s->rows; i++) {
        if (code[i] == 0) {
            code[i] = ALM_VIEW_NULL;
            continue;
        }
        const alm_str text = alm_pq_text(&s->texts, code[i] - 1);
        ALM_TRY(alm_buf_append(cx, &s->bytes, text.ptr, text.len));
        code[i] = (uint32_t)text.len;
    }
    s->form = ALM_PQ_FORM_BYTES;
    texts_reset(&s->texts);
    return ALM_OK;
}

static bool pays(const alm_pq_store *s)
{
    return s->sticky || (s->texts.n <= TEXTS_MAX && s->texts.n <= s->rows / 2);
}

alm_status alm_pq_store_add(alm_ctx *cx, alm_pq_store *s, const alm_vec *vec, uint32_t from,
                            uint32_t to)
{
    const uint32_t n = to - from;
    ALM_ASSERT(n <= ALM_PQ_STEP);
    if (s->type.id == ALM_T_NULL) {
        ALM_TRY(zeros(cx, &s->values, (size_t)n * sizeof(uint32_t)));
    } else if (s->form == ALM_PQ_FORM_FIXED) {
        ALM_TRY(add_fixed(cx, s, vec, from, n));
    } else if (vec->dict != NULL || s->type.id == ALM_T_CHAR) {
        ALM_TRY(add_codes(cx, s, vec, from, n));
    } else {
        ALM_TRY(add_views(cx, s, vec, from, n));
    }
    s->rows += n;
    if (s->form == ALM_PQ_FORM_CODES && s->rows % ALM_PQ_STEP == 0 && !pays(s))
        return write_out(cx, s);
    return ALM_OK;
}

alm_status alm_pq_store_end(alm_ctx *cx, alm_pq_store *s)
{
    return s->form == ALM_PQ_FORM_CODES && !pays(s) ? write_out(cx, s) : ALM_OK;
}
