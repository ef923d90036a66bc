/*
 * registry.c - gathers the function tables, parses their signatures, resolves overloads.
 *
 * Cost        Making the registry sorts some hundred rows, once in the life of the process. A look-up
 *             is a binary search by name, resolution walks the overloads of that name. For two types an
 *             operator finds the same overload each time: it is kept.
 * Threads     Read-only after alm_registry_new, but for what operators keep, whoever finds it first.
 */
#include "func/registry.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "func/value/cast_rules.h"
#include "func/value/signature.h"
#include "func/value/tables.h"
#include "type/ops.h"

/* Of an operator: 1 + the place of the overload for two types among the rows of its name; 0: not asked yet. */
typedef struct found_pairs {
    _Atomic uint16_t at[ALM_TYPE_COUNT][ALM_TYPE_COUNT];
} found_pairs;

typedef struct entry {
    const alm_fn *fn;
    alm_signature sig;
    uint32_t order;     /* place in the tables: overloads are tried in the order written */
    uint32_t end;       /* of the rows of this name */
    found_pairs *found; /* in the first row of an operator, else NULL */
    const char *group;
} entry;

/* The forms of a cast (value/cast_rules.h). */
typedef enum cast_form { EXPLICIT, LENIENT, STRICT, FORMS } cast_form;

struct alm_registry {
    entry *entries; /* by name, then order */
    size_t count;
    const alm_fn *casts[FORMS][ALM_TYPE_COUNT][ALM_TYPE_COUNT]; /* [form][from][to] */
};

#define TABLE_ADDRESS(name, group) &alm_fn_table_##name,
static const alm_fn_table *const TABLES[] = {ALM_FN_TABLES(TABLE_ADDRESS)};
#undef TABLE_ADDRESS
#define TABLE_GROUP(name, group) group,
static const char *const GROUPS[] = {ALM_FN_TABLES(TABLE_GROUP)};
#undef TABLE_GROUP

/* ------------------------------------------------------------------ making */

static int registry_by_name(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int c = strcmp(x->fn->name, y->fn->name);
    if (c != 0)
        return c;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* The form of a cast by the name of its row, FORMS: it is no cast. */
static cast_form registry_form_of(const alm_fn *fn)
{
    static const char *const names[FORMS] = {ALM_CAST_NAME, ALM_CAST_LENIENT_NAME,
                                             ALM_CAST_STRICT_NAME};
    cast_form form = EXPLICIT;
    while (form < FORMS && (strncmp(fn->name, names[form], 2) != 0 || fn->name[2] == '\0'))
        form++;
    return form;
}

static alm_status registry_add_row(alm_ctx *cx, alm_registry *reg, const alm_fn *fn,
                                   const char *group)
{
    entry *item = &reg->entries[reg->count];
    item->fn = fn;
    item->order = (uint32_t)reg->count;
    item->group = group;
    if (!alm_signature_parse(fn->signature, &item->sig))
        return alm_fail(cx, ALM_E_INTERNAL, -1, "function '%s' has a bad signature: %s", fn->name,
                        fn->signature);
    const bool runs = fn->kind == ALM_FN_SCALAR      ? fn->kernel != NULL
                      : fn->kind == ALM_FN_AGGREGATE ? fn->agg != NULL
                                                     : fn->window != NULL;
    if (!runs || fn->doc == NULL || fn->example == NULL || fn->since == NULL)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "function '%s' %s lacks its kernel or its text",
                        fn->name, fn->signature);
    if (item->sig.result.family == ALM_FAM_BOUND && fn->bind == NULL)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "function '%s' %s needs a bind", fn->name,
                        fn->signature);
    reg->count++;

    const cast_form form = registry_form_of(fn);
    if (form < FORMS)
        reg->casts[form][item->sig.params[0].type.id][item->sig.result.type.id] = fn;
    return ALM_OK;
}

/* Does which overload it is depend on types alone? */
static bool goes_by_types(const alm_registry *reg, size_t i, size_t end)
{
    for (; i < end; i++) {
        const entry *item = &reg->entries[i];
        for (uint32_t param = 0; param < item->sig.n_params; param++)
            if (item->sig.params[param].is_const)
                return false;
        if (item->fn->kind != ALM_FN_SCALAR)
            return false;
    }
    return true;
}

