/*
 * piece.c - one piece of an answer: rows of the cursor, encoded by the functions of the format (answer.h), and compressed if the
 * client accepts that.
 */
#include "base/conf.h"
#include "base/map.h"
#include "net/http/query/run_state.h"

/* Whole answers below this are not packed: they fit a packet or two as they are. */
enum { PACK_LEAST = 2048 };

/* ------------------------------------------------------------------ columns */

/* A name may come again, but not for nothing: each counts as a node of the statement does, and what is made for it is memory of it. */
static alm_status choose_named(alm_query_run *run, const alm_plan_col *cols, const alm_map *by_name)
{
    alm_ctx *cx = &run->cx;
    const alm_str list = run->opt.cols;
    size_t names = 1;
    for (size_t i = 0; i < list.len; i++)
        names += list.ptr[i] == ',';
    ALM_TRY(alm_nodes_add(cx, (int64_t)names, -1));
    ALM_TRY(ALM_NEWN(cx, &run->arena, names, &run->cols));
    for (size_t offset = 0; offset <= list.len;) {
        const char *comma = memchr(list.ptr + offset, ',', list.len - offset);
        const size_t end = comma != NULL ? (size_t)(comma - list.ptr) : list.len;
        const alm_str name = {list.ptr + offset, end - offset};
        offset = end + 1;
        const alm_plan_col *col = alm_map_get(by_name, name);
        if (col == NULL)
            return alm_fail(cx, ALM_E_NAME, -1, "column not found: '%.*s'", (int)name.len,
                            name.ptr);
        run->cols[run->n_cols++] = (uint32_t)(col - cols);
        if (run->n_cols % ALM_NODES_LOOK == 0 && alm_cursor_goes_on(run->cursor) != ALM_OK)
            return alm_query_failed(run, alm_session_error(run->session));
    }
    ALM_ASSERT(run->n_cols == names);
    return ALM_OK;
}

static alm_status choose_cols(alm_query_run *run, const alm_plan_col *cols, uint32_t n_cols)
{
    alm_ctx *cx = &run->cx;
    if (run->opt.cols.ptr == NULL || run->opt.cols.len == 0) {
        ALM_TRY(ALM_NEWN(cx, &run->arena, n_cols + 1, &run->cols));
        for (uint32_t i = 0; i < n_cols; i++)
            run->cols[i] = i;
        run->n_cols = n_cols;
        return ALM_OK;
    }
    alm_map by_name;
    alm_map_init(&by_name, true);
    alm_status status = ALM_OK;
    for (uint32_t i = 0; status == ALM_OK && i < n_cols; i++) /* of several of one name the first */
        if (alm_map_get(&by_name, alm_str_of(cols[i].name)) == NULL)
            status = alm_map_put(cx, &by_name, alm_str_of(cols[i].name),
                                 (void *)(uintptr_t)&cols[i], NULL);
    if (status == ALM_OK)
        status = choose_named(run, cols, &by_name);
    alm_map_deinit(&by_name);
    return status;
}

/* --------------------------------------------------------------------- rows */

static alm_status begin_rows(alm_query_run *run)
{
    const alm_answer_ops *ops = run->opt.format->ops;
    uint32_t n = 0;
    const alm_plan_col *cols = alm_cursor_cols(run->cursor, &n);
    ALM_TRY(choose_cols(run, cols, n));
    ALM_TRY(ALM_NEWN(&run->cx, &run->arena, run->n_cols + 1, &run->chosen));
    ALM_ASSERT(!run->opt.hold || ops->begin_held != NULL);
    return run->opt.hold ? ops->begin_held(run, cols) : ops->begin(run, cols);
}

/* The answer to a statement that returns no rows, the same in every format. */
static alm_status put_done(alm_query_run *run)
{
    alm_ctx *cx = &run->cx;
    const char *tag = alm_cursor_tag(run->cursor);
    run->finished = true;
    if (strcmp(tag, "UPDATE") == 0 || strcmp(tag, "DELETE") == 0)
        return alm_buf_printf(cx, &run->out, "{\"dml\":\"OK\",\"updated\":%lld}",
                              (long long)alm_cursor_affected(run->cursor));
    if (strcmp(tag, "INSERT") == 0)
        return alm_buf_text(cx, &run->out, "{\"dml\":\"OK\"}");
    return alm_buf_text(cx, &run->out, "{\"ddl\":\"OK\"}");
}

