/*
 * fuzz_ilp.c - bytes of the line protocol: every line is read in bounds, and the same in one piece and in many.
 *
 * Byte 0 chooses the size of pieces. Values go through the conversion to a type chosen by byte 1 as well.
 */
#include <stdlib.h>

#include "codec/ilp/ilp.h"
#include "session/transfer/lines_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct run {
    alm_ctx cx;
    alm_arena arena;
    alm_buf text; /* of all lines */
} run;

static void put(run *r, const void *bytes, size_t n)
{
    if (n > 0)
        ALM_ASSERT(alm_buf_append(&r->cx, &r->text, bytes, n) == ALM_OK);
}

static void use_line(run *r, const alm_ilp_line *line, alm_type type)
{
    put(r, line->table.ptr, line->table.len);
    put(r, &line->time, sizeof line->time);
    for (uint32_t i = 0; i < line->n_fields; i++) {
        const alm_ilp_field *f = &line->fields[i];
        char room[ALM_LINE_WHY_MAX];
        const char *why = NULL;
        uint64_t cell[4] = {0};
        ALM_ASSERT(f->kind < ALM_ILP_KINDS);
        put(r, "|", 1);
        put(r, f->name.ptr, f->name.len);
        put(r, &f->kind, 1);
        put(r, f->text.ptr, f->text.len);
        ALM_ASSERT(alm_line_store(&r->cx, &r->arena, f, type, cell, room, &why) == ALM_OK);
        put(r, why == NULL ? "+" : why, why == NULL ? 1 : strlen(why));
    }
    put(r, "\n", 1);
}

static void read_all(run *r, alm_str in, size_t piece, alm_type type)
{
    alm_ilp_reader reader;
    *r = (run){0};
    alm_arena_init(&r->arena, NULL);
    alm_buf_init(&r->text, NULL);
    r->cx.arena = &r->arena;
    alm_ilp_init(&reader, &r->cx);
    for (size_t start = 0, end = 0; start < in.len;) {
        end = ALM_MIN(ALM_MAX(end, start) + piece, in.len);
        char *copy = malloc(end - start);
        ALM_ASSERT(copy != NULL);
        (void)memcpy(copy, in.ptr + start, end - start);
        size_t at = 0;
        for (;;) {
            alm_ilp_line line;
            alm_ilp_result result;
            size_t used = 0;
            ALM_ASSERT(alm_ilp_next(&reader, copy + at, end - start - at, end == in.len, &used,
                                    &line, &result) == ALM_OK);
            ALM_ASSERT(used <= end - start - at && (used > 0) == (result != ALM_ILP_MORE));
            if (result == ALM_ILP_LINE)
                use_line(r, &line, type);
            else if (result == ALM_ILP_BAD)
                put(r, reader.reason, strlen(reader.reason));
            at += used;
            if (result == ALM_ILP_MORE || at == end - start)
                break;
        }
        free(copy);
        start += at;
        ALM_ASSERT(end < in.len || start == in.len);
    }
    alm_ilp_deinit(&reader);
    alm_arena_deinit(&r->arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const alm_type types[] = {{.id = ALM_T_BOOLEAN},
                                     {.id = ALM_T_BYTE},
                                     {.id = ALM_T_SHORT},
                                     {.id = ALM_T_CHAR},
                                     {.id = ALM_T_INT},
                                     {.id = ALM_T_LONG},
                                     {.id = ALM_T_FLOAT},
                                     {.id = ALM_T_DOUBLE},
                                     {.id = ALM_T_SYMBOL},
                                     {.id = ALM_T_VARCHAR},
                                     {.id = ALM_T_TIMESTAMP},
                                     {.id = ALM_T_TIMESTAMP_NS},
                                     {.id = ALM_T_DATE},
                                     {.id = ALM_T_UUID},
                                     {.id = ALM_T_IPV4},
                                     {.id = ALM_T_LONG256},
                                     {.id = ALM_T_GEOHASH, .p = 20},
                                     {.id = ALM_T_ARRAY, .dims = 1},
                                     {.id = ALM_T_DECIMAL, .p = 18, .s = 3}};
    if (n < 2)
        return 0;
    const alm_str in = {(const char *)data + 2, n - 2};
    const alm_type type = types[data[1] % ALM_COUNT(types)];
    run whole, cut;
    read_all(&whole, in, in.len + 1, type);
    read_all(&cut, in, data[0] % 32 + 1u, type);
    ALM_ASSERT(alm_str_eq((alm_str){whole.text.ptr, whole.text.len},
                          (alm_str){cut.text.ptr, cut.text.len}));
    alm_buf_deinit(&whole.text);
    alm_buf_deinit(&cut.text);
    return 0;
}
