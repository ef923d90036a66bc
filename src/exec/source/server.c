/*
 * server.c - what the server can do and how it is set: functions(), function_docs(), keywords(),
 * show_parameters(), show_settings().
 */
#include "base/access.h"
#include "base/conf.h"
#include "exec/source/list.h"

/* ------------------------------------------------------------------------------ functions */

static const alm_plan_col function_cols[] = {
    {"name", ALM_TY(STRING)},
    {"signature", ALM_TY(STRING)},
    {"signature_translated", ALM_TY(STRING)},
    {"runtime_constant", ALM_TY(BOOLEAN)},
    {"type", ALM_TY(STRING)},
};

static const alm_plan_col doc_cols[] = {
    {"name", ALM_TY(STRING)}, {"signature", ALM_TY(STRING)}, {"type", ALM_TY(STRING)},
    {"doc", ALM_TY(STRING)},  {"example", ALM_TY(STRING)},
};

typedef struct function_row {
    const char *name, *signature, *kind, *doc, *example;
    bool stable;
} function_row;

typedef alm_status (*put_function)(alm_ctx *cx, alm_list *l, const function_row *f);

static alm_status put_listed(alm_ctx *cx, alm_list *list, const function_row *f)
{
    const char *text = NULL;
    ALM_TRY(alm_arena_printf(cx, cx->arena, &text, "%s%s", f->name, f->signature));
    ALM_TRY(alm_list_row(cx, list));
    alm_list_text(list, 0, f->name);
    alm_list_text(list, 1, text);
    alm_list_text(list, 2, text);
    alm_list_bool(list, 3, f->stable);
    alm_list_text(list, 4, f->kind);
    return ALM_OK;
}

static alm_status put_described(alm_ctx *cx, alm_list *list, const function_row *f)
{
    const char *text = NULL;
    ALM_TRY(alm_arena_printf(cx, cx->arena, &text, "%s%s", f->name, f->signature));
    ALM_TRY(alm_list_row(cx, list));
    alm_list_text(list, 0, f->name);
    alm_list_text(list, 1, text);
    alm_list_text(list, 2, f->kind);
    alm_list_text(list, 3, f->doc);
    alm_list_text(list, 4, f->example);
    return ALM_OK;
}

/* Operators that are words, and those over networks, stand among the functions of the reference. */
static bool server_is_listed(const alm_fn *fn)
{
    static const char *const operators[] = {"and", "between", "ilike", "in", "like", "not",
                                            "or",  "<<",      "<<=",   ">>", ">>="};
    for (size_t i = 0; i < ALM_COUNT(operators); i++)
        if (strcmp(fn->name, operators[i]) == 0)
            return true;
    return (fn->flags & ALM_FN_INTERNAL) == 0;
}

static alm_status each_function(alm_ctx *cx, const alm_list_args *args, alm_list *list,
                                put_function put)
{
    static const char *const kinds[] = {
        [ALM_FN_SCALAR] = "STANDARD", [ALM_FN_AGGREGATE] = "GROUP_BY", [ALM_FN_WINDOW] = "WINDOW"};
    static const function_row words[] = {{"case", "(BOOLEAN, ANY...) ANY", "STANDARD",
                                          "The value behind the first condition that holds.",
                                          "case when 2 > 1 then 'a' else 'b' end", false},
                                         {"cast", "(ANY) ANY", "STANDARD",
                                          "The value as one of another type.", "cast('12' as int)",
                                          false}};
    const alm_registry *reg = args->run->env.registry;
    for (size_t i = 0; reg != NULL && i < alm_registry_count(reg); i++) {
        const alm_fn *fn = alm_registry_at(reg, i);
        const function_row row = {fn->name, fn->signature, kinds[fn->kind],
                                  fn->doc,  fn->example,   (fn->flags & ALM_FN_STABLE) != 0};
        if (server_is_listed(fn))
            ALM_TRY(put(cx, list, &row));
    }
    for (size_t i = 0; i < ALM_COUNT(words); i++)
        ALM_TRY(put(cx, list, &words[i]));
    for (size_t i = 0;; i++) {
        const alm_source *source = alm_source_at(i);
        if (source == NULL)
            return ALM_OK;
        const bool bare = strncmp(source->name, "pg_catalog.", 11) == 0;
        const function_row row = {source->name + (bare ? 11 : 0),
                                  source->signature,
                                  "CURSOR",
                                  source->doc,
                                  source->example,
                                  false};
        ALM_TRY(put(cx, list, &row));
    }
}

static alm_status fill_functions(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    return each_function(cx, args, list, put_listed);
}

static alm_status fill_docs(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    return each_function(cx, args, list, put_described);
}

ALM_LIST_SOURCE(
    functions, "functions", false, function_cols, fill_functions,
    "All functions and operators that are words, one row for each signature; table functions and "
    "the relations of the catalogues too.",
    "select name from functions()");

