/*
 * fuzz_query.c - statements changed by their grammar, through parser, binder, rules and execution.
 *
 * Properties  No crash, no leak, no undefined behaviour; a statement that fails has a message and a
 *             position inside its text; one that runs ends soon after its time limit, and its rows can
 *             be written as JSON. Without the rules of the optimiser it gives the same rows, where they do
 *             not hang on the order in which rows come.
 * Input       One statement. The tables are those of the recorded cases (test/sql), made once at the
 *             start; INSERT, UPDATE and DELETE run in a transaction that is rolled back, other statements
 *             that write are planned only, so that no input changes the next.
 * Corpus      None is needed: sql_mutate.h starts from the recorded statements.
 */
#include "base/conf.h"
#include "base/hash.h"
#include "codec/result_text.h"
#include "session/session.h"
#include "sql_mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

enum { ROWS_MAX = 20000, TIME_LIMIT_MS = 300 };

static alm_db *db;
static alm_conf conf;

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

typedef struct answer {
    uint64_t rows, sum; /* sum: of a hash of each row, so that their order does not count */
} answer;

static alm_status take_rows(alm_ctx *cx, alm_result_writer *w, alm_batch *batch, alm_buf *out,
                            answer *a)
{
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t row = i;
        out->len = 0;
        ALM_TRY(alm_result_rows(cx, w, batch, &row, i + 1, SIZE_MAX, out));
        const size_t comma = out->len > 0 && out->ptr[0] == ','; /* between rows */
        a->sum += alm_hash_bytes(out->ptr + comma, out->len - comma);
        a->rows++;
    }
    return ALM_OK;
}

static alm_status read_rows(alm_ctx *cx, alm_cursor *c, answer *a)
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
    *a = (answer){0, 0};
    while (a->rows < ROWS_MAX) {
        st = alm_cursor_next(c, &batch);
        if (st != ALM_OK || batch == NULL)
            break;
        ALM_ASSERT(take_rows(cx, w, batch, &out, a) == ALM_OK);
    }
    alm_buf_deinit(&out);
    return st;
}

static bool reads_only(alm_stmt_kind kind)
{
    return alm_stmt_does_any(kind, ALM_S_ROWS);
}

static bool changes_rows(alm_stmt_kind kind)
{
    return alm_stmt_does_any(kind, ALM_S_CHANGES);
}

static alm_status execute(alm_ctx *cx, alm_session *s, alm_prepared *p, size_t len, answer *rows)
{
    alm_cursor *c = NULL;
    alm_status st = alm_execute(s, p, NULL, 0, &c);
    *rows = (answer){0, 0};
    if (st == ALM_OK) {
        if (alm_cursor_has_rows(c))
            st = read_rows(cx, c, rows);
        if (st != ALM_OK)
            check_error(s, len);
        alm_cursor_close(c);
    } else {
        check_error(s, len);
    }
    return st;
}

static bool has_part(alm_str word, const char *part)
{
    const size_t n = strlen(part);
    for (size_t i = 0; i + n <= word.len; i++)
        if (strncasecmp(word.ptr + i, part, n) == 0)
            return true;
    return false;
}

