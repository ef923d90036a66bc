/* load.c - see load.h. */
#include "session/transfer/load.h"

#include <stdlib.h>

#include "base/utf8.h"

/* One column of a block as one task has it. */
typedef struct alm_load_column {
    alm_ctx cx;
    alm_arena arena;
    alm_vec vec;
    uint8_t *bad; /* [ALM_BATCH_ROWS] */
    uint32_t n_bad;
    alm_status status;
} load_column;

alm_status alm_load_init(alm_ctx *cx, alm_arena *arena, alm_load *load, bool faults)
{
    load->kept = arena;
    if (faults)
        ALM_TRY(ALM_NEWN(cx, arena, ALM_LOAD_FAULTS_MAX, &load->faults));
    ALM_TRY(ALM_NEWN(cx, arena, load->n_cols + 1, &load->errors));
    ALM_TRY(ALM_NEWN(cx, arena, load->n_cols + 1, &load->columns));
    alm_arena_init(&load->batch, cx->mem);
    for (uint32_t i = 0; i < load->n_cols; i++)
        alm_arena_init(&load->columns[i].arena, cx->mem);
    return ALM_OK;
}

void alm_load_deinit(alm_load *load)
{
    for (uint32_t i = 0; load->columns != NULL && i < load->n_cols; i++)
        alm_arena_deinit(&load->columns[i].arena);
    if (load->columns != NULL)
        alm_arena_deinit(&load->batch);
    load->columns = NULL;
    alm_filter_free(load->where);
    load->where = NULL;
    alm_csv_reader_free(load->reader);
    load->reader = NULL;
}

/* -------------------------------------------------------------------- errors */

/* A text as a message can show it: its beginning, whole characters; "" when it is not UTF-8. */
static alm_str transfer_load_shown(alm_str text)
{
    enum { SHOWN_MAX = 100 };
    if (text.len > SHOWN_MAX) {
        text.len = SHOWN_MAX;
        while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
            text.len--; /* not in the middle of a character */
    }
    return alm_utf8_is_valid(text) ? text : (alm_str){"", 0};
}

static const char *transfer_load_unit_of(const alm_csv_block *block)
{
    return block->copy != NULL && block->copy->kind == ALM_COPY_BINARY ? "row" : "line";
}

static alm_status bad_record(alm_ctx *cx, const alm_load *load, const alm_csv_block *block,
                             uint32_t row, const char *text, const char *column)
{
    return alm_fail(cx, load->strict ? ALM_E_COPY_FORMAT : ALM_E_VALUE, -1, "%.*s%s %llu: %s%s%s%s",
                    (int)load->what.len, load->what.ptr, transfer_load_unit_of(block),
                    (unsigned long long)block->lines[row], text, column != NULL ? " \"" : "",
                    column != NULL ? column : "", column != NULL ? "\"" : "");
}

static alm_status transfer_load_bad_value(alm_ctx *cx, const alm_load *load,
                                          const alm_csv_block *block, uint32_t row, uint32_t col)
{
    const alm_column *to = &load->table->cols[load->table_col[col]];
    const alm_csv_field *field = &block->fields[(size_t)col * block->stride + row];
    const bool binary = block->copy != NULL && block->copy->kind == ALM_COPY_BINARY;
    alm_str text = {"", 0};
    if (!binary || to->length > 0) /* a text is the same in both forms */
        ALM_TRY(alm_csv_text(cx, &load->columns[col].arena, block, field, &text));
    if (text.ptr != NULL && !alm_utf8_is_valid(text))
        return alm_fail(cx, ALM_E_UTF8, -1, "%.*s%s %llu, column %s: bytes that are not UTF-8",
                        (int)load->what.len, load->what.ptr, transfer_load_unit_of(block),
                        (unsigned long long)block->lines[row], to->name);
    size_t chars = 0;
    if (alm_text_exceeds(to, text, &chars))
        return alm_fail(
            cx, ALM_E_LENGTH, -1,
            "%.*s%s %llu, column %s: value too long for type character varying(%u) [length=%zu]",
            (int)load->what.len, load->what.ptr, transfer_load_unit_of(block),
            (unsigned long long)block->lines[row], to->name, to->length, chars);
    text = transfer_load_shown(text.ptr != NULL ? text : (alm_str){"", 0});
    return alm_fail(cx, binary ? ALM_E_FORMAT : ALM_E_VALUE, -1,
                    "%.*s%s %llu, column %s: \"%.*s\" is not a value of type %s",
                    (int)load->what.len, load->what.ptr, transfer_load_unit_of(block),
                    (unsigned long long)block->lines[row], to->name, (int)text.len, text.ptr,
                    alm_type_name(to->type));
}

