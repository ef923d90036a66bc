/* copy_convert.c - one column of a block of COPY's binary format: a loop for each width of number, and
 * one for all that is longer. */
#include "codec/copy/copy.h"
#include "codec/pg/pg_value.h"

typedef struct convert {
    const alm_csv_block *block;
    const alm_csv_field *fields;
    uint8_t *bad;
    uint32_t n_bad;
} convert;

/* Numbers whose bits are those of the wire in another order; `none` is the type's. */
#define DEFINE_TAKE(name, type, get, none, is_null)                                                \
    static void name(convert *c, void *out)                                                        \
    {                                                                                              \
        type *to = out;                                                                            \
        for (uint32_t i = 0; i < c->block->rows; i++) {                                            \
            const alm_csv_field *field = &c->fields[i];                                            \
            const bool good = field->len == sizeof(type);                                          \
            const type value = good ? (type)get(c->block->bytes + field->off) : (type)(none);      \
            memcpy(&to[i], &value, sizeof(value));                                                 \
            const bool bad = !field->null && (!good || is_null(value));                            \
            c->bad[i] |= bad;                                                                      \
            c->n_bad += bad;                                                                       \
        }                                                                                          \
    }
#define NEVER_NULL(x) false
#define LEAST_INT(x)  ((int32_t)(x) == ALM_INT_NULL)
#define LEAST_LONG(x) ((int64_t)(x) == ALM_LONG_NULL)
DEFINE_TAKE(take_short, uint16_t, alm_be_get16, 0, NEVER_NULL)
DEFINE_TAKE(take_int, uint32_t, alm_be_get32, ALM_INT_NULL, LEAST_INT)
DEFINE_TAKE(take_long, uint64_t, alm_be_get64, ALM_LONG_NULL, LEAST_LONG)
DEFINE_TAKE(take_float, uint32_t, alm_be_get32, UINT32_C(0x7fc00000), NEVER_NULL)
DEFINE_TAKE(take_double, uint64_t, alm_be_get64, UINT64_C(0x7ff8000000000000), NEVER_NULL)

static alm_status take_others(alm_ctx *cx, alm_arena *arena, convert *self, alm_type type,
                              uint32_t width, uint8_t *out)
{
    for (uint32_t i = 0; i < self->block->rows; i++) {
        const alm_csv_field *field = &self->fields[i];
        uint8_t *dest = out + (size_t)i * width;
        const alm_str bytes = {self->block->bytes + field->off, field->len};
        alm_status status = ALM_OK;
        if (!field->null)
            status = alm_pg_binary_value(cx, arena, type, bytes, dest);
        if (status == ALM_E_MEMORY)
            return status;
        if (field->null || status != ALM_OK)
            alm_value_set_null(type, dest);
        if (status == ALM_OK)
            continue;
        alm_error_clear(cx); /* the caller says which value it was */
        self->bad[i] = 1;
        self->n_bad++;
    }
    return ALM_OK;
}

alm_status alm_copy_convert_binary(alm_ctx *cx, alm_arena *arena, const alm_csv_block *block,
                                   uint32_t col, uint8_t *bad, uint32_t *n_bad, alm_vec *out)
{
    convert self = {block, block->fields + (size_t)col * block->stride, bad, 0};
    alm_status status = ALM_OK;
    switch ((int)out->type.id) {
    case ALM_T_SHORT:
        take_short(&self, out->data);
        break;
    case ALM_T_INT:
        take_int(&self, out->data);
        break;
    case ALM_T_LONG:
        take_long(&self, out->data);
        break;
    case ALM_T_FLOAT:
        take_float(&self, out->data);
        alm_values_settle(out->type, out->data, block->rows);
        break;
    case ALM_T_DOUBLE:
        take_double(&self, out->data);
        alm_values_settle(out->type, out->data, block->rows);
        break;
    case ALM_T_SYMBOL:
        out->width = sizeof(alm_view); /* the load interns them */
        status = take_others(cx, arena, &self, out->type, out->width, out->data);
        break;
    default:
        status = take_others(cx, arena, &self, out->type, out->width, out->data);
        break;
    }
    *n_bad = self.n_bad;
    return status;
}