/* Do the rows, and not only their order, hang on the order rows come in, on time, or on chance? */
static bool hangs_on_order(alm_str text)
{
    static const char *const whole[] = {"lt", "top", "sum", "avg", "corr", "mode", "over", "rows"};
    static const char *const parts[] = {
        "limit",    "parameters", "settings", "now",    "first", "last",    "row_number", "rnd",
        "sys",      "today",      "lag",      "lead",   "nth",   "ntile",   "asof",       "fetch",
        "generate", "splice",     "fill",     "offset", "agg",   "explain", "var_",       "window",
        "uuid",     "latest",     "current",  "approx", "std",   "ksum",    "nsum",       "lock",
        "txn",      "pg_",        "twap",     "vwap",   "covar", "regr",    "size",       "memory",
        "activity", "ema",        "arrays"};
    bool distinct = false; /* DISTINCT ON (...) takes one row of several */
    for (int32_t at = 0;;) {
        const alm_token t = alm_lex(text, at, false);
        if (t.kind == ALM_TOK_END)
            return false;
        const alm_str word = {text.ptr + t.pos, (size_t)(t.end - t.pos)};
        for (size_t i = 0; t.kind == ALM_TOK_NAME && i < ALM_COUNT(whole); i++)
            if (alm_str_ieq(word, alm_str_of(whole[i])))
                return true;
        for (size_t i = 0; t.kind == ALM_TOK_NAME && i < ALM_COUNT(parts); i++)
            if (has_part(word, parts[i]))
                return true;
        if (distinct && t.kind == ALM_TOK_NAME && t.kw == ALM_KW_ON)
            return true;
        distinct = t.kind == ALM_TOK_NAME && t.kw == ALM_KW_DISTINCT;
        at = t.end;
    }
}

static bool same(answer a, answer b)
{
    return a.rows == b.rows && a.sum == b.sum;
}

/* The rules change the speed of a query, never its answer. */
static void compare_without_rules(alm_ctx *cx, alm_session *s, alm_prepared *p, alm_str text,
                                  answer with)
{
    static const char without[] =
        "share,simplify,pushdown,outer,recursion,constants,interval,transfer,in_list,symbol,"
        "redundant,"
        "order,joins,limit,topk,prune,tidy,estimate"; /* all but nulls, which makes plans run at all */
    answer other;
    conf.debug_optimiser_off = without;
    const alm_status st = execute(cx, s, p, text.len, &other);
    conf.debug_optimiser_off = "";
    if (st != ALM_OK || same(with, other))
        return;
    for (int tries = 0; tries < 3; tries++) { /* chance may say so, too */
        answer again;
        if (execute(cx, s, p, text.len, &again) != ALM_OK || !same(with, again))
            return;
    }
    (void)fprintf(stderr, "rows: %llu with the rules of the optimiser, %llu without\n",
                  (unsigned long long)with.rows, (unsigned long long)other.rows);
    ALM_UNREACHABLE("rules change the rows");
}

static void try_statement(alm_ctx *cx, alm_session *s, alm_session *writes, alm_str text)
{
    alm_prepared *p = NULL;
    const alm_type *params;
    const alm_plan_col *cols;
    uint32_t n_params = 0, n_cols = 0;
    answer rows;
    if (alm_prepare(s, text, NULL, &p) != ALM_OK) {
        check_error(s, text.len);
        return;
    }
    const alm_stmt_kind kind = alm_prepared_kind(p);
    if (alm_describe(s, p, NULL, 0, &params, &n_params, &cols, &n_cols) != ALM_OK) {
        check_error(s, text.len);
    } else if (reads_only(kind) && n_params == 0) {
        if (execute(cx, s, p, text.len, &rows) == ALM_OK && kind == ALM_STMT_SELECT &&
            rows.rows < ROWS_MAX && !hangs_on_order(text))
            compare_without_rules(cx, s, p, text, rows);
    } else if (changes_rows(kind) && n_params == 0) {
        run(writes, alm_str_of("begin"));
        (void)execute(cx, writes, p, text.len, &rows);
        run(writes, alm_str_of("rollback"));
    }
    alm_prepared_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    alm_session *s = NULL, *writes = NULL;
    ALM_ASSERT(alm_session_new(&cx, db, "admin", "fuzz", &s) == ALM_OK);
    ALM_ASSERT(alm_session_new(&cx, db, "admin", "fuzz", &writes) == ALM_OK);
    alm_session_timeout(s, TIME_LIMIT_MS);
    alm_session_timeout(writes, TIME_LIMIT_MS);
    alm_session_read_only(s, true);
    char *text = malloc(size + 1); /* of its own, so that reading past the end is seen */
    ALM_ASSERT(text != NULL);
    if (size > 0)
        (void)memcpy(text, data, size);
    try_statement(&cx, s, writes, (alm_str){text, size});
    free(text);
    alm_session_free(writes);
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