/* ---------------------------------------------------------------------- rows */

/* What is wrong with a row: 0 nothing; its first bad column, from 1; or one of these. */
enum {
    NULL_TIME = UINT16_MAX,
    TOO_MANY = UINT16_MAX - 1,
    TOO_FEW = UINT16_MAX - 2,
    NO_OBJECT = UINT16_MAX - 3,
    NEW_KEY = UINT16_MAX - 4
};

static alm_status transfer_load_fail_row(alm_ctx *cx, const alm_load *load,
                                         const alm_csv_block *block, uint32_t row, uint16_t why)
{
    const alm_csv_field *fields = block->fields + row;
    uint32_t n = 1; /* the first missing column: missing ones begin where the record does */
    switch (why) {
    case NULL_TIME:
        for (uint32_t i = 0; i < load->n_cols; i++)
            if ((int32_t)load->table_col[i] == load->table->ts_col && load->columns[i].bad[row])
                return transfer_load_bad_value(cx, load, block, row,
                                               i); /* null, as it could not be read */
        return bad_record(cx, load, block, row, "null in the designated timestamp",
                          load->table->cols[load->table->ts_col].name);
    case TOO_MANY:
        return bad_record(cx, load, block, row, "extra data after last expected column", NULL);
    case NO_OBJECT:
        return bad_record(cx, load, block, row, "not a JSON object", NULL);
    case NEW_KEY:
        return bad_record(cx, load, block, row,
                          "a key that no line at the beginning of the file has", NULL);
    case TOO_FEW:
        while (n + 1 < load->n_cols && fields[(size_t)n * block->stride].off > fields[0].off)
            n++;
        return bad_record(cx, load, block, row, "missing data for column",
                          load->table->cols[load->table_col[n]].name);
    default:
        return transfer_load_bad_value(cx, load, block, row, why - 1U);
    }
}

/* What is wrong with a row, in words, for the first rows that have something. */
static alm_status transfer_load_note_fault(alm_ctx *cx, alm_load *load, const alm_csv_block *block,
                                           uint32_t row, uint16_t why)
{
    const int64_t n = load->n_faulty++;
    alm_ctx probe;
    if (load->faults == NULL || n >= ALM_LOAD_FAULTS_MAX)
        return ALM_OK;
    alm_ctx_fork(cx, &probe);
    const alm_status status = transfer_load_fail_row(&probe, load, block, row, why);
    if (status == ALM_E_MEMORY)
        return alm_ctx_join(cx, &probe);
    return alm_arena_printf(cx, load->kept, &load->faults[n], "%s", probe.err.msg);
}

/* Marks the rows that cannot be taken whole. */
static void transfer_load_find_bad(const alm_load *load, const alm_csv_block *block, uint16_t *why)
{
    const int32_t ts_col = load->table->ts_col;
    for (uint32_t i = 0; i < load->n_cols; i++) {
        const load_column *column = &load->columns[i];
        for (uint32_t row = 0; column->n_bad > 0 && row < block->rows; row++)
            if (column->bad[row] && why[row] == 0)
                why[row] = (uint16_t)(i + 1);
        if ((int32_t)load->table_col[i] != ts_col)
            continue;
        const int64_t *ts = column->vec.data;
        for (uint32_t row = 0; row < block->rows; row++)
            if (ts[row] == ALM_TS_NULL && (why[row] == 0 || load->rule == ALM_BAD_SKIP_COLUMN))
                why[row] = NULL_TIME;
    }
    for (uint32_t row = 0; row < block->rows; row++) {
        const uint8_t ragged = block->ragged[row];
        if (ragged == ALM_CSV_MORE && !load->skip_extra)
            why[row] = TOO_MANY;
        else if (ragged == ALM_CSV_FEWER && load->strict)
            why[row] = TOO_FEW;
        else if (ragged == ALM_CSV_NO_OBJECT)
            why[row] = NO_OBJECT;
        else if (ragged == ALM_CSV_NEW_KEY && !load->skip_extra)
            why[row] = NEW_KEY;
    }
}

