/*
 * cases_test.c - the parser against recorded statements of the dialect.
 *
 * Goal     Every statement that was accepted parses; every statement that was refused for its
 *          syntax is refused, with the same message and position where `pinned` says so; every
 *          unnamed column of a plain SELECT gets the recorded name.
 * Method   THEME/NAME.test files from the directory ALM_SQL_CASES, or test/sql of this source tree
 *          (the format: test/sql/README.md); without either the test is skipped, and says so.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <cmocka.h>
#include <jansson.h>

#include "sql/parse/parse.h"

typedef struct cases {
    alm_arena arena;
    alm_ctx cx;
    char dir[1024];
    int statements, accepted, refused, same, pinned;
    int names, names_bad, bad;
} cases;

static bool find_dir(char *out, size_t n)
{
    const char *env = getenv("ALM_SQL_CASES");
    if (env != NULL) {
        (void)snprintf(out, n, "%s", env);
    } else {
        const char *file = __FILE__, *src = strstr(file, "src/sql/");
        (void)snprintf(out, n, "%.*stest/sql", src == NULL ? 0 : (int)(src - file), file);
    }
    char probe[1100];
    (void)snprintf(probe, sizeof probe, "%s/select/expression_names.test", out);
    FILE *f = fopen(probe, "r");
    if (f == NULL)
        return false;
    (void)fclose(f);
    return true;
}

static alm_status parse(cases *c, const char *sql, alm_stmt **out)
{
    size_t offset = 0;
    alm_arena_reset(&c->arena);
    alm_error_clear(&c->cx);
    const alm_str text = alm_str_of(sql);
    ALM_TRY(alm_sql_parse(&c->cx, text, &offset, out));
    alm_stmt *more = NULL;
    ALM_TRY(alm_sql_parse(&c->cx, text, &offset, &more));
    return more->kind == ALM_STMT_EMPTY
               ? ALM_OK
               : alm_fail(&c->cx, ALM_E_SYNTAX, more->pos, "two statements");
}

/* Bytes to characters, as recorded positions count. */
static int characters(const char *sql, int32_t pos)
{
    int n = 0;
    for (int32_t i = 0; i < pos && sql[i] != 0; i++)
        n += ((unsigned char)sql[i] & 0xc0) != 0x80;
    return n;
}

/* Messages that are the parser's to give, by their beginning. */
static const char *const pinned[] = {
    "found [tok=",
    "'(' or 'as' expected",
    "'NONE', 'HOUR', 'DAY'",
    "'HOUR', 'DAY', 'WEEK'",
    "invalid unit, expected 'HOUR(S)'",
    "deduplication is possible only on WAL tables",
    "path for volume expected",
    "'/' is not allowed",
    "Could not create table, invalid table name",
    "indexes are supported only for SYMBOL columns",
    "too few arguments for",
    "time interval unit expected",
    "Invalid unit:",
    "positive number expected:",
    "'by' expected",
    "SELECT query must not contain both GROUP BY and SAMPLE BY",
    "'to' expected",
    "'calendar' or 'first observation' expected",
    "'observation' expected",
    "Expression expected",
    "'(' expected",
    "'none', 'prev', 'mid', 'null' or number expected",
    "'timestamp' expression expected",
    "column expression expected",
    "wildcard cannot have alias",
    "table and column names that are SQL keywords",
    "missing expression",
    "unclosed quoted string?",
    "empty where clause",
    "unbalanced",
    "')' expected",
    "duplicate name",
    "'as' expected",
    "'as' missing",
    "'when' expected",
    "missing arguments",
    "tried to use undeclared variable",
    "function, literal or constant is expected",
    "Invalid column: @",
    "'select', 'with', or table name expected",
    "'on' expected",
    "'join' expected",
    "Cross joins cannot have join clauses",
    "ASOF JOIN TOLERANCE",
    "unsupported TOLERANCE unit",
    "TOLERANCE is only supported",
    "'partition' expected",
    "literal expected",
    "'on' or 'by' expected",
    "unexpected where clause after 'latest on'",
    "min symbol capacity is 2",
    "'preceding' expected",
    "'and' expected",
    "non-negative integer expression expected",
    "'preceding' or 'following' expected",
    "'current', 'group', 'ties'",
    "start row is",
    "RANGE with offset PRECEDING/FOLLOWING requires",
    "'range' expected",
    "'row' expected",
    "'into' expected",
    "'(' or 'select' expected",
    "',' expected",
    "TABLE expected",
    "column name expected",
    "AS, SET or table alias expected",
    "Duplicate column [name=d] in SET clause",
    "'=' expected",
    "FROM, WHERE or EOF expected",
    "SET expected",
    "all or select expected",
    "expected FOR",
    "missing constant",
    "missing aggregate function expression",
    "'(' or 'with' or 'select' expected",
    "'full' or 'incremental' or 'range' expected",
    "'column' or column name expected",
    "'add', 'alter', 'attach'",
    "'table' or 'materialized' or 'view' expected",
    "'column' or 'partition' expected",
    "column type expected",
    "'list' or 'where' expected",
    "partition name expected",
    "ALIGN TO FIRST OBSERVATION is incompatible",
    "unexpected token [",
};

