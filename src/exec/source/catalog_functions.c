/*
 * catalog_functions.c - the functions of the registry as pg_proc, information_schema.routines and
 * parameters have them: one row for each name and list of argument types, in PostgreSQL's types.
 *
 * Numbers     An object number is ALM_OID_FUNCTIONS and the place in the registry. It may be another one
 *             in the next version of the server.
 * Types       STRING, VARCHAR and SYMBOL are one type for clients, so that rows which differ in these
 *             alone are one. Families take their widest type; what takes or gives any type is "any".
 */
#include "exec/source/catalog.h"
#include "func/value/signature.h"

typedef struct routine {
    const alm_fn *fn;
    int32_t oid, result;
    int32_t args[ALM_SIG_PARAMS];
    uint32_t n_args;
    bool rest; /* the last argument may repeat */
} routine;

static int32_t oid_of(const alm_sig_param *param)
{
    switch (param->family) {
    case ALM_FAM_TYPE:
        return param->type.id == ALM_T_NULL ? ALM_PG_OID_TEXT : alm_pg_plain_type(param->type);
    case ALM_FAM_NUMERIC:
        return ALM_PG_OID_FLOAT8;
    case ALM_FAM_INTEGRAL:
        return ALM_PG_OID_INT8;
    case ALM_FAM_TEXT:
        return ALM_PG_OID_TEXT;
    case ALM_FAM_TIME:
        return ALM_PG_OID_TIMESTAMP;
    case ALM_FAM_ANY:
    case ALM_FAM_SAME:
    case ALM_FAM_BOUND:
        return ALM_PG_OID_ANY;
    }
    return ALM_PG_OID_ANY;
}

static bool same_arguments(const routine *a, const routine *b)
{
    return a->n_args == b->n_args && a->rest == b->rest && a->fn->kind == b->fn->kind &&
           memcmp(a->args, b->args, a->n_args * sizeof *a->args) == 0;
}

static bool read_routine(const alm_registry *reg, size_t i, routine *out)
{
    alm_signature sig;
    const alm_fn *fn = alm_registry_at(reg, i);
    if ((fn->flags & ALM_FN_INTERNAL) != 0 || i > ALM_OID_FUNCTIONS_MAX - ALM_OID_FUNCTIONS ||
        !alm_signature_parse(fn->signature, &sig))
        return false;
    *out = (routine){.fn = fn,
                     .oid = ALM_OID_FUNCTIONS + (int32_t)i,
                     .result = oid_of(&sig.result),
                     .n_args = sig.n_params};
    for (uint32_t param = 0; param < sig.n_params; param++) {
        out->args[param] = oid_of(&sig.params[param]);
        out->rest |= sig.params[param].is_rest;
    }
    if (sig.result.family == ALM_FAM_SAME && sig.n_params > 0)
        out->result = out->args[0];
    return true;
}

/* The routine at place i of the registry; false: none, or one with the same name and types is before
 * it. Rows are in order of name. */
static bool routine_at(const alm_registry *reg, size_t i, routine *out)
{
    routine other;
    if (!read_routine(reg, i, out))
        return false;
    for (size_t k = i; k-- > 0 && strcmp(alm_registry_at(reg, k)->name, out->fn->name) == 0;)
        if (read_routine(reg, k, &other) && same_arguments(&other, out))
            return false;
    return true;
}

