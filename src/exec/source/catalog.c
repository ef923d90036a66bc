/*
 * catalog.c - see catalog.h: from rows of catalog.def to sources.
 *
 * Cost        A relation is written whole when it is opened: it has as many rows as there are tables
 *             and columns, and readers of these are tools, not queries over data.
 */
#include "exec/source/catalog.h"

#include <stdlib.h>

static const alm_relation relations[] = {
#define ALM_RELATION(schema_, name_, oid_, fill_, columns_)                                        \
    {#schema_, #name_, oid_, alm_cat_fill_##fill_, columns_},
#include "exec/source/catalog.def"
#undef ALM_RELATION
};

/* What a plan carries of a relation: one of these, made once for each form. */
typedef struct form {
    uint16_t relation;
    bool function;
} form;

size_t alm_relation_count(void)
{
    return ALM_COUNT(relations);
}

const alm_relation *alm_relation_at(size_t i)
{
    ALM_ASSERT(i < ALM_COUNT(relations));
    return &relations[i];
}

int32_t alm_relation_schema_oid(const alm_relation *rel)
{
    return rel->schema[0] == 'p' ? ALM_OID_CATALOG : ALM_OID_INFORMATION;
}

ALM_CAT_FILL(none)
{
    (void)cx;
    (void)cat;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- columns */

static alm_type type_of_letter(char letter)
{
    switch (letter) {
    case 'B':
        return ALM_TY(BOOLEAN);
    case 'C':
        return ALM_TY(CHAR);
    case 'H':
        return ALM_TY(SHORT);
    case 'I':
        return ALM_TY(INT);
    case 'O':
        return alm_type_oid();
    case 'R':
        return alm_type_regproc();
    case 'L':
        return ALM_TY(LONG);
    case 'F':
        return ALM_TY(FLOAT);
    case 'P':
        return ALM_TY(TIMESTAMP);
    case 'S':
        return ALM_TY(STRING);
    case 'A':
        return alm_type_list(ALM_LIST_TEXT);
    case 'V':
        return alm_type_list(ALM_LIST_VECTOR);
    default:
        ALM_UNREACHABLE("a column of catalog.def has no such type");
    }
}

/* The columns of one form, in the order written. */
static alm_status catalog_read_columns(alm_ctx *cx, const alm_relation *rel, bool function,
                                       alm_plan_col *cols, const char **defaults, uint32_t *n_out)
{
    uint32_t count = 0;
    for (const char *ptr = rel->columns; *ptr != 0;) {
        const size_t len = strcspn(ptr, " ");
        const char *name = ptr, *end = ptr + len;
        const bool skip = *ptr == (function ? '+' : '-');
        name += *ptr == '+' || *ptr == '-';
        ptr = *end == 0 ? end : end + 1;
        if (skip)
            continue;
        const char *colon = memchr(name, ':', (size_t)(end - name));
        ALM_ASSERT(count < ALM_CAT_COLS && colon != NULL);
        cols[count] = (alm_plan_col){.type = type_of_letter(colon[1])};
        ALM_TRY(alm_arena_zstr(cx, cx->arena, (alm_str){name, (size_t)(colon - name)},
                               &cols[count].name));
        if (defaults != NULL) {
            defaults[count] = NULL;
            if (colon[2] == '=')
                ALM_TRY(alm_arena_zstr(cx, cx->arena,
                                       (alm_str){colon + 3, (size_t)(end - colon - 3)},
                                       &defaults[count]));
        }
        count++;
    }
    *n_out = count;
    return ALM_OK;
}

alm_status alm_relation_columns(alm_ctx *cx, const alm_relation *rel, alm_plan_col *cols,
                                uint32_t *n)
{
    return catalog_read_columns(cx, rel, false, cols, NULL, n);
}

/* ------------------------------------------------------------------------------------- rows */

void alm_cat_order(alm_cat *cat, const char *names)
{
    cat->n_order = 0;
    for (const char *ptr = names; *ptr != 0;) {
        const size_t len = strcspn(ptr, " ");
        uint16_t c = 0;
        while (c < cat->list.n_cols &&
               !alm_str_eq(alm_str_of(cat->cols[c].name), (alm_str){ptr, len}))
            c++;
        ALM_ASSERT(cat->n_order < ALM_CAT_COLS);
        cat->order[cat->n_order++] = c < cat->list.n_cols ? c : ALM_CAT_COLS;
        ptr += len + (ptr[len] == ' ');
    }
    cat->at = cat->n_order;
}

/* A cell too many is passed over, and counted: check_row finds it. */
static uint32_t next_col(alm_cat *cat)
{
    const uint32_t place = cat->at++;
    return place < cat->n_order ? cat->order[place] : ALM_CAT_COLS;
}

/* A fill that writes too few or too many cells is a mistake of ours; it costs the statement only. */
static alm_status check_row(alm_ctx *cx, const alm_cat *cat)
{
    if (cat->at == cat->n_order)
        return ALM_OK;
    return alm_fail(cx, ALM_E_INTERNAL, -1, "a row of %s has %u of %u cells", cat->name, cat->at,
                    cat->n_order);
}

static void catalog_put_float(alm_cat *cat, uint32_t col, double value)
{
    float f = (float)value;
    int32_t bits;
    memcpy(&bits, &f, 4);
    alm_list_int(&cat->list, col, bits);
}

static void put_default(alm_cat *cat, uint32_t col)
{
    const char *text = cat->defaults[col];
    const alm_type type = cat->cols[col].type;
    if (type.id == ALM_T_STRING)
        alm_list_text(&cat->list, col, text);
    else if (type.id == ALM_T_BOOLEAN)
        alm_list_bool(&cat->list, col, text[0] == 't');
    else if (type.id == ALM_T_CHAR)
        alm_list_int(&cat->list, col, text[0]);
    else if (type.id == ALM_T_FLOAT)
        catalog_put_float(cat, col, strtod(text, NULL));
    else
        alm_list_int(&cat->list, col, strtoll(text, NULL, 10));
}

alm_status alm_cat_row(alm_ctx *cx, alm_cat *cat)
{
    ALM_TRY(check_row(cx, cat)); /* the row before is written to its end */
    cat->at = 0;
    if (cat->list.n % ALM_BATCH_ROWS == 0)
        ALM_TRY(alm_check(cx));
    ALM_TRY(alm_list_row(cx, &cat->list));
    for (uint32_t col = 0; col < cat->list.n_cols; col++)
        if (cat->defaults[col] != NULL)
            put_default(cat, col);
    return ALM_OK;
}

void alm_cat_text(alm_cat *cat, const char *text)
{
    const uint32_t col = next_col(cat);
    if (col < ALM_CAT_COLS)
        alm_list_text(&cat->list, col, text);
}

void alm_cat_int(alm_cat *cat, int64_t value)
{
    const uint32_t col = next_col(cat);
    if (col < ALM_CAT_COLS)
        alm_list_int(&cat->list, col, value);
}

/* The standard writes YES and NO where others have a BOOLEAN. */
void alm_cat_bool(alm_cat *cat, bool value)
{
    const uint32_t col = next_col(cat);
    if (col >= ALM_CAT_COLS)
        return;
    if (cat->cols[col].type.id == ALM_T_STRING)
        alm_list_text(&cat->list, col, value ? "YES" : "NO");
    else
        alm_list_bool(&cat->list, col, value);
}

void alm_cat_float(alm_cat *cat, double value)
{
    const uint32_t col = next_col(cat);
    if (col < ALM_CAT_COLS)
        catalog_put_float(cat, col, value);
}

void alm_cat_keep(alm_cat *cat)
{
    (void)next_col(cat);
}

/* ----------------------------------------------------------------------------------- source */

static alm_status catalog_bind(alm_ctx *cx, const form *shape, const alm_source_call *call,
                               alm_source_bound *out)
{
    const alm_relation *rel = &relations[shape->relation];
    if (call->n_args != 0)
        return alm_fail(cx, ALM_E_ARG, call->pos, "%s takes no arguments", rel->name);
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_CAT_COLS, &out->cols));
    ALM_TRY(catalog_read_columns(cx, rel, shape->function, out->cols, NULL, &out->n_cols));
    out->ts_col = -1;
    out->est_rows = rel->fill == alm_cat_fill_none ? 0 : 1000;
    return ALM_OK;
}

