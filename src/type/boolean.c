/*
 * boolean.c - BOOLEAN: one byte, 0 or 1; never null.
 */
#include "type/ops.h"

bool alm_bool_parse(alm_str text, bool *out)
{
    static const struct {
        alm_str word;
        bool value;
    } words[] = {
        {{"true", 4}, true}, {{"false", 5}, false}, {{"t", 1}, true}, {{"f", 1}, false},
        {{"yes", 3}, true},  {{"no", 2}, false},    {{"y", 1}, true}, {{"n", 1}, false},
        {{"on", 2}, true},   {{"off", 3}, false},   {{"1", 1}, true}, {{"0", 1}, false},
    };
    for (size_t i = 0; i < ALM_COUNT(words); i++) {
        if (alm_str_ieq(text, words[i].word)) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}

static size_t format_boolean(ALM_UNUSED alm_type type, const void *ptr, alm_text_style style,
                             char *out)
{
    const bool value = *(const uint8_t *)ptr != 0;
    if (style == ALM_TEXT_PG) {
        out[0] = value ? 't' : 'f';
        return 1;
    }
    memcpy(out, value ? "true\0" : "false", 5);
    return value ? 4 : 5;
}

static alm_scan_result scan_boolean(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    bool flag = false;
    if (!alm_bool_parse(text, &flag))
        return ALM_SCAN_BAD;
    *(uint8_t *)out = flag;
    return ALM_SCAN_OK;
}

static alm_parquet_form parquet_boolean(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    alm_parquet_form parquet_form = alm_parquet_of(ALM_PQ_BOOLEAN, ALM_PQ_ORDER_BOOL);
    parquet_form.by_field = true;
    return parquet_form;
}

static size_t send_boolean(ALM_UNUSED alm_type type, const void *ptr, char *dest)
{
    dest[0] = *(const uint8_t *)ptr != 0;
    return 1;
}

static alm_status receive_boolean(alm_ctx *cx, uint32_t index, ALM_UNUSED alm_type type,
                                  alm_str text, void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 1, text.len));
    *(uint8_t *)out = text.ptr[0] != 0;
    return ALM_OK;
}

const alm_type_ops alm_type_ops_BOOLEAN = {
    .aliases = {"bool"},
    .format = format_boolean,
    .scan = scan_boolean,
    .parquet = parquet_boolean,
    .pg_send = send_boolean,
    .pg_receive = receive_boolean,
};
