/*
 * list_functions.c - prints the function registry and the table functions as tab-separated lines:
 * kind, name, signature, flags, doc, example, since, group, null rule. tools/gen_docs.py makes the pages
 * of functions of it.
 */
#include <stdio.h>

#include "exec/source/source.h"
#include "func/registry.h"

#define ALM_SOURCE(name, text) extern const alm_source alm_source_##name;
#include "exec/source/source.def"
#undef ALM_SOURCE

static const char *const KINDS[] = {
    [ALM_FN_SCALAR] = "scalar", [ALM_FN_AGGREGATE] = "aggregate", [ALM_FN_WINDOW] = "window"};

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static void print_row(const alm_fn *fn, const char *group)
{
    const char *flags = (fn->flags & ALM_FN_INTERNAL) != 0   ? "internal"
                        : (fn->flags & ALM_FN_VOLATILE) != 0 ? "volatile"
                        : (fn->flags & ALM_FN_STABLE) != 0   ? "stable"
                                                             : "";
    (void)printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", KINDS[fn->kind], fn->name, fn->signature,
                 flags, or_empty(fn->doc), or_empty(fn->example), or_empty(fn->since), group,
                 (fn->flags & ALM_FN_NULL_OUT) != 0 ? "null" : "");
}

int main(void)
{
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    alm_registry *registry = NULL;
    if (alm_registry_new(&cx, &registry) != ALM_OK) {
        (void)fprintf(stderr, "list_functions: %s\n", cx.err.msg);
        return 1;
    }
    for (size_t i = 0; i < alm_registry_count(registry); i++)
        print_row(alm_registry_at(registry, i), alm_registry_group(registry, i));
#define ALM_SOURCE(source, text)                                                                   \
    (void)printf("table\t%s\t%s\t\t%s\t%s\t0.1\t\t\n", text,                                       \
                 or_empty(alm_source_##source.signature), or_empty(alm_source_##source.doc),       \
                 or_empty(alm_source_##source.example));
#include "exec/source/source.def"
#undef ALM_SOURCE
    alm_registry_free(registry);
    alm_arena_deinit(&arena);
    return 0;
}
