/*
 * fuzz_query.c - statements changed by their grammar, through parser, binder, rules and execution.
 *
 * Properties  No crash, no leak, no undefined behaviour; a statement that fails has a message and a
 *             position inside its text; one that runs ends soon after its time limit, and its rows can
 *             be written as JSON.
 * Input       One statement. The tables are those of the recorded cases (test/sql), made once at the
 *             start; statements that write are planned only, so that no input changes the next.
 * Corpus      None is needed: sql_mutate.h starts from the recorded statements.
 */
#include "base/conf.h"
#include "codec/result_text.h"
#include "session/session.h"
#include "sql_mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

enum { ROWS_MAX = 20000, TIME_LIMIT_MS = 300 };

static alm_db *db;

static void run(alm_session *s, alm_str text)
{
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    if (alm_prepare(s, text, NULL, &p) == ALM_OK) {
        if (alm_execute(s, p, NULL, 0, &c) == ALM_OK) {
            alm_batch *batch = NULL;
            while (alm_cursor_has_rows(c) && alm_cursor_next(c, &batch) == ALM_OK && batch != NULL)
                continue;
            alm_cursor_close(c);
        }
        alm_prepared_free(p);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static alm_conf conf;
    static alm_arena arena;
    (void)argc;
    (void)argv;
    const char *cases = getenv("ALMANAC_CASES");
    pool_load(cases != NULL ? cases : ALM_FUZZ_CASES);
    char root[4096];
    const char *tmp = getenv("TMPDIR");
    alm_ctx cx = {.arena = &arena};
    alm_arena_init(&arena, NULL);
    (void)snprintf(root, sizeof(root), "%s/almanac-fuzz-XXXXXX", tmp != NULL ? tmp : "/tmp");
    ALM_ASSERT(mkdtemp(root) != NULL);
    ALM_ASSERT(alm_conf_init(&cx, &conf) == ALM_OK);
    conf.wal_sync = "off";
    conf.query_memory_max = 128 << 20;
    conf.query_memory_total_max = 256 << 20;
    conf.shared_worker_count = 2;
    ALM_ASSERT(alm_db_new(&cx, alm_io_posix(), root, &conf, &db) == ALM_OK);
    alm_session *s = NULL;
    ALM_ASSERT(alm_session_new(&cx, db, "admin", "fuzz", &s) == ALM_OK);
    const piece_pool *setup = &pools[PIECE_SETUP];
    for (size_t i = 0; i < setup->n; i++)
        run(s, setup->at[i]);
    alm_session_free(s);
    return 0;
}

static void check_error(const alm_session *s, size_t size)
{
    const alm_error *err = alm_session_error(s);
    ALM_ASSERT(err->code != ALM_OK && err->msg[0] != 0);
    ALM_ASSERT(err->sql_pos >= -1 && err->sql_pos <= (int64_t)size);
}

static alm_status read_rows(alm_ctx *cx, alm_cursor *c)
{
    uint32_t n = 0;
    const alm_plan_col *cols = alm_cursor_cols(c, &n);
    alm_type *types = NULL;
    alm_result_writer *w = NULL;
    alm_buf out;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &types));
    for (uint32_t i = 0; i < n; i++)
        types[i] = cols[i].type;
    const alm_result_options options = {.form = ALM_RESULT_JSON};
    ALM_TRY(alm_result_writer_new(cx, cx->arena, types, n, &options, &w));
    alm_buf_init(&out, NULL);
    alm_status st = ALM_OK;
    alm_batch *batch = NULL;
    for (uint64_t rows = 0; rows < ROWS_MAX;) {
        st = alm_cursor_next(c, &batch);
        if (st != ALM_OK || batch == NULL)
            break;
        out.len = 0;
        ALM_ASSERT(alm_result_rows(cx, w, batch, 0, batch->rows, &out) == ALM_OK);
        rows += batch->rows;
    }
    alm_buf_deinit(&out);
    return st;
}

static bool reads_only(alm_stmt_kind kind)
{
    return kind == ALM_STMT_SELECT || kind == ALM_STMT_EXPLAIN || kind == ALM_STMT_SHOW;
}

static void try_statement(alm_ctx *cx, alm_session *s, alm_str text)
{
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    const alm_type *params;
    const alm_plan_col *cols;
    uint32_t n_params = 0, n_cols = 0;
    if (alm_prepare(s, text, NULL, &p) != ALM_OK) {
        check_error(s, text.len);
        return;
    }
    if (alm_describe(s, p, NULL, 0, &params, &n_params, &cols, &n_cols) != ALM_OK) {
        check_error(s, text.len);
    } else if (reads_only(alm_prepared_kind(p)) && n_params == 0) {
        if (alm_execute(s, p, NULL, 0, &c) != ALM_OK) {
            check_error(s, text.len);
        } else {
            if (alm_cursor_has_rows(c) && read_rows(cx, c) != ALM_OK)
                check_error(s, text.len);
            alm_cursor_close(c);
        }
    }
    alm_prepared_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    alm_session *s = NULL;
    ALM_ASSERT(alm_session_new(&cx, db, "admin", "fuzz", &s) == ALM_OK);
    alm_session_timeout(s, TIME_LIMIT_MS);
    alm_session_read_only(s, true);
    char *text = malloc(size + 1); /* of its own, so that reading past the end is seen */
    ALM_ASSERT(text != NULL);
    if (size > 0)
        (void)memcpy(text, data, size);
    try_statement(&cx, s, (alm_str){text, size});
    free(text);
    alm_session_free(s);
    alm_arena_deinit(&arena);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size_t len = size;
    (void)mutate_sql((char *)data, &len, max_size, seed);
    return len;
}
