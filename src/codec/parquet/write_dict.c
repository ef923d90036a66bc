/* write_dict.c - see write_dict.h. Open addressing with twice as many slots as values at the most. */
#include "codec/parquet/write_dict.h"

#include "base/hash.h"

enum { SAMPLE = 1024, SAMPLE_SLOTS = 4 * SAMPLE };

static uint64_t write_dict_hash_of(const void *ptr, uint32_t width)
{
    uint64_t value = 0;
    (void)memcpy(&value, ptr, width < 8 ? 4 : 8);
    return width <= 8 ? alm_hash_u64(value) : alm_hash_bytes(ptr, width);
}

/* At least half of a sample over all of the values is not there twice. */
static bool hardly_repeats(const char *data, uint32_t width, uint32_t count)
{
    uint16_t slots[SAMPLE_SLOTS] = {0};
    const uint32_t step = count / SAMPLE;
    uint32_t distinct = 0;
    if (step == 0)
        return false;
    for (uint32_t i = 0; i < SAMPLE; i++) {
        const char *ptr = data + (size_t)i * step * width;
        uint64_t slot = write_dict_hash_of(ptr, width) % SAMPLE_SLOTS;
        for (; slots[slot] != 0; slot = (slot + 1) % SAMPLE_SLOTS)
            if (memcmp(data + (size_t)(slots[slot] - 1) * step * width, ptr, width) == 0)
                break;
        distinct += slots[slot] == 0;
        slots[slot] = (uint16_t)(i + 1);
    }
    return distinct > SAMPLE / 2;
}

/* Values of 4 and 8 bytes compare as numbers, without calls. */
#define DEFINE_FILL(name, type)                                                                    \
    static uint32_t name(const void *data, uint32_t count, uint32_t most, uint32_t mask,           \
                         uint32_t *slots, void *values, uint32_t *index)                           \
    {                                                                                              \
        const type *from = data;                                                                   \
        type *distinct = values;                                                                   \
        uint32_t n = 0;                                                                            \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            uint32_t slot = (uint32_t)alm_hash_u64(from[i]) & mask;                                \
            while (slots[slot] != 0 && distinct[slots[slot] - 1] != from[i])                       \
                slot = (slot + 1) & mask;                                                          \
            if (slots[slot] == 0) {                                                                \
                if (n == most)                                                                     \
                    return most + 1;                                                               \
                distinct[n] = from[i];                                                             \
                slots[slot] = ++n;                                                                 \
            }                                                                                      \
            index[i] = slots[slot] - 1;                                                            \
        }                                                                                          \
        return n;                                                                                  \
    }
DEFINE_FILL(fill_32, uint32_t)
DEFINE_FILL(fill_64, uint64_t)

static uint32_t fill_bytes(const char *from, uint32_t width, uint32_t count, uint32_t most,
                           uint32_t mask, uint32_t *slots, char *distinct, uint32_t *index)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *ptr = from + (size_t)i * width;
        uint32_t slot = (uint32_t)write_dict_hash_of(ptr, width) & mask;
        while (slots[slot] != 0 &&
               memcmp(distinct + (size_t)(slots[slot] - 1) * width, ptr, width) != 0)
            slot = (slot + 1) & mask;
        if (slots[slot] == 0) {
            if (n == most)
                return most + 1;
            (void)memcpy(distinct + (size_t)n * width, ptr, width);
            slots[slot] = ++n;
        }
        index[i] = slots[slot] - 1;
    }
    return n;
}

alm_status alm_pq_dict_of(alm_ctx *cx, alm_arena *arena, const alm_pq_numbers *values,
                          uint32_t most, bool sure, alm_pq_dict *out, bool *found)
{
    const void *data = values->data;
    const uint32_t width = values->width, count = values->count;
    uint32_t *slots = NULL, *index = NULL, size = 16;
    void *distinct = NULL;
    *found = false;
    if (count == 0 || most == 0 || (!sure && hardly_repeats(data, width, count)))
        return ALM_OK;
    most = ALM_MIN(most, count);
    while (size < 2 * most)
        size *= 2;
    ALM_TRY(ALM_NEWN(cx, arena, size, &slots));
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)count * sizeof(*index), &index));
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)most * width, &distinct));
    const uint32_t n = width == 4 ? fill_32(data, count, most, size - 1, slots, distinct, index)
                       : width == 8
                           ? fill_64(data, count, most, size - 1, slots, distinct, index)
                           : fill_bytes(data, width, count, most, size - 1, slots, distinct, index);
    if (n > most)
        return ALM_OK;
    *out = (alm_pq_dict){.data = distinct, .n = n, .index = index};
    *found = true;
    return ALM_OK;
}