ALM_LIST_SOURCE(function_docs, "function_docs", false, doc_cols, fill_docs,
                "The same rows as functions(), each with one line of documentation and an example.",
                "select doc from function_docs() where name = 'regr_slope'");

/* ------------------------------------------------------------- texts only the session knows */

static alm_status server_fill_texts(alm_ctx *cx, const alm_list_args *args, const char *what,
                                    alm_list *list)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    if (args->run->env.texts == NULL)
        return ALM_OK;
    ALM_TRY(args->run->env.texts(cx, what, &cell, &rows));
    for (size_t i = 0; i < rows; i++) {
        ALM_TRY(alm_list_row(cx, list));
        for (uint32_t col = 0; col < list->n_cols; col++)
            alm_list_text(list, col, cell[i * list->n_cols + col]);
    }
    return ALM_OK;
}

static const alm_plan_col keyword_cols[] = {{"keyword", ALM_TY(STRING)}};

static alm_status fill_keywords(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    return server_fill_texts(cx, args, "keywords", list);
}

ALM_LIST_SOURCE(keywords, "keywords", false, keyword_cols, fill_keywords, "The words of SQL.",
                "select keyword from keywords()");

static const alm_plan_col setting_cols[] = {
    {"name", ALM_TY(STRING)}, {"setting", ALM_TY(STRING)}, {"description", ALM_TY(STRING)}};

static alm_status fill_settings(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    return server_fill_texts(cx, args, "settings", list);
}

ALM_LIST_SOURCE(show_settings, "show_settings", false, setting_cols, fill_settings,
                "Settings of the session; SHOW ALL is this.",
                "select name, setting from show_settings()");

/* ------------------------------------------------------------------------ show_parameters */

static const alm_plan_col parameter_cols[] = {
    {"property_path", ALM_TY(STRING)}, {"env_var_name", ALM_TY(STRING)},
    {"value", ALM_TY(STRING)},         {"value_source", ALM_TY(STRING)},
    {"sensitive", ALM_TY(BOOLEAN)},    {"reloadable", ALM_TY(BOOLEAN)},
};

static alm_status put_buf(alm_ctx *cx, alm_buf *buf, alm_list *list, uint32_t col)
{
    alm_str text = {0};
    ALM_TRY(
        alm_arena_copy(cx, cx->arena, (alm_str){buf->len > 0 ? buf->ptr : "", buf->len}, &text));
    alm_list_str(list, col, text);
    buf->len = 0;
    return ALM_OK;
}

/* Setting i, by its own name or by another one. */
static alm_status put_parameter(alm_ctx *cx, alm_buf *buf, alm_list *list, size_t i,
                                const char *key, int64_t factor, bool all)
{
    const alm_conf_row *row = alm_conf_row_at(i);
    const bool hidden = !all && alm_conf_is_private(i);
    ALM_TRY(alm_list_row(cx, list));
    alm_list_text(list, 0, key);
    ALM_TRY(alm_conf_env_name(cx, key, buf));
    ALM_TRY(put_buf(cx, buf, list, 1));
    ALM_TRY(hidden ? alm_buf_text(cx, buf, "****")
                   : alm_conf_value_text(cx, cx->conf, i, factor, buf));
    ALM_TRY(put_buf(cx, buf, list, 2));
    alm_list_text(list, 3, hidden ? NULL : alm_conf_source_name(cx->conf, i));
    alm_list_bool(list, 4, row->sensitive);
    alm_list_bool(list, 5, row->reloadable);
    return ALM_OK;
}

static alm_status fill_parameters(alm_ctx *cx, const alm_list_args *args, alm_list *list)
{
    (void)args;
    alm_buf buf;
    alm_status status = ALM_OK;
    alm_buf_init(&buf, cx->mem);
    size_t n = 0;
    const bool all = alm_access_has(cx, "SYSTEM ADMIN");
    const alm_conf_alias *alias = alm_conf_aliases(&n);
    for (size_t i = 0; cx->conf != NULL && i < ALM_CONF_COUNT && status == ALM_OK; i++)
        status = put_parameter(cx, &buf, list, i, alm_conf_row_at(i)->key, 1, all);
    for (size_t i = 0; cx->conf != NULL && i < n && status == ALM_OK; i++)
        status = put_parameter(cx, &buf, list, alias[i].id, alias[i].name, alias[i].factor, all);
    alm_buf_deinit(&buf);
    return status;
}

ALM_LIST_SOURCE(show_parameters, "show_parameters", false, parameter_cols, fill_parameters,
                "Settings of the server, with where each value comes from, by all their names; "
                "SHOW PARAMETERS is this. Paths, and what is of the identity provider, are for "
                "those with SYSTEM ADMIN.",
                "select property_path, value from show_parameters()");