alm_status alm_query_begin_answer(alm_query_run *run)
{
    return alm_cursor_has_rows(run->cursor) ? begin_rows(run) : put_done(run);
}

/* The rows of the batch that are asked for are to be written. */
static void piece_take_batch(alm_query_run *run, const alm_batch *batch)
{
    ALM_ASSERT(run->batch == NULL);
    const int64_t first = run->rows_seen;
    run->rows_seen += batch->rows;
    atomic_store_explicit(&run->tagged.rows, run->rows_seen, memory_order_relaxed);
    const int64_t lo = ALM_MAX(run->opt.window.lo - first, (int64_t)0);
    const int64_t hi = ALM_MIN(run->opt.window.hi - first, (int64_t)batch->rows);
    if (lo >= hi)
        return;
    run->rows_sent += hi - lo;
    run->batch = batch;
    run->row = (uint32_t)lo;
    run->row_end = (uint32_t)hi;
}

static alm_status piece_put_rows(alm_query_run *run)
{
    const uint32_t before = run->row;
    ALM_ASSERT(run->row < run->row_end);
    ALM_TRY(run->opt.format->ops->rows(run));
    ALM_ASSERT(before <= run->row && run->row <= run->row_end);
    if (run->row == run->row_end)
        run->batch = NULL;
    return ALM_OK;
}

alm_status alm_query_fill_piece(alm_query_run *run)
{
    if (run->held != NULL)
        return alm_query_hold_piece(run);
    if (run->batch != NULL && alm_cursor_goes_on(run->cursor) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    while (run->out.len < run->piece_bytes) {
        alm_batch *batch = NULL;
        if (run->batch != NULL) {
            ALM_TRY(piece_put_rows(run));
            continue;
        }
        const bool enough = run->rows_seen >= run->opt.window.hi && !run->opt.count_all;
        const alm_status status = enough ? ALM_OK : alm_cursor_next(run->cursor, &batch);
        if (status == ALM_E_YIELD)
            return status; /* what the piece has of it stays */
        if (status != ALM_OK)
            return alm_query_failed(run, alm_session_error(run->session));
        if (batch == NULL) {
            run->finished = true;
            return run->opt.format->ops->end != NULL ? run->opt.format->ops->end(run) : ALM_OK;
        }
        piece_take_batch(run, batch);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------- compression */

static alm_pack_form pack_form(const alm_query_run *run)
{
    if (run->opt.format->ops->compressed)
        return ALM_PACK_NONE;
    const alm_str accept = alm_http_header(&run->h->req, "Accept-Encoding");
    const int32_t any = alm_http_quality(accept, ALM_STR("*"));
    int32_t gzip = alm_http_quality(accept, ALM_STR("gzip"));
    const int32_t zstd = alm_http_quality(accept, ALM_STR("zstd"));
    if (gzip < 0)
        gzip = any;
    if (!run->cx.conf->http_allow_deflate_before_send || ALM_MAX(gzip, zstd) <= 0)
        return ALM_PACK_NONE;
    return zstd >= gzip ? ALM_PACK_ZSTD : ALM_PACK_GZIP;
}

static alm_status begin_packing(alm_query_run *run, alm_pack_form form)
{
    ALM_TRY(alm_arena_printf(&run->cx, &run->arena, &run->opt.headers, "%sContent-Encoding: %s\r\n",
                             run->opt.headers, form == ALM_PACK_GZIP ? "gzip" : "zstd"));
    return alm_packer_new(&run->cx, form, &run->packer);
}

alm_status alm_query_pack_piece(alm_query_run *run)
{
    const bool whole = run->finished && !run->begun;
    if (!run->begun && !(whole && run->out.len < PACK_LEAST)) {
        const alm_pack_form form = pack_form(run);
        if (form != ALM_PACK_NONE)
            ALM_TRY(begin_packing(run, form));
    }
    run->begun = true;
    if (run->packer == NULL)
        return ALM_OK;
    ALM_TRY(alm_pack(&run->cx, run->packer, (alm_str){run->out.ptr, run->out.len}, run->finished,
                     &run->packed));
    const alm_buf plain = run->out;
    run->out = run->packed;
    run->packed = plain;
    run->packed.len = 0;
    return ALM_OK;
}