/* Which rows of the block go into the table, from `first` on; idx gets their numbers. */
static alm_status transfer_load_choose_rows(alm_ctx *cx, alm_load *load, const alm_csv_block *block,
                                            uint32_t first, uint32_t *idx, uint32_t *n)
{
    uint16_t *why = NULL;
    ALM_TRY(ALM_NEWN(cx, &load->batch, block->rows, &why));
    transfer_load_find_bad(load, block, why);
    *n = 0;
    for (uint32_t row = first; row < block->rows; row++) {
        const bool bad_value_only = why[row] < NEW_KEY;
        const bool taken = why[row] == 0 || (bad_value_only && load->rule == ALM_BAD_SKIP_COLUMN);
        if (taken)
            idx[(*n)++] = row;
        else
            load->rejected++;
        if (why[row] == 0)
            continue;
        if (load->rule == ALM_BAD_ABORT)
            return transfer_load_fail_row(cx, load, block, row, why[row]);
        if (load->skip_max > 0 && load->rejected > load->skip_max)
            return alm_fail(cx, ALM_E_VALUE, -1,
                            "%.*sskipped more than REJECT_LIMIT (%lld) rows, the last is line %llu",
                            (int)load->what.len, load->what.ptr, (long long)load->skip_max,
                            (unsigned long long)block->lines[row]);
        ALM_TRY(transfer_load_note_fault(cx, load, block, row, why[row]));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------- columns */

typedef struct block_task {
    const alm_load *load;
    const alm_csv_block *block;
} block_task;

alm_status alm_load_check_length(alm_ctx *cx, alm_arena *arena, const alm_column *to, alm_vec *vec,
                                 uint32_t rows, uint8_t *bad, uint32_t *n_bad)
{
    alm_view *own = NULL; /* what was read may be somebody else's */
    size_t chars = 0;
    for (uint32_t i = 0; to->length > 0 && !vec->is_const && i < rows; i++) {
        if (!alm_text_exceeds(to, alm_vec_text(vec, i), &chars))
            continue;
        if (own == NULL) {
            ALM_TRY(ALM_NEWN(cx, arena, rows, &own));
            memcpy(own, vec->data, rows * sizeof *own);
            vec->data = own;
            vec->no_nulls = false;
        }
        own[i] = alm_view_null();
        bad[i] = 1;
        (*n_bad)++;
    }
    return ALM_OK;
}

static alm_status convert_column(const block_task *task, uint32_t i, load_column *column)
{
    const alm_load *load = task->load;
    const alm_csv_block *block = task->block;
    const alm_column *to = &load->table->cols[load->table_col[i]];
    alm_arena_reset(&column->arena);
    column->n_bad = 0;
    ALM_TRY(ALM_NEWN(&column->cx, &column->arena, block->rows, &column->bad));
    ALM_TRY(alm_csv_convert(&column->cx, &column->arena, block, i, to->type, column->bad,
                            &column->n_bad, &column->vec));
    return alm_load_check_length(&column->cx, &column->arena, to, &column->vec, block->rows,
                                 column->bad, &column->n_bad);
}

static void transfer_load_column_task(void *arg, uint32_t i, uint32_t slot)
{
    const block_task *task = arg;
    load_column *column = &task->load->columns[i];
    (void)slot;
    column->status = convert_column(task, i, column);
}

static alm_status convert_block(alm_ctx *cx, alm_load *load, const alm_csv_block *block)
{
    block_task task = {load, block};
    for (uint32_t i = 0; i < load->n_cols; i++) {
        alm_ctx_fork(cx, &load->columns[i].cx);
        load->columns[i].cx.arena = &load->columns[i].arena;
    }
    if (load->workers != NULL && block->rows > 256)
        alm_workers_run(load->workers, load->n_cols, transfer_load_column_task, &task);
    else
        for (uint32_t i = 0; i < load->n_cols; i++)
            transfer_load_column_task(&task, i, 0);
    for (uint32_t i = 0; i < load->n_cols; i++)
        if (load->columns[i].status != ALM_OK)
            return alm_ctx_join(cx, &load->columns[i].cx);
    return ALM_OK;
}

/* -------------------------------------------------------------------- blocks */

static alm_status check_names(alm_ctx *cx, const alm_load *load, const alm_csv_block *block)
{
    for (uint32_t i = 0; load->names != NULL && i < load->n_cols; i++) {
        alm_str text;
        ALM_TRY(alm_csv_text(cx, &load->columns[i].arena, block,
                             &block->fields[(size_t)i * block->stride], &text));
        if (text.ptr != NULL && alm_str_eq(text, alm_str_of(load->names[i])))
            continue;
        text = transfer_load_shown(text.ptr != NULL ? text : (alm_str){"", 0});
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1,
                        "%.*scolumn name mismatch in header line field %u: got \"%.*s\", expected "
                        "\"%s\"",
                        (int)load->what.len, load->what.ptr, i + 1, (int)text.len, text.ptr,
                        load->names[i]);
    }
    return ALM_OK;
}

/* Of n rows those that `where` takes. */
static alm_status keep_where(alm_ctx *cx, alm_load *load, alm_vec *vecs, uint32_t *n)
{
    const alm_table *table = load->table;
    const uint16_t *sel = NULL;
    alm_vec *texts = NULL;
    uint32_t *idx = NULL, kept = 0;
    if (load->where == NULL || *n == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, &load->batch, table->n_cols, &texts));
    (void)memcpy(texts, vecs, table->n_cols * sizeof(*vecs));
    for (uint32_t i = 0; i < table->n_cols; i++)
        if (texts[i].type.id == ALM_T_SYMBOL)
            texts[i].type = ALM_TY(VARCHAR);
    const alm_batch batch = {.rows = *n, .n_cols = table->n_cols, .cols = texts};
    ALM_TRY(alm_filter_run(cx, load->where, &batch, &sel, &kept));
    if (kept == *n)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, &load->batch, kept + 1, &idx));
    for (uint32_t i = 0; i < kept; i++)
        idx[i] = sel[i];
    for (uint32_t i = 0; i < table->n_cols; i++)
        ALM_TRY(alm_vec_gather(cx, &load->batch, &vecs[i], idx, kept, &vecs[i]));
    *n = kept;
    return ALM_OK;
}