/* Names that no letter begins are operators. */
static bool make_found(alm_registry *reg)
{
    for (size_t i = 0; i < reg->count; i = reg->entries[i].end) {
        entry *first = &reg->entries[i];
        if (isalpha((unsigned char)first->fn->name[0]) || first->fn->name[0] == '_' ||
            !goes_by_types(reg, i, first->end))
            continue;
        first->found = calloc(1, sizeof *first->found);
        if (first->found == NULL)
            return false;
    }
    return true;
}

alm_status alm_registry_new(alm_ctx *cx, alm_registry **out)
{
    size_t rows = 0;
    for (size_t t = 0; t < ALM_COUNT(TABLES); t++)
        rows += TABLES[t]->count;
    alm_registry *reg = calloc(1, sizeof *reg);
    if (reg != NULL)
        reg->entries = calloc(rows, sizeof *reg->entries);
    if (reg == NULL || reg->entries == NULL) {
        free(reg);
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the function registry");
    }
    for (size_t t = 0; t < ALM_COUNT(TABLES); t++) {
        for (size_t i = 0; i < TABLES[t]->count; i++) {
            const alm_status status = registry_add_row(cx, reg, &TABLES[t]->rows[i], GROUPS[t]);
            if (status != ALM_OK) {
                alm_registry_free(reg);
                return status;
            }
        }
    }
    qsort(reg->entries, reg->count, sizeof *reg->entries, registry_by_name);
    for (size_t i = reg->count; i-- > 0;) {
        const bool last = i + 1 == reg->count ||
                          strcmp(reg->entries[i].fn->name, reg->entries[i + 1].fn->name) != 0;
        reg->entries[i].end = last ? (uint32_t)i + 1 : reg->entries[i + 1].end;
    }
    if (!make_found(reg)) {
        alm_registry_free(reg);
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the function registry");
    }
    *out = reg;
    return ALM_OK;
}

void alm_registry_free(alm_registry *reg)
{
    if (reg == NULL)
        return;
    for (size_t i = 0; i < reg->count; i++)
        free(reg->entries[i].found);
    free(reg->entries);
    free(reg);
}

/* ----------------------------------------------------------------- look-up */

size_t alm_registry_count(const alm_registry *reg)
{
    return reg->count;
}

const alm_fn *alm_registry_at(const alm_registry *reg, size_t i)
{
    ALM_ASSERT(i < reg->count);
    return reg->entries[i].fn;
}

const char *alm_registry_group(const alm_registry *reg, size_t i)
{
    ALM_ASSERT(i < reg->count);
    return reg->entries[i].group;
}

static int name_cmp(alm_str asked, const char *name)
{
    for (size_t i = 0; i < asked.len; i++) {
        const int a = tolower((unsigned char)asked.ptr[i]), b = (unsigned char)name[i];
        if (a != b) /* a shorter name ends in 0 */
            return a < b ? -1 : 1;
    }
    return name[asked.len] == '\0' ? 0 : -1;
}