static alm_status catalog_open(alm_ctx *cx, alm_run *run, const form *shape, void **state)
{
    const alm_relation *rel = &relations[shape->relation];
    alm_cat *cat = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &cat));
    cat->run = run;
    cat->name = rel->name;
    cat->function = shape->function;
    ALM_TRY(catalog_read_columns(cx, rel, shape->function, cat->cols, cat->defaults,
                                 &cat->list.n_cols));
    cat->list.cols = cat->cols;
    ALM_TRY(ALM_NEWN(cx, cx->arena, cat->list.n_cols, &cat->list.data));
    ALM_TRY(rel->fill(cx, cat));
    ALM_TRY(check_row(cx, cat));
    *state = &cat->list;
    return ALM_OK;
}

/* Two sources per relation, each with functions that know which one it is. */
#define ALM_RELATION(schema_, name_, oid_, fill_, columns_) RELATION_##schema_##_##name_,
enum {
#include "exec/source/catalog.def"
};
#undef ALM_RELATION

#define FORM(id, number, is_function)                                                              \
    static alm_status id##_bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)   \
    {                                                                                              \
        return catalog_bind(cx, &(form){number, is_function}, call, out);                          \
    }                                                                                              \
    static alm_status id##_open(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)     \
    {                                                                                              \
        (void)plan;                                                                                \
        return catalog_open(cx, run, &(form){number, is_function}, state);                         \
    }