static alm_status load_block(alm_ctx *cx, alm_load *load, const alm_csv_block *block)
{
    const alm_table *table = load->table;
    const uint32_t first = load->header ? 1 : 0;
    alm_vec *vecs = NULL;
    uint32_t *idx = NULL, n = 0;
    alm_arena_reset(&load->batch);
    ALM_TRY(ALM_NEWN(cx, &load->batch, table->n_cols, &vecs));
    ALM_TRY(ALM_NEWN(cx, &load->batch, block->rows, &idx));
    if (load->header)
        ALM_TRY(check_names(cx, load, block));
    ALM_TRY(convert_block(cx, load, block));
    ALM_TRY(transfer_load_choose_rows(cx, load, block, first, idx, &n));
    for (uint32_t i = 0; i < load->n_cols; i++) {
        const load_column *column = &load->columns[i];
        vecs[load->table_col[i]] = column->vec;
        for (uint32_t row = first; column->n_bad > 0 && row < block->rows; row++)
            load->errors[i] += column->bad[row];
    }
    load->handled += block->rows - first;
    load->header = false;
    for (uint32_t i = 0; i < table->n_cols; i++) {
        if (vecs[i].data == NULL)
            ALM_TRY(alm_vec_null(cx, &load->batch, table->cols[i].type, &vecs[i]));
        else if (n < block->rows)
            ALM_TRY(alm_vec_gather(cx, &load->batch, &vecs[i], idx, n, &vecs[i]));
    }
    ALM_TRY(keep_where(cx, load, vecs, &n));
    const alm_batch batch = {.rows = n, .n_cols = table->n_cols, .cols = vecs};
    return n > 0 ? load->sink(cx, load->arg, &batch) : ALM_OK;
}

alm_status alm_load_rows(alm_ctx *cx, alm_load *load, bool last)
{
    for (;;) {
        alm_csv_block block;
        ALM_TRY(alm_csv_next(cx, load->reader, last, &block));
        if (block.rows == 0)
            return ALM_OK;
        ALM_TRY(load_block(cx, load, &block));
    }
}
