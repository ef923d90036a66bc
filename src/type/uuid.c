/*
 * uuid.c - UUID: 16 bytes as two unsigned numbers, the first half of the text first. Null: both are the least LONG.
 */
#include "base/be.h"
#include "type/ops.h"

void alm_uuid_to_bytes(alm_uuid uuid, uint8_t out[16])
{
    const uint64_t hi = __builtin_bswap64(uuid.hi), lo = __builtin_bswap64(uuid.lo);
    memcpy(out, &hi, 8);
    memcpy(out + 8, &lo, 8);
}

alm_uuid alm_uuid_from_bytes(const uint8_t bytes[16])
{
    alm_uuid uuid;
    memcpy(&uuid.hi, bytes, 8);
    memcpy(&uuid.lo, bytes + 8, 8);
    return (alm_uuid){__builtin_bswap64(uuid.hi), __builtin_bswap64(uuid.lo)};
}

/* Where the two digits of each byte stand in the text. */
static const uint8_t UUID_AT[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

void alm_uuid_format(alm_uuid uuid, char out[ALM_UUID_TEXT])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t bytes[16];
    alm_uuid_to_bytes(uuid, bytes);
    out[8] = out[13] = out[18] = out[23] = '-';
    for (size_t i = 0; i < 16; i++) {
        out[UUID_AT[i]] = hex[bytes[i] >> 4];
        out[UUID_AT[i] + 1] = hex[bytes[i] & 0xF];
    }
}

/* 0..15, or a larger number, without a branch: digits are random. */
static uint32_t hex_digit(char byte)
{
    return byte >= '0' && byte <= '9'   ? (uint32_t)(byte - '0')
           : byte >= 'a' && byte <= 'f' ? (uint32_t)(byte - 'a' + 10)
           : byte >= 'A' && byte <= 'F' ? (uint32_t)(byte - 'A' + 10)
                                        : 255;
}

bool alm_uuid_parse(alm_str text, alm_uuid *out)
{
    if (text.len != ALM_UUID_TEXT || text.ptr[8] != '-' || text.ptr[13] != '-' ||
        text.ptr[18] != '-' || text.ptr[23] != '-')
        return false;
    uint8_t bytes[16];
    uint32_t bad = 0;
    for (size_t i = 0; i < 16; i++) {
        const uint32_t high = hex_digit(text.ptr[UUID_AT[i]]);
        const uint32_t low = hex_digit(text.ptr[UUID_AT[i] + 1]);
        bad |= high | low;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    if (bad > 15)
        return false;
    *out = alm_uuid_from_bytes(bytes);
    return true;
}

static size_t format_uuid(ALM_UNUSED alm_type type, const void *ptr,
                          ALM_UNUSED alm_text_style style, char *out)
{
    alm_uuid uuid;
    memcpy(&uuid, ptr, sizeof uuid);
    if (alm_uuid_is_null(uuid))
        return 0;
    alm_uuid_format(uuid, out);
    return ALM_UUID_TEXT;
}

static alm_scan_result scan_uuid(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    return alm_uuid_parse(text, out) ? ALM_SCAN_OK : ALM_SCAN_BAD;
}

static alm_scan_result uuid_scan_stored(alm_type type, alm_str text, void *out)
{
    if (text.ptr == NULL || text.len > 0)
        return alm_value_scan(type, text, out);
    alm_value_set_null(type, out);
    return ALM_SCAN_OK;
}

static alm_parquet_form parquet_uuid(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    alm_parquet_form parquet_form = alm_parquet_fixed(16, ALM_PQ_ORDER_BYTES);
    parquet_form.logical = ALM_PQ_L_UUID;
    parquet_form.by_field = true;
    return parquet_form;
}

static size_t send_uuid(ALM_UNUSED alm_type type, const void *ptr, char *dest)
{
    alm_uuid uuid;
    memcpy(&uuid, ptr, sizeof uuid);
    alm_uuid_to_bytes(uuid, (uint8_t *)dest);
    return 16;
}

static alm_status receive_uuid(alm_ctx *cx, uint32_t index, ALM_UNUSED alm_type type, alm_str text,
                               void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 16, text.len));
    const alm_uuid uuid = alm_uuid_from_bytes((const uint8_t *)text.ptr);
    memcpy(out, &uuid, sizeof uuid);
    return ALM_OK;
}

const alm_type_ops alm_type_ops_UUID = {
    .format = format_uuid,
    .scan = scan_uuid,
    .scan_stored = uuid_scan_stored,
    .parquet = parquet_uuid,
    .written = ALM_WRITTEN_TEXT,
    .pg_send = send_uuid,
    .pg_receive = receive_uuid,
};