/* Object numbers with a blank between them, as an oidvector is written. */
static alm_status vector_text(alm_ctx *cx, const routine *self, const char **out)
{
    *out = "";
    for (uint32_t arg = 0; arg < self->n_args; arg++)
        ALM_TRY(alm_arena_printf(cx, cx->arena, out, "%s%s%d", *out, arg > 0 ? " " : "",
                                 self->args[arg]));
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- pg_proc */

static alm_status catalog_functions_procedure_row(alm_ctx *cx, alm_cat *cat, const routine *self)
{
    const uint32_t flags = self->fn->flags;
    const char *args = NULL;
    ALM_TRY(vector_text(cx, self, &args));
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_int(cat, self->oid);
    alm_cat_text(cat, self->fn->name);
    alm_cat_int(cat, (int64_t)self->n_args);
    alm_cat_int(cat, self->result);
    alm_cat_text(cat, self->fn->name);
    alm_cat_text(cat, args);
    alm_cat_int(cat, self->fn->kind == ALM_FN_AGGREGATE ? ALM_PROKIND_AGGREGATE
                     : self->fn->kind == ALM_FN_WINDOW  ? ALM_PROKIND_WINDOW
                                                        : ALM_PROKIND_FUNCTION);
    alm_cat_int(cat, (flags & ALM_FN_VOLATILE) != 0 ? ALM_PROVOLATILE_VOLATILE
                     : (flags & ALM_FN_STABLE) != 0 ? ALM_PROVOLATILE_STABLE
                                                    : ALM_PROVOLATILE_IMMUTABLE);
    alm_cat_bool(cat, (flags & ALM_FN_NULL_OUT) != 0);
    alm_cat_int(cat, self->rest ? self->args[self->n_args - 1] : 0);
    return ALM_OK;
}

alm_status alm_cat_functions(alm_ctx *cx, alm_cat *cat)
{
    const alm_registry *reg = cat->run->env.registry;
    routine self;
    alm_cat_order(cat, "oid proname pronargs prorettype prosrc proargtypes prokind provolatile "
                       "proisstrict provariadic");
    for (size_t i = 0; reg != NULL && i < alm_registry_count(reg); i++)
        if (routine_at(reg, i, &self))
            ALM_TRY(catalog_functions_procedure_row(cx, cat, &self));
    return ALM_OK;
}

/* ------------------------------------------------------------------------ information_schema */

static alm_status specific_name(alm_ctx *cx, const routine *self, const char **out)
{
    return alm_arena_printf(cx, cx->arena, out, "%s_%d", self->fn->name, self->oid);
}

ALM_CAT_FILL(is_routines)
{
    const alm_registry *reg = cat->run->env.registry;
    routine r;
    alm_cat_order(cat, "specific_name routine_name data_type type_udt_name is_deterministic");
    for (size_t i = 0; reg != NULL && i < alm_registry_count(reg); i++) {
        const char *name = NULL;
        if (!routine_at(reg, i, &r))
            continue;
        const alm_pg_type_row *type = alm_pg_type_find(r.result);
        ALM_TRY(specific_name(cx, &r, &name));
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, name);
        alm_cat_text(cat, r.fn->name);
        alm_cat_text(cat, alm_cat_type_words(r.result));
        alm_cat_text(cat, type != NULL ? type->name : NULL);
        alm_cat_bool(cat, (r.fn->flags & (ALM_FN_VOLATILE | ALM_FN_STABLE)) == 0);
    }
    return ALM_OK;
}