/* Rows of that name: [*lo, return). */
static size_t registry_find_range(const alm_registry *reg, alm_str name, size_t *lo_out)
{
    size_t lo = 0, hi = reg->count;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (name_cmp(name, reg->entries[mid].fn->name) > 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *lo_out = lo;
    const bool found = lo < reg->count && name_cmp(name, reg->entries[lo].fn->name) == 0;
    return found ? reg->entries[lo].end : lo;
}

bool alm_registry_has(const alm_registry *reg, alm_str name, alm_fn_kind kind)
{
    size_t i, end = registry_find_range(reg, name, &i);
    for (; i < end; i++)
        if (reg->entries[i].fn->kind == kind)
            return true;
    return false;
}

/* -------------------------------------------------------------- resolution */

enum { CAST_STEP = 16 };

/* A text beside a time is read as that time: among the comparisons of times of two units, another unit would lose digits
 * of the text, or ask more of it. The cost is above the difference between two units of text_cost. */
static int text_beside_time(uint32_t argc, const alm_arg *args, uint32_t i, alm_type target)
{
    enum { OTHER_UNIT = 3 };
    if (argc != 2 || !alm_type_is_text(args[i].type) ||
        alm_type_info_of(target)->cls != ALM_TC_TIME)
        return 0;
    const alm_type other = args[1 - i].type;
    return alm_type_info_of(other)->cls == ALM_TC_TIME && other.id != target.id ? OTHER_UNIT : 0;
}

/* Cost of the call with this overload, -1: it does not fit, or costs `below` or more. Type by type, the exact type is
 * better than its family, so that abs(INT) wins over abs(NUMERIC). as_is: without a cast, or not at all. */
static int64_t overload_cost(const entry *item, uint32_t argc, const alm_arg *args, bool as_is,
                             int64_t below)
{
    enum { FAMILY = 1 };
    const alm_signature *sig = &item->sig;
    if (argc < sig->min_args || argc > sig->max_args)
        return -1;
    bool beyond = (item->fn->flags & ALM_FN_BEYOND) == 0;
    int64_t total = 0;
    alm_type first = ALM_TY(NONE);
    for (uint32_t i = 0; i < argc; i++) {
        const alm_sig_param *param = alm_signature_param(sig, i);
        const alm_type type = args[i].type;
        if (as_is && param->family == ALM_FAM_TYPE && param->type.id != type.id &&
            type.id != ALM_T_NONE) /* a parameter becomes what it has to be for nothing */
            return -1;
        if (param->is_const && args[i].value == NULL && !args[i].is_param)
            return -1;
        const alm_type target = alm_family_target(param, type, first);
        if (i == 0)
            first = target;
        const bool has = type.id != ALM_T_NULL && alm_family_has(param, type);
        beyond = beyond || (has && target.id != ALM_T_LONG);
        const int cost = has || param->family == ALM_FAM_ANY ? 0 : alm_cast_cost(type, target);
        if (cost < 0 || (as_is && cost > 0))
            return -1;
        total += CAST_STEP * (int64_t)(cost + text_beside_time(argc, args, i, target)) +
                 (param->family == ALM_FAM_TYPE ? 0 : FAMILY);
        if (total >= below)
            return -1;
    }
    return beyond ? total : -1;
}

typedef struct found_overload {
    const entry *best; /* NULL: none fits */
    const entry *only; /* the last one of the kind */
    uint32_t seen;     /* of the kind */
} found_overload;

/* The overload of the rows [i, end) that costs least, the first of several. */
static found_overload best_overload(const alm_registry *reg, size_t i, size_t end, alm_fn_kind kind,
                                    uint32_t argc, const alm_arg *args, bool as_is)
{
    found_overload found = {0};
    int64_t best_cost = INT64_MAX;
    for (; i < end && best_cost > 0; i++) { /* nothing costs less than nothing */
        const entry *item = &reg->entries[i];
        if (item->fn->kind != kind)
            continue;
        found.seen++;
        found.only = item;
        const int64_t cost = overload_cost(item, argc, args, as_is, best_cost);
        if (cost >= 0) {
            found.best = item;
            best_cost = cost;
        }
    }
    return found;
}

static void registry_append(char *buf, size_t size, const char *text)
{
    const size_t used = strlen(buf), more = strlen(text);
    if (used + 1 < size) {
        const size_t n = ALM_MIN(more, size - used - 1);
        memcpy(buf + used, text, n);
        buf[used + n] = '\0';
    }
}

static const char *shown_type(alm_type type)
{
    return type.id == ALM_T_NONE ? "PARAM" : alm_type_name(type);
}

static void type_list(char *buf, size_t size, const char *between, uint32_t argc,
                      const alm_arg *args)
{
    for (uint32_t i = 0; i < argc; i++) {
        if (i > 0)
            registry_append(buf, size, between);
        registry_append(buf, size, shown_type(args[i].type));
    }
}

static bool registry_is_operator(alm_str name)
{
    static const char *const words[] = {"like", "ilike", "and", "or", "not", "in", "between"};
    for (size_t i = 0; i < ALM_COUNT(words); i++)
        if (alm_str_ieq(name, alm_str_of(words[i])))
            return i < 2; /* the others read as functions in messages */
    return name.len > 0 && !isalpha((unsigned char)name.ptr[0]);
}

/* "; it takes (STRING, INT), (VARCHAR, INT)": the arguments of the overloads [i, end) of a kind. */
static void registry_takes(char *buf, size_t size, const alm_registry *reg, size_t i, size_t end,
                           alm_fn_kind kind)
{
    enum { SHOWN = 6 };
    uint32_t count = 0;
    for (; i < end; i++) {
        const alm_fn *fn = reg->entries[i].fn;
        const size_t len = (size_t)(strchr(fn->signature, ')') - fn->signature) + 1;
        char one[200];
        if (fn->kind != kind || (fn->flags & ALM_FN_INTERNAL) != 0 || count > SHOWN)
            continue;
        (void)snprintf(one, sizeof one, "%s%.*s", count == 0 ? "; it takes " : ", ", (int)len,
                       fn->signature);
        registry_append(buf, size, count++ == SHOWN ? ", ..." : one);
    }
}

static alm_status no_match(alm_ctx *cx, alm_str name, int32_t pos, uint32_t argc,
                           const alm_arg *args, const char *wanted)
{
    char list[600] = "";
    if (registry_is_operator(name) && argc == 2) {
        char between[64];
        (void)snprintf(between, sizeof between, " %.*s ", (int)ALM_MIN(name.len, 40), name.ptr);
        type_list(list, sizeof list, between, argc, args);
        return alm_fail(cx, ALM_E_FUNCTION, pos,
                        "there is no matching operator `%.*s` with the argument types: %s",
                        (int)name.len, name.ptr, list);
    }
    type_list(list, sizeof list, ", ", argc, args);
    return alm_fail(cx, ALM_E_FUNCTION, pos,
                    "there is no matching function `%.*s` with the argument types: (%s)%s",
                    (int)name.len, name.ptr, list, wanted);
}

/* One overload only: the message can say what is wrong with the call. */
static alm_status one_mismatch(alm_ctx *cx, const entry *item, alm_str name, int32_t pos,
                               uint32_t argc, const alm_arg *args, const char *wanted)
{
    const alm_signature *sig = &item->sig;
    if (argc == 0)
        return alm_fail(cx, ALM_E_FUNCTION, pos, "function `%.*s` requires arguments: %.*s(%s)",
                        (int)name.len, name.ptr, (int)name.len, name.ptr,
                        sig->n_params > 0 ? alm_family_name(&sig->params[0]) : "");
    if ((argc < sig->min_args || argc > sig->max_args) && sig->max_args != UINT32_MAX)
        return alm_fail(
            cx, ALM_E_FUNCTION, pos,
            "wrong number of arguments for function `%.*s`; expected: %u, provided: %u%s",
            (int)name.len, name.ptr, sig->n_params, argc, wanted);
    alm_type first = ALM_TY(NONE);
    for (uint32_t i = 0; i < argc && argc >= sig->min_args; i++) {
        const alm_sig_param *param = alm_signature_param(sig, i);
        const alm_type target = alm_family_target(param, args[i].type, first);
        if (i == 0)
            first = target;
        if (param->is_const && args[i].value == NULL && !args[i].is_param)
            return alm_fail(cx, ALM_E_FUNCTION, args[i].pos,
                            "argument %u of `%.*s` must be a constant", i + 1, (int)name.len,
                            name.ptr);
        if (param->family == ALM_FAM_TYPE && !alm_family_has(param, args[i].type) &&
            alm_cast_cost(args[i].type, target) < 0)
            return alm_fail(
                cx, ALM_E_FUNCTION, args[i].pos,
                "argument type mismatch for function `%.*s` at #%u expected: %s, actual: %s",
                (int)name.len, name.ptr, i + 1, alm_family_name(param), shown_type(args[i].type));
    }
    return no_match(cx, name, pos, argc, args, wanted);
}

/* The argument that an overload takes for its type, but only as a constant; argc: there is none. */
static uint32_t constant_wanted(const entry *item, uint32_t argc, const alm_arg *args)
{
    const alm_signature *sig = &item->sig;
    alm_type first = ALM_TY(NONE);
    uint32_t wanted = argc;
    if (argc < sig->min_args || argc > sig->max_args)
        return argc;
    for (uint32_t i = 0; i < argc; i++) {
        const alm_sig_param *param = alm_signature_param(sig, i);
        const alm_type target = alm_family_target(param, args[i].type, first);
        if (i == 0)
            first = target;
        if (!alm_family_has(param, args[i].type) && alm_cast_cost(args[i].type, target) < 0)
            return argc;
        if (param->is_const && args[i].value == NULL && !args[i].is_param)
            wanted = i;
    }
    return wanted;
}

void alm_registry_offer(const alm_registry *reg, alm_nearest *near)
{
    const char *last = NULL;
    for (size_t i = 0; i < reg->count; i++) {
        const alm_fn *fn = reg->entries[i].fn;
        if ((fn->flags & ALM_FN_INTERNAL) == 0 && (last == NULL || strcmp(last, fn->name) != 0))
            alm_nearest_offer(near, alm_str_of(last = fn->name));
    }
}

static alm_status unknown_name(alm_ctx *cx, const alm_registry *reg, alm_str name, int32_t pos,
                               uint32_t argc, const alm_arg *args)
{
    char list[600] = "";
    alm_nearest near = alm_nearest_of(name);
    type_list(list, sizeof list, ", ", argc, args);
    alm_registry_offer(reg, &near);
    return alm_fail_near(cx, ALM_E_FUNCTION, pos, &near, "unknown function name: %.*s(%s)",
                         (int)name.len, name.ptr, list);
}

/* Where a text is asked for, bind sees the text of a constant that is written as one (a UUID, an address). */
static alm_status address_as_text(alm_ctx *cx, alm_arg *arg)
{
    const alm_type type = arg->value->type;
    char scratch[ALM_VALUE_TEXT_MAX];
    alm_str text = {0};
    alm_vec *value = NULL;
    if (alm_type_written(type) != ALM_WRITTEN_TEXT)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &value));
    ALM_TRY(alm_vec_null(cx, cx->arena, ALM_TY(STRING), value));
    if (alm_value_text(arg->value, 0, ALM_TEXT_DIALECT, scratch, &text)) {
        ALM_TRY(alm_arena_copy(cx, cx->arena, text, &text));
        const alm_view view = alm_view_of(text);
        memcpy(value->data, &view, sizeof view);
    }
    arg->value = value;
    return ALM_OK;
}

