/* answer_text.c - see answer_text.h. */
#include "net/http/query/answer_text.h"

/* A text piece may be this many times as large as it has to be. Most batches are smaller, and to cut them all would be more
 * turns between the threads; a batch may be any number of bytes, so the rest of a larger one waits for the next piece. */
enum { PIECES_MOST = 4 };

alm_status alm_answer_text_begin(alm_query_run *run, const alm_plan_col *cols, alm_result_form form)
{
    alm_ctx *cx = &run->cx;
    alm_type *types = NULL;
    const char **names = NULL;
    uint32_t n_types = 0;
    (void)alm_cursor_cols(run->cursor, &n_types);
    ALM_TRY(ALM_NEWN(cx, &run->arena, n_types + 1, &types));
    ALM_TRY(ALM_NEWN(cx, &run->arena, n_types + 1, &names));
    for (uint32_t i = 0; i < n_types; i++) {
        types[i] = cols[i].type;
        names[i] = cols[i].name;
    }
    const alm_result_options options = {.form = form,
                                        .quote_long = run->opt.quote_long,
                                        .lines = run->opt.hold,
                                        .delimiter = run->opt.delimiter,
                                        .cols = run->cols,
                                        .n_cols = run->n_cols,
                                        .names = names};
    return alm_result_writer_new(cx, &run->arena, types, n_types, &options, &run->writer);
}

alm_status alm_answer_text_rows(alm_query_run *run)
{
    return alm_result_rows(&run->cx, run->writer, run->batch, &run->row, run->row_end,
                           PIECES_MOST * run->piece_bytes, &run->out);
}