/* Recorded errors that are not followed, each with the reason. */
static const struct {
    const char *sql, *why;
} excused[] = {
    {"create table tgbbad (g geohash)", "the binder knows what a type needs"},
    {"alter table oa1 dedup enable upsert keys(b)", "the parser does not know the table"},
    {"SHWO tables", "the binder knows that there is no table SHWO"},
    {"create table \"cte/1\" (a int)", "the recorded position forgets the quote"},
};

static bool is_pinned(const char *message)
{
    for (size_t i = 0; i < ALM_COUNT(pinned); i++)
        if (strncmp(message, pinned[i], strlen(pinned[i])) == 0)
            return true;
    return false;
}

static bool is_excused(const char *sql)
{
    for (size_t i = 0; i < ALM_COUNT(excused); i++)
        if (strcmp(sql, excused[i].sql) == 0)
            return true;
    return false;
}

static void check_error(cases *c, const char *file, const char *sql, json_t *record)
{
    const char *want = json_string_value(json_object_get(record, "error"));
    json_t *position = json_object_get(record, "position");
    alm_stmt *s = NULL;
    const alm_status st = parse(c, sql, &s);
    const int at = st == ALM_OK ? -2 : characters(sql, c->cx.err.sql_pos);
    const bool same = st != ALM_OK && strcmp(c->cx.err.msg, want) == 0 &&
                      (position == NULL || json_integer_value(position) == at);
    c->refused++;
    c->same += same;
    if (!is_pinned(want) || is_excused(sql)) {
        if (st != ALM_OK && !same && getenv("ALM_VERBOSE") != NULL)
            print_message("note %s: %s\n   want [%lld] %s\n   got  [%d] %s\n", file, sql,
                          (long long)json_integer_value(position), want, at, c->cx.err.msg);
        return;
    }
    c->pinned++;
    if (same)
        return;
    c->bad++;
    print_message("%s: %s\n   want [%lld] %s\n   got  [%d] %s\n", file, sql,
                  (long long)json_integer_value(position), want, at,
                  st == ALM_OK ? "(parsed)" : c->cx.err.msg);
}

/* A plain select: names of columns and expressions follow from its items alone. */
static bool is_plain(const alm_stmt *s)
{
    if (s->kind != ALM_STMT_SELECT)
        return false;
    const alm_select *sel = s->select;
    while (sel->op != ALM_SET_NONE)
        sel = sel->left;
    if (sel->implicit_star || sel->ext != NULL)
        return false;
    for (uint32_t i = 0; i < sel->n_items; i++)
        if (sel->items[i].expr->kind == ALM_AST_STAR)
            return false;
    return true;
}

static bool name_taken(json_t *columns, size_t own, const char *name)
{
    /* the binder gives explicit aliases first, then names from left to right */
    for (size_t k = 0; k < own; k++)
        if (strcasecmp(json_string_value(json_array_get(json_array_get(columns, k), 0)), name) == 0)
            return true;
    return false;
}

static void check_names(cases *c, const char *file, const char *sql, const alm_stmt *s,
                        json_t *columns)
{
    if (!is_plain(s))
        return;
    const alm_select *sel = s->select;
    while (sel->op != ALM_SET_NONE)
        sel = sel->left;
    assert_int_equal(sel->n_items, json_array_size(columns));
    for (uint32_t i = 0; i < sel->n_items; i++) {
        const char *want = json_string_value(json_array_get(json_array_get(columns, i), 0));
        const char *got = NULL;
        if (sel->items[i].alias.len > 0)
            continue;
        uint32_t n = 1;
        for (;; n++) {
            assert_int_equal(alm_ast_name_nth(&c->cx, sel->items[i].expr, n, &got), ALM_OK);
            bool alias = false;
            for (uint32_t k = 0; k < sel->n_items; k++)
                alias |= sel->items[k].alias.len > 0 &&
                         alm_str_ieq(sel->items[k].alias, alm_str_of(got));
            if (!alias && !name_taken(columns, i, got))
                break;
        }
        c->names++;
        if (strcmp(got, want) == 0)
            continue;
        c->names_bad++;
        print_message("%s: %s\n   column %u: want %s\n              got  %s\n", file, sql, i, want,
                      got);
    }
}

/* A JSON string, whose end is stored in *end; NULL: the text is not quoted. */
static json_t *quoted_text(const char *text, const char **end)
{
    json_error_t err;
    json_t *out = NULL;
    if (text[0] != '"')
        return NULL;
    out = json_loads(text, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &err);
    assert_non_null(out);
    *end = text + err.position;
    return out;
}