/* Argument types, bind, result type of the chosen overload. */
static alm_status registry_settle(alm_ctx *cx, const entry *item, int32_t pos, uint32_t argc,
                                  alm_arg *args, alm_resolved *out)
{
    enum { SLOTS = ALM_COUNT(((alm_resolved *)NULL)->arg_types) };
    alm_type first = ALM_TY(NONE), time = ALM_TY(TIMESTAMP);
    for (uint32_t i = 0; i < argc; i++) {
        const alm_sig_param *param = alm_signature_param(&item->sig, i);
        if (param->family == ALM_FAM_ANY && args[i].type.id == ALM_T_NULL)
            continue; /* bind or kernel knows about NULL */
        const alm_type target = alm_family_target(param, args[i].type, first);
        if (args[i].value != NULL && alm_type_is_text(target))
            ALM_TRY(address_as_text(cx, &args[i]));
        if (!alm_type_eq(args[i].type, target)) /* what a list is of, an OID: the note stays */
            args[i].type = target;
        if (i == 0)
            first = args[i].type;
        if (param->family == ALM_FAM_TIME && args[i].type.id == ALM_T_TIMESTAMP_NS)
            time = args[i].type;
    }
    out->fn = item->fn;
    out->argc = argc;
    out->data = NULL;
    out->result = item->sig.result.family == ALM_FAM_SAME ? first : item->sig.result.type;
    if (item->sig.result.family == ALM_FAM_TIME)
        out->result = time;
    if (item->fn->bind != NULL)
        ALM_TRY(item->fn->bind(cx, item->fn, pos, argc, args, &out->result, &out->data));
    out->n_arg_types = ALM_MIN(argc, (uint32_t)SLOTS);
    for (uint32_t i = 0; i < out->n_arg_types; i++)
        out->arg_types[i] = args[i].type;
    for (uint32_t i = SLOTS; i < argc; i++)
        if (!alm_type_eq(args[i].type, args[SLOTS - 1].type))
            return alm_fail(cx, ALM_E_LIMIT, pos,
                            "`%s` takes at most %d arguments of different types, got %u",
                            item->fn->name, SLOTS, argc);
    return ALM_OK;
}

