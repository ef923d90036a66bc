/*
 * write_store.h - the values of one column of a row group, as they come. Private to codec/parquet.
 *
 * Forms       FIXED: the elements, as in memory. CODES: for each row the number of its text in `texts`, from 1 on; 0 is null.
 *             BYTES: for each row a length (ALM_VIEW_NULL: null), and the bytes of all rows one after another.
 *             Texts begin as CODES and become BYTES when they do not repeat; symbols stay CODES.
 * Order       Texts have their numbers by their first row.
 */
#ifndef ALM_CODEC_PARQUET_WRITE_STORE_H
#define ALM_CODEC_PARQUET_WRITE_STORE_H

#include "codec/parquet/writer.h"

typedef enum alm_pq_form { ALM_PQ_FORM_FIXED, ALM_PQ_FORM_CODES, ALM_PQ_FORM_BYTES } alm_pq_form;

/* Distinct byte strings, numbered from 0. */
typedef struct alm_pq_texts {
    alm_buf bytes, len; /* one after another; uint32_t each */
    alm_buf at;         /* uint64_t: where each begins in `bytes` */
    alm_buf slots;      /* uint32_t: number + 1; a power of two of them */
    uint32_t mask, n;
} alm_pq_texts;

typedef struct alm_pq_store {
    alm_type type;
    alm_pq_form form, first_form;
    bool sticky;    /* CODES for good */
    uint32_t width; /* of FIXED */
    uint32_t rows;
    alm_buf values; /* FIXED: elements; CODES, BYTES: uint32_t each */
    alm_buf bytes;  /* of BYTES */
    alm_pq_texts texts;
    const alm_dict *dict; /* the one that `known` is of; NULL: units of CHAR */
    uint32_t dict_id;
    bool one_dict;   /* all codes were of `dict` */
    alm_buf known;   /* uint32_t by code: number of its text + 1, 0: not met yet */
    alm_buf code_of; /* uint32_t by number: its code, where one_dict */
} alm_pq_store;

/* Rows are taken in steps that end at multiples of so many, so that nothing depends on the batches. */
enum { ALM_PQ_STEP = 4096 };

void alm_pq_store_init(alm_pq_store *store, const alm_pq_column *column, alm_mem *mem);
void alm_pq_store_deinit(alm_pq_store *store);
/* Empty again; the memory is kept. */
void alm_pq_store_reset(alm_pq_store *store);
/* Rows [from, to), at most ALM_PQ_STEP of them, of a dense or const vector. */
ALM_NODISCARD alm_status alm_pq_store_add(alm_ctx *cx, alm_pq_store *store, const alm_vec *vec,
                                          uint32_t from, uint32_t to);
/* All rows are there: CODES that do not pay become BYTES. */
ALM_NODISCARD alm_status alm_pq_store_end(alm_ctx *cx, alm_pq_store *store);
/* Bytes that the rows take. */
int64_t alm_pq_store_bytes(const alm_pq_store *store);

static inline alm_str alm_pq_text(const alm_pq_texts *texts, uint32_t i)
{
    return (alm_str){texts->bytes.ptr + ((const uint64_t *)(const void *)texts->at.ptr)[i],
                     ((const uint32_t *)(const void *)texts->len.ptr)[i]};
}

#endif