ALM_CAT_FILL(is_parameters)
{
    const alm_registry *reg = cat->run->env.registry;
    routine r;
    alm_cat_order(cat, "specific_name ordinal_position data_type udt_name");
    for (size_t i = 0; reg != NULL && i < alm_registry_count(reg); i++) {
        const char *name = NULL;
        if (!routine_at(reg, i, &r))
            continue;
        ALM_TRY(specific_name(cx, &r, &name));
        for (uint32_t a = 0; a < r.n_args; a++) {
            const alm_pg_type_row *type = alm_pg_type_find(r.args[a]);
            ALM_TRY(alm_cat_row(cx, cat));
            alm_cat_text(cat, name);
            alm_cat_int(cat, a + 1);
            alm_cat_text(cat, alm_cat_type_words(r.args[a]));
            alm_cat_text(cat, type != NULL ? type->name : NULL);
        }
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------- texts */

static const char *type_words(int32_t oid)
{
    const char *words = oid == ALM_PG_OID_ANY ? "\"any\"" : alm_cat_display_type(oid);
    return words != NULL ? words : alm_cat_type_words(oid);
}

alm_status alm_catalog_function(alm_ctx *cx, alm_arena *arena, const alm_registry *reg, int32_t oid,
                                alm_relation_text what, const char **out)
{
    routine self;
    *out = NULL;
    if (oid < ALM_OID_FUNCTIONS || (size_t)(oid - ALM_OID_FUNCTIONS) >= alm_registry_count(reg) ||
        !read_routine(reg, (size_t)(oid - ALM_OID_FUNCTIONS), &self))
        return ALM_OK;
    if (what == ALM_FUNCTION_NAME)
        return alm_arena_zstr(cx, arena, alm_str_of(self.fn->name), out);
    if (what == ALM_FUNCTION_RESULT)
        return alm_arena_zstr(cx, arena, alm_str_of(type_words(self.result)), out);
    if (what == ALM_FUNCTION_SIGNATURE)
        ALM_TRY(alm_arena_printf(cx, arena, out, "%s(", self.fn->name));
    else
        *out = "";
    for (uint32_t arg = 0; arg < self.n_args; arg++)
        ALM_TRY(alm_arena_printf(
            cx, arena, out, "%s%s%s%s", *out,
            arg == 0                         ? ""
            : what == ALM_FUNCTION_SIGNATURE ? ","
                                             : ", ",
            self.rest && arg + 1 == self.n_args && what != ALM_FUNCTION_SIGNATURE ? "VARIADIC "
                                                                                  : "",
            type_words(self.args[arg])));
    return what == ALM_FUNCTION_SIGNATURE ? alm_arena_printf(cx, arena, out, "%s)", *out) : ALM_OK;
}

/* ----------------------------------------------------------------------------------- by name */

static alm_str catalog_functions_trimmed(alm_str text)
{
    while (text.len > 0 && text.ptr[0] == ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

static bool is_type(alm_str word, int32_t oid)
{
    const alm_pg_type_row *type = alm_pg_type_find(oid);
    alm_type ours = ALM_TY(NONE);
    const alm_str any = ALM_STR("any");
    if (oid == ALM_PG_OID_ANY)
        return alm_str_ieq(word, any) || alm_str_ieq(word, ALM_STR("\"any\""));
    if (alm_str_ieq(word, alm_str_of(type_words(oid))) ||
        (type != NULL && alm_str_ieq(word, alm_str_of(type->name))))
        return true;
    return alm_type_parse(word, &ours) && alm_pg_plain_type(ours) == oid;
}

/* "integer, text" are the types of the routine; text without commas inside of a type */
static bool has_types(const routine *self, alm_str types)
{
    uint32_t a = 0;
    types = catalog_functions_trimmed(types);
    if (types.len == 0)
        return self->n_args == 0;
    for (size_t from = 0, i = 0; i <= types.len; i++) {
        if (i < types.len && types.ptr[i] != ',')
            continue;
        if (a == self->n_args ||
            !is_type(catalog_functions_trimmed((alm_str){types.ptr + from, i - from}),
                     self->args[a]))
            return false;
        a++;
        from = i + 1;
    }
    return a == self->n_args;
}

int32_t alm_catalog_function_oid(const alm_registry *reg, alm_str name, bool *several)
{
    const char *bracket = memchr(name.ptr, '(', name.len);
    alm_str types = {0};
    int32_t oid = 0;
    routine self;
    *several = false;
    if (bracket != NULL) {
        if (name.ptr[name.len - 1] != ')')
            return 0;
        types = (alm_str){bracket + 1, (size_t)(name.ptr + name.len - 1 - (bracket + 1))};
        name.len = (size_t)(bracket - name.ptr);
    }
    name = catalog_functions_trimmed(name);
    for (size_t i = 0; i < alm_registry_count(reg); i++) {
        if (!alm_str_ieq(name, alm_str_of(alm_registry_at(reg, i)->name)) ||
            !routine_at(reg, i, &self) || (bracket != NULL && !has_types(&self, types)))
            continue;
        *several = oid != 0;
        if (*several)
            return 0;
        oid = self.oid;
    }
    return oid;
}