/* Where an operator keeps the overload for these arguments; NULL: it depends on more than their types. */
static _Atomic uint16_t *kept_at(const entry *first, alm_fn_kind kind, uint32_t argc,
                                 const alm_arg *args)
{
    if (first->found == NULL || kind != ALM_FN_SCALAR || argc != 2)
        return NULL;
    for (uint32_t i = 0; i < argc; i++)
        if (args[i].type.id == ALM_T_NONE || args[i].type.id == ALM_T_ARRAY ||
            alm_type_is_sized(args[i].type))
            return NULL;
    return &first->found->at[args[0].type.id][args[1].type.id];
}

alm_status alm_registry_resolve(alm_ctx *cx, const alm_registry *reg, alm_str name,
                                alm_fn_kind kind, int32_t pos, uint32_t argc, alm_arg *args,
                                alm_resolved *out)
{
    size_t start, end = registry_find_range(reg, name, &start);
    found_overload found = {0};
    _Atomic uint16_t *kept = start < end ? kept_at(&reg->entries[start], kind, argc, args) : NULL;
    const uint16_t place = kept != NULL ? atomic_load_explicit(kept, memory_order_relaxed) : 0;
    if (place > 0)
        return registry_settle(cx, &reg->entries[start + place - 1], pos, argc, args, out);
    /* a cast costs more than any number of families below CAST_STEP, and most calls need none */
    if (argc < CAST_STEP)
        found = best_overload(reg, start, end, kind, argc, args, true);
    if (found.best == NULL)
        found = best_overload(reg, start, end, kind, argc, args, false);
    const entry *best = found.best;
    if (best != NULL && kept != NULL)
        atomic_store_explicit(kept, (uint16_t)(best - &reg->entries[start] + 1),
                              memory_order_relaxed);
    if (best != NULL)
        return registry_settle(cx, best, pos, argc, args, out);
    if (found.seen == 0)
        return unknown_name(cx, reg, name, pos, argc, args);
    char wanted[400] = "";
    registry_takes(wanted, sizeof wanted, reg, start, end, kind);
    if (found.seen == 1)
        return one_mismatch(cx, found.only, name, pos, argc, args, wanted);
    if (argc == 0)
        return alm_fail(cx, ALM_E_FUNCTION, pos, "function `%.*s` requires arguments%s",
                        (int)name.len, name.ptr, wanted);
    for (size_t i = start; i < end && registry_is_operator(name); i++) {
        const entry *item = &reg->entries[i];
        const uint32_t k = item->fn->kind == kind ? constant_wanted(item, argc, args) : argc;
        if (k < argc)
            return alm_fail(cx, ALM_E_FUNCTION, args[k].pos,
                            "argument %u of `%.*s` must be a constant", k + 1, (int)name.len,
                            name.ptr);
    }
    return no_match(cx, name, pos, argc, args, wanted);
}

/* ------------------------------------------------------------------- casts */

/* Where a form has no row of its own, the explicit cast does the same. */
static const alm_fn *cast_of(const alm_registry *reg, cast_form form, alm_type from,
                             alm_type target)
{
    const alm_fn *fn = reg->casts[form][from.id][target.id];
    return fn != NULL ? fn : reg->casts[EXPLICIT][from.id][target.id];
}

const alm_fn *alm_cast_fn(const alm_registry *reg, alm_type from, alm_type target)
{
    return cast_of(reg, EXPLICIT, from, target);
}

bool alm_fn_is_cast(const alm_fn *fn)
{
    return registry_form_of(fn) < FORMS;
}

const alm_fn *alm_lenient_fn(const alm_registry *reg, alm_type from, alm_type target)
{
    return cast_of(reg, LENIENT, from, target);
}

const alm_fn *alm_implicit_fn(const alm_registry *reg, alm_type from, alm_type target)
{
    return cast_of(reg, STRICT, from, target);
}

const alm_fn *alm_assign_fn(const alm_registry *reg, alm_type from, alm_type target)
{
    return alm_assign_allowed(from, target) ? cast_of(reg, STRICT, from, target) : NULL;
}
