/* list.c - see list.h. */
#include "storage/dict/list.h"

#include <stdlib.h>

alm_status alm_dict_list_add(alm_ctx *cx, alm_dict_list *list, alm_dict_id id)
{
    if (list->n == list->cap) {
        const size_t cap = ALM_MAX((size_t)64, 2 * list->cap);
        alm_dict_id *bigger = realloc(list->ids, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a list of dictionaries");
        list->ids = bigger;
        list->cap = cap;
    }
    list->ids[list->n++] = id;
    return ALM_OK;
}

static int by_column(const void *a, const void *b)
{
    const alm_dict_id *x = a, *y = b;
    if (x->table_id != y->table_id)
        return x->table_id < y->table_id ? -1 : 1;
    return x->col_id < y->col_id ? -1 : x->col_id > y->col_id;
}

void alm_dict_list_sort(alm_dict_list *list)
{
    if (list->n > 0)
        qsort(list->ids, list->n, sizeof *list->ids, by_column);
}

bool alm_dict_list_has(const alm_dict_list *list, alm_dict_id id)
{
    return list->n > 0 && bsearch(&id, list->ids, list->n, sizeof id, by_column) != NULL;
}

void alm_dict_list_free(alm_dict_list *list)
{
    free(list->ids);
    *list = (alm_dict_list){0};
}
