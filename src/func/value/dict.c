/*
 * dict.c - see dict.h.
 *
 * Memory      Temporary vectors come from the arena of the call (a batch's life).
 */
#include "func/value/dict.h"

enum { ARGS_MAX = 64 };

/* Rows per distinct value from which the detour over the dictionary pays. */
static bool worth_it(const alm_vec *vec, size_t n_rows)
{
    return !vec->is_const && vec->dict->count <= n_rows / 2;
}

#define PICK(T, C)                                                                                 \
    do {                                                                                           \
        const C *codes = codes_->data;                                                             \
        const T *from = from_;                                                                     \
        T *to = to_;                                                                               \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = from[codes[i]];                                                                \
    } while (0)
#define PICK_BY_CODE(T)                                                                            \
    do {                                                                                           \
        if (codes_->width == 1)                                                                    \
            PICK(T, uint8_t);                                                                      \
        else if (codes_->width == 2)                                                               \
            PICK(T, uint16_t);                                                                     \
        else                                                                                       \
            PICK(T, uint32_t);                                                                     \
    } while (0)

static void pick(const alm_vec *codes_, const void *from_, uint8_t width, size_t n, void *to_)
{
    if (width == 1)
        PICK_BY_CODE(uint8_t);
    else if (width == 2)
        PICK_BY_CODE(uint16_t);
    else if (width == 4)
        PICK_BY_CODE(uint32_t);
    else if (width == 8)
        PICK_BY_CODE(uint64_t);
    else
        PICK_BY_CODE(alm_view);
}

/* args[at] is the one column of codes, the rest is constant. */
static alm_status over_values(alm_scalar_kernel kernel, alm_call *call, size_t n_rows,
                              const alm_vec *args, uint32_t place, alm_vec *out)
{
    const alm_dict *dict = args[place].dict;
    alm_vec local[ARGS_MAX], values = {0};
    memcpy(local, args, call->argc * sizeof *args);
    /* as const: the kernel reads views, it never writes to an argument */
    local[place] = (alm_vec){.type = args[place].type, .width = sizeof(alm_view)};
    memcpy(&local[place].data, &dict->views, sizeof(void *));
    ALM_TRY(alm_vec_new(call->cx, call->arena, out->type, dict->count, &values));
    ALM_TRY(kernel(call, dict->count, local, &values));
    ALM_ASSERT(values.width == out->width && values.dict == NULL);
    pick(&args[place], values.data, values.width, n_rows, out->data);
    out->heap = values.heap;
    return ALM_OK;
}

static alm_status over_rows(alm_scalar_kernel kernel, alm_call *call, size_t n_rows,
                            const alm_vec *args, alm_vec *out)
{
    alm_vec local[ARGS_MAX];
    for (uint32_t i = 0; i < call->argc; i++)
        ALM_TRY(alm_vec_decode(call->cx, call->arena, &args[i], n_rows, &local[i]));
    return kernel(call, n_rows, local, out);
}

bool alm_over_dict(alm_scalar_kernel kernel, alm_call *call, size_t n_rows, const alm_vec *args,
                   alm_vec *out, alm_status *status)
{
    ALM_ASSERT(call->argc <= ARGS_MAX);
    uint32_t coded = 0, dense = 0, place = 0;
    for (uint32_t i = 0; i < call->argc; i++) {
        dense += !args[i].is_const;
        if (args[i].dict != NULL) {
            coded++;
            place = i;
        }
    }
    if (coded == 0)
        return false;
    if (coded == 1 && dense == 1 && worth_it(&args[place], n_rows))
        *status = over_values(kernel, call, n_rows, args, place, out);
    else
        *status = over_rows(kernel, call, n_rows, args, out);
    return true;
}
