/*
 * regproc.c - functions by name and by number: regproc and regprocedure. Those that read and write values, which
 * pg_type points at, have PostgreSQL's numbers and are not in the registry; the others are rows of pg_proc.
 */
#include <stdio.h>
#include <string.h>

#include "base/lookup.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

/* argument: of the function that writes it out */
static const struct pg_proc {
    const char *prefix, *display;
    int32_t oid[4];
} procs[] = {
#define ALM_PG_TYPE(id_, oid_, array_, name_, display_, length_, by_value_, kind_, category_,      \
                    preferred_, align_, storage_, collation_, prefix_, in_, out_, recv_, send_)    \
    {prefix_, display_, {in_, out_, recv_, send_}},
#include "type/pg_type.def"
#undef ALM_PG_TYPE
    {"array_", "anyarray", {750, 751, 2400, 2401}},
};
static const char *const ways[] = {"in", "out", "recv", "send"};

static alm_str regproc_text_at(const alm_vec *vec, size_t i)
{
    const alm_view *view = (const alm_view *)vec->data + (vec->is_const ? 0 : i);
    return alm_view_is_null(view) ? (alm_str){0} : alm_view_str(view, vec->heap);
}

static int32_t regproc_digits(alm_str text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || n > INT32_MAX)
            return 0;
        n = n * 10 + (text.ptr[i] - '0');
    }
    return n <= INT32_MAX ? (int32_t)n : 0;
}

/* "array_in", or with its types: "array_in(cstring,oid,integer)", which are not looked at. */
static int32_t reader_or_writer(alm_str name)
{
    const char *bracket = memchr(name.ptr, '(', name.len);
    if (bracket != NULL)
        name.len = (size_t)(bracket - name.ptr);
    for (size_t i = 0; i < ALM_COUNT(procs); i++)
        for (size_t w = 0; w < ALM_COUNT(ways); w++) {
            const size_t len = strlen(procs[i].prefix);
            if (name.len == len + strlen(ways[w]) && memcmp(name.ptr, procs[i].prefix, len) == 0 &&
                memcmp(name.ptr + len, ways[w], name.len - len) == 0)
                return procs[i].oid[w];
        }
    return 0;
}

static alm_status regproc_find(alm_call *call, alm_str name, int32_t *oid, bool *several)
{
    const alm_lookup *lookup = call->cx->lookup;
    *several = false;
    *oid = regproc_digits(name);
    if (name.len > 11 && strncmp(name.ptr, "pg_catalog.", 11) == 0)
        name = (alm_str){name.ptr + 11, name.len - 11};
    if (*oid == 0)
        *oid = reader_or_writer(name);
    return *oid != 0 || lookup == NULL
               ? ALM_OK
               : lookup->function(call->cx, lookup->arg, name, oid, several);
}

/* "regprocin": an unknown name is an error, that of a row null; "to_regproc": null. */
static alm_status numbers(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    int32_t *results = out->data;
    const bool reads = call->fn->name[0] == 'r', must = reads && args[0].is_const;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str name = regproc_text_at(&args[0], i);
        bool several = false;
        results[i] = ALM_INT_NULL;
        if (name.ptr == NULL)
            continue;
        ALM_TRY(regproc_find(call, name, &results[i], &several));
        if (must && several)
            return alm_fail(call->cx, ALM_E_FUNCTION_AMBIGUOUS, call->pos,
                            "more than one function named \"%.*s\"", (int)name.len, name.ptr);
        const bool none = name.len == 1 && (name.ptr[0] == '-' || name.ptr[0] == '0');
        if (results[i] == 0 && must && !none)
            return alm_fail(call->cx, ALM_E_FUNCTION, call->pos, "function \"%.*s\" does not exist",
                            (int)name.len, name.ptr);
        if (several || (results[i] == 0 && !(reads && none)))
            results[i] = ALM_INT_NULL;
    }
    return ALM_OK;
}

/* What reads a type takes its text, and of some types the number and the modifier, too. */
static size_t reader_or_writer_text(int32_t oid, bool types, char out[160])
{
    static const char with_modifier[] =
        " array_ bpchar varchar timestamp_ timestamptz_ numeric_ time_ ";
    for (size_t i = 0; i < ALM_COUNT(procs); i++)
        for (size_t w = 0; w < ALM_COUNT(ways); w++) {
            char key[40];
            if (procs[i].oid[w] != oid)
                continue;
            (void)snprintf(key, sizeof key, " %s ", procs[i].prefix);
            const char *more =
                w % 2 == 0 && strstr(with_modifier, key) != NULL ? ",oid,integer" : "";
            const char *first = w == 0 ? "cstring" : w == 2 ? "internal" : procs[i].display;
            const int len =
                types ? snprintf(out, 160, "%s%s(%s%s)", procs[i].prefix, ways[w], first, more)
                      : snprintf(out, 160, "%s%s", procs[i].prefix, ways[w]);
            return (size_t)len;
        }
    return 0;
}

static alm_status regproc_names(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    const bool types = strcmp(call->fn->name, "regprocedureout") == 0;
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t r = 0; r < n_rows; r++) {
        const int32_t oid = ALM_AT(int32_t, args[0], r);
        const char *name = NULL;
        char *ptr = NULL;
        if (oid > 0 && lookup != NULL)
            ALM_TRY(lookup->relation_text(call->cx, lookup->arg, call->arena, oid,
                                          types ? ALM_FUNCTION_SIGNATURE : ALM_FUNCTION_NAME,
                                          &name));
        views[r] = oid == 0       ? alm_view_of(ALM_STR("-"))
                   : name != NULL ? alm_view_of(alm_str_of(name))
                                  : alm_view_null();
        if (oid <= 0 || name != NULL)
            continue;
        ALM_TRY(alm_text_room(&writer, 160, &ptr));
        const size_t len = reader_or_writer_text(oid, types, ptr);
        views[r] = alm_text_take(&writer, len > 0 ? len : (size_t)snprintf(ptr, 160, "%d", oid));
    }
    return ALM_OK;
}

#define REG(f, what, name_, number_)                                                               \
    {.name = "to_" f,                                                                              \
     .signature = "(TEXT) INT",                                                                    \
     .flags = ALM_FN_STABLE,                                                                       \
     .kernel = numbers,                                                                            \
     .doc = "Object number of a function by " what ", null: none, or several.",                    \
     .example = "to_" f name_,                                                                     \
     .since = "0.1"},                                                                              \
        {.name = f "in",                                                                           \
         .signature = "(TEXT) INT",                                                                \
         .flags = ALM_FN_STABLE,                                                                   \
         .kernel = numbers,                                                                        \
         .doc = "Object number of a function by " what ".",                                        \
         .example = f "in" name_,                                                                  \
         .since = "0.1"},                                                                          \
        {.name = f "out",                                                                          \
         .signature = "(INT) STRING",                                                              \
         .flags = ALM_FN_STABLE,                                                                   \
         .kernel = regproc_names,                                                                  \
         .doc = "The function of an object number, by " what ".",                                  \
         .example = f "out" number_,                                                               \
         .since = "0.1"}

static const alm_fn ROWS[] = {
    REG("regproc", "name", "('array_in')", "(750)"),
    REG("regprocedure", "name and types", "('array_out(anyarray)')", "(751)"),
};
ALM_FN_TABLE(regproc, ROWS);
