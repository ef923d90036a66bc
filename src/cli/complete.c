/*
 * complete.c - words for the Tab key: keywords, and the names of tables, columns and functions as the
 * database has them. Names are asked for at the first Tab after a statement.
 */
#include <ctype.h>
#include <editline/readline.h>
#include <stdlib.h>

#include "cli/interactive.h"
#include "sql/text/lex.h"

static const char names_sql[] = "SELECT table_name FROM tables() UNION "
                                "SELECT column_name FROM information_schema.columns "
                                "WHERE table_schema = 'public' UNION "
                                "SELECT name FROM functions() WHERE name ~ '^[a-z]'";

/* The library calls back without an argument: a process has one prompt. */
static struct {
    alm_client *client;
    alm_buf names; /* each with a 0 behind it */
    bool stale;
    size_t at;     /* of the next candidate in names */
    uint32_t word; /* the next keyword */
} words;

void alm_complete_stale(void)
{
    words.stale = true;
}

static alm_status nothing(alm_ctx *cx, alm_out *out)
{
    (void)cx;
    (void)out;
    return ALM_OK;
}

static alm_status complete_collect(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    (void)out;
    if (cells[0].ptr != NULL && memchr(cells[0].ptr, 0, cells[0].len) == NULL) {
        ALM_TRY(alm_buf_append(cx, &words.names, cells[0].ptr, cells[0].len));
        ALM_TRY(alm_buf_append(cx, &words.names, "", 1));
    }
    return ALM_OK;
}

/* Whatever fails leaves fewer words: nobody asked for a statement. */
static void load_names(void)
{
    static const alm_out_form form = {.name = "words", .begin = nothing, .row = complete_collect};
    alm_ctx cx = {0};
    alm_out out;
    const char *tag = NULL;
    alm_link *link = words.client->link;
    words.names.len = 0;
    words.stale = false;
    alm_out_init(&out, stdout);
    out.form = &form;
    if (link->run(&cx, link, alm_str_of(names_sql), &out, &tag) != ALM_OK)
        words.stale = true;
    alm_out_deinit(&out);
}

/* A keyword is written as the word before it began: SEL gives SELECT, sel select. */
static char *keyword_like(alm_str keyword, const char *typed)
{
    char *copy = strndup(keyword.ptr, keyword.len);
    if (copy != NULL && isupper((unsigned char)typed[0]))
        for (size_t i = 0; copy[i] != 0; i++)
            copy[i] = (char)toupper((unsigned char)copy[i]);
    return copy;
}

static bool complete_begins(alm_str word, const char *typed)
{
    const size_t len = strlen(typed);
    return word.len >= len && alm_str_ieq((alm_str){word.ptr, len}, (alm_str){typed, len});
}

static char *complete_next_word(const char *typed, int state)
{
    if (state == 0)
        words.at = words.word = 0;
    while (words.at < words.names.len) {
        const alm_str name = alm_str_of(words.names.ptr + words.at);
        words.at += name.len + 1;
        if (complete_begins(name, typed) && alm_keyword_find(name) == ALM_KW_PLAIN)
            return strdup(name.ptr);
    }
    while (words.word + 1 < ALM_KW_COUNT) {
        const alm_str keyword = alm_keyword_text((alm_keyword)++words.word);
        if (complete_begins(keyword, typed))
            return keyword_like(keyword, typed);
    }
    return NULL;
}

static char **cli_complete(const char *typed, int from, int to)
{
    (void)from;
    (void)to;
    rl_attempted_completion_over = 1; /* no names of files */
    if (typed[0] == 0)
        return NULL;
    if (words.stale)
        load_names();
    return rl_completion_matches(typed, complete_next_word);
}

void alm_complete_start(alm_client *client)
{
    words.client = client;
    words.stale = true;
    alm_buf_init(&words.names, NULL);
    rl_attempted_completion_function = cli_complete;
}

void alm_complete_end(void)
{
    alm_buf_deinit(&words.names);
}