#define ALM_RELATION(schema_, name_, oid_, fill_, columns_)                                        \
    FORM(schema_##_##name_, RELATION_##schema_##_##name_, false)                                   \
    FORM(schema_##_##name_##_function, RELATION_##schema_##_##name_, true)
#include "exec/source/catalog.def"
#undef ALM_RELATION

#define SOURCE(id, text)                                                                           \
    {.name = text,                                                                                 \
     .signature = "()",                                                                            \
     .doc = "For tools and drivers of PostgreSQL.",                                                \
     .example = "select * from " text,                                                             \
     .bind = id##_bind,                                                                            \
     .open = id##_open,                                                                            \
     .next = alm_list_next,                                                                        \
     .count = alm_list_count,                                                                      \
     .skip = alm_list_skip},

static const alm_source sources[2 * ALM_COUNT(relations)] = {
#define ALM_RELATION(schema_, name_, oid_, fill_, columns_)                                        \
    SOURCE(schema_##_##name_, #schema_ "." #name_)                                                 \
    SOURCE(schema_##_##name_##_function, #schema_ "." #name_ "()")
#include "exec/source/catalog.def"
#undef ALM_RELATION
};

const alm_source *alm_catalog_at(size_t i)
{
    return i < ALM_COUNT(relations) ? &sources[2 * i] : NULL;
}

static const uint8_t name_lens[ALM_COUNT(relations)] = {
#define ALM_RELATION(schema_, name_, oid_, fill_, columns_) sizeof(#schema_ "." #name_) - 1,
#include "exec/source/catalog.def"
#undef ALM_RELATION
};

/* Asked for each name of FROM, of which few are here: lengths first. */
const alm_source *alm_catalog_find(alm_str name)
{
    const bool function = name.len > 2 && name.ptr[name.len - 1] == ')';
    const alm_str plain = {name.ptr, name.len - (function ? 2 : 0)};
    const alm_str prefix = ALM_STR("pg_catalog.");
    for (size_t i = 0; i < ALM_COUNT(relations); i++) {
        const alm_str full = {sources[2 * i].name, name_lens[i]};
        if (plain.len != full.len && plain.len + prefix.len != full.len)
            continue;
        const bool bare =
            relations[i].schema[0] == 'p' &&
            alm_str_ieq(plain, (alm_str){full.ptr + prefix.len, full.len - prefix.len});
        if (bare || alm_str_ieq(plain, full))
            return &sources[2 * i + function];
    }
    return NULL;
}
