/*
 * bind_object.c - casts to the types by which PostgreSQL names objects: 'trades'::regclass,
 * x::regtype, oid, name, "char".
 *
 * Such a type is INT here: a text is looked up when it is cast to one (an unknown name is an error),
 * a number is shown by its name when it is cast to one or on to text. oid and its like are plain INT,
 * name is text, "char" is CHAR.
 * Types of ours written pg_catalog.int4 are cast to here as well.
 */
#include "sql/bind.h"

typedef struct object_type {
    const char *name;
    const char *in, *out; /* functions: name to number, number to name; NULL: a plain type */
    alm_type plain;
} object_type;

static const object_type object_types[] = {
    {"regclass", "regclassin", "regclassout", {0}},
    {"regtype", "regtypein", "regtypeout", {0}},
    {"regnamespace", "regnamespacein", "regnamespaceout", {0}},
    {"regrole", "regrolein", "regroleout", {0}},
    {"regproc", "regprocin", "regprocout", {0}},
    {"regprocedure", "regprocin", "regprocout", {0}},
    {"oid", NULL, NULL, {.id = ALM_T_INT}},
    {"xid", NULL, NULL, {.id = ALM_T_LONG}},
    {"cid", NULL, NULL, {.id = ALM_T_INT}},
    {"name", NULL, NULL, {.id = ALM_T_STRING}},
    {"\"char\"", NULL, NULL, {.id = ALM_T_CHAR}},
    {"cstring", NULL, NULL, {.id = ALM_T_STRING}},
    {"pg_node_tree", NULL, NULL, {.id = ALM_T_STRING}},
    {"text[]", NULL, NULL, {.id = ALM_T_STRING}}, /* lists of names are texts: {a,b} */
    {"name[]", NULL, NULL, {.id = ALM_T_STRING}},
    {"varchar[]", NULL, NULL, {.id = ALM_T_STRING}},
};

static alm_str without_schema(alm_str name)
{
    const alm_str schema = ALM_STR("pg_catalog.");
    if (name.len > schema.len && alm_str_ieq((alm_str){name.ptr, schema.len}, schema))
        return (alm_str){name.ptr + schema.len, name.len - schema.len};
    return name;
}

static const object_type *object_type_of(alm_str name)
{
    name = without_schema(name);
    for (size_t i = 0; i < ALM_COUNT(object_types); i++)
        if (alm_str_ieq(name, alm_str_of(object_types[i].name)))
            return &object_types[i];
    return NULL;
}

/* 'trades'::regclass::text is the name again. */
static alm_status shown(alm_planner *p, const alm_ast *ast, alm_expr *e, alm_expr **out)
{
    alm_type to = ALM_TY(NONE);
    const alm_ast *inner = ast->kind == ALM_AST_CAST ? ast->arg[0] : NULL;
    if (inner == NULL || inner->kind != ALM_AST_CAST || e->type.id != ALM_T_INT ||
        !alm_type_parse(without_schema(ast->type_name), &to) || !alm_type_is_text(to))
        return ALM_OK;
    const object_type *t = object_type_of(inner->type_name);
    return t == NULL || t->out == NULL ? ALM_OK : alm_expr_call(p, t->out, ast->pos, &e, 1, out);
}

alm_status alm_bind_object_cast(alm_scope *sc, const alm_ast *ast, alm_expr *e, alm_expr **out)
{
    alm_planner *p = sc->p;
    const object_type *t = object_type_of(ast->type_name);
    *out = NULL;
    if (t == NULL) {
        ALM_TRY(shown(p, ast, e, out));
        const alm_str plain = without_schema(ast->type_name);
        alm_type to = ALM_TY(NONE);
        if (*out != NULL || plain.len == ast->type_name.len || !alm_type_parse(plain, &to))
            return ALM_OK;
        ALM_TRY(alm_param_infer(p, &e, to));
        return alm_expr_cast(p, e, to, ALM_CAST_EXPLICIT, out);
    }
    if (alm_expr_unknown(e))
        ALM_TRY(alm_param_infer(p, &e, t->in != NULL ? ALM_TY(STRING) : t->plain));
    if (t->in == NULL)
        return alm_expr_cast(p, e, t->plain, ALM_CAST_EXPLICIT, out);
    if (e->type.id == ALM_T_NULL)
        return alm_expr_null(p->cx, ALM_TY(INT), ast->pos, out);
    if (alm_type_is_text(e->type) || e->type.id == ALM_T_CHAR)
        return alm_expr_call(p, t->in, ast->pos, &e, 1, out);
    ALM_TRY(alm_expr_cast(p, e, ALM_TY(INT), ALM_CAST_EXPLICIT, &e));
    return alm_expr_call(p, t->out, ast->pos, &e, 1, out);
}