/* 'error 403 at 7: message', without the word error. */
static void read_error(json_t *record, const char *text)
{
    int n = 0;
    const char *end = NULL;
    long long status = 0, position = 0;
    if (sscanf(text, " %3lld%n", &status, &n) == 1 && n > 0)
        text += n;
    if (sscanf(text, " at %lld%n", &position, &n) == 1) {
        json_object_set_new(record, "position", json_integer(position));
        text += n;
    }
    assert_memory_equal(text, ": ", 2);
    json_t *message = quoted_text(text + 2, &end);
    json_object_set_new(record, "error", message != NULL ? message : json_string(text + 2));
}

/* 'name TYPE | name TYPE' */
static void read_columns(json_t *record, const char *text)
{
    json_t *columns = json_array();
    while (text != NULL) {
        const char *after = text;
        json_t *name = quoted_text(text, &after);
        const char *bar = strstr(after, " | "), *end = bar != NULL ? bar : after + strlen(after);
        const char *type = memrchr(after, ' ', (size_t)(end - after));
        assert_non_null(type);
        if (name == NULL)
            name = json_stringn(text, (size_t)(type - text));
        json_t *column = json_array();
        json_array_append_new(column, name);
        json_array_append_new(columns, column);
        text = bar != NULL ? bar + 3 : NULL;
    }
    json_object_set_new(record, "columns", columns);
}

static void check_case(cases *c, const char *file, const char *sql, const char *answer)
{
    json_t *record = json_object();
    if (answer != NULL && strncmp(answer, "error", 5) == 0 && strstr(answer, ": ") != NULL)
        read_error(record, answer + 5);
    else if (answer != NULL && strncmp(answer, "updated ", 8) != 0)
        read_columns(record, answer);
    c->statements++;
    if (json_object_get(record, "error") != NULL) {
        check_error(c, file, sql, record);
    } else {
        alm_stmt *s = NULL;
        c->accepted++;
        if (parse(c, sql, &s) != ALM_OK) {
            c->bad++;
            print_message("%s: %s\n   refused at %d: %s\n", file, sql, c->cx.err.sql_pos,
                          c->cx.err.msg);
        } else if (json_object_get(record, "columns") != NULL) {
            check_names(c, file, sql, s, json_object_get(record, "columns"));
        }
    }
    json_decref(record);
}

/* The line at `at` without its end, which becomes a zero; the next line. */
static char *cut_line(char *at)
{
    char *end = strchr(at, '\n');
    if (end == NULL)
        return at + strlen(at);
    *end = 0;
    return end + 1;
}

/* The text from a statement on: it ends in ';' at the end of a line, its answer at a blank line. */
static char *check_statement(cases *c, const char *file, char *sql)
{
    char *end = strstr(sql, ";\n");
    assert_non_null(end);
    *end = 0;
    char *at = end + 2, *answer = NULL;
    if (strncmp(at, "---- ", 5) == 0) {
        answer = at + 5;
        at = cut_line(at);
        while (*at != 0 && *at != '\n')
            at = cut_line(at);
    }
    check_case(c, file, sql, answer);
    return at;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t cap = 0;
    assert_non_null(f);
    assert_true(getdelim(&text, &cap, 0, f) > 0);
    (void)fclose(f);
    return text;
}

static void check_file(cases *c, const char *path)
{
    char *text = read_file(path);
    for (char *at = text; *at != 0;)
        at = *at == '\n'                 ? at + 1
             : strncmp(at, "--", 2) == 0 ? cut_line(at)
                                         : check_statement(c, path, at);
    free(text);
}

/* The case files of a folder, and of the folders in it; how many. */
static int check_folder(cases *c, const char *folder)
{
    int files = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e = NULL; (e = readdir(dir)) != NULL;) {
        char path[2200];
        const size_t n = strlen(e->d_name);
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_type == DT_DIR && e->d_name[0] != '.') {
            files += check_folder(c, path);
        } else if (n > 5 && strcmp(e->d_name + n - 5, ".test") == 0) {
            check_file(c, path);
            files++;
        }
    }
    (void)closedir(dir);
    return files;
}

static int setup(void **state)
{
    cases *c = calloc(1, sizeof *c);
    *state = c;
    alm_arena_init(&c->arena, NULL);
    c->cx.arena = &c->arena;
    return 0;
}

static int teardown(void **state)
{
    cases *c = *state;
    alm_arena_deinit(&c->arena);
    free(c);
    return 0;
}

static void recorded_statements_parse_and_name(void **state)
{
    cases *c = *state;
    if (!find_dir(c->dir, sizeof c->dir)) {
        print_message("no cases in '%s': set ALM_SQL_CASES\n", c->dir);
        skip();
    }
    const int files = check_folder(c, c->dir);
    print_message(
        "%d files, %d statements: %d accepted, %d refused (%d with the recorded message and "
        "position, %d pinned), %d names\n",
        files, c->statements, c->accepted, c->refused, c->same, c->pinned, c->names);
    assert_int_equal(c->bad, 0);
    assert_int_equal(c->names_bad, 0);
    assert_true(c->names > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(recorded_statements_parse_and_name, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
