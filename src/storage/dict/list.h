/*
 * list.h - which dictionaries there are, by table and column.
 *
 * Order       Ids are appended in any order; alm_dict_list_sort puts them in order once, and alm_dict_list_has then searches.
 * Ownership   The list owns its ids; alm_dict_list_free empties it. A zeroed list is empty.
 * Threads     None of its own: the lock is the caller's.
 */
#ifndef ALM_STORAGE_DICT_LIST_H
#define ALM_STORAGE_DICT_LIST_H

#include "base/base.h"

typedef struct alm_dict_id {
    uint64_t table_id;
    uint32_t col_id;
} alm_dict_id;

typedef struct alm_dict_list {
    alm_dict_id *ids;
    size_t n, cap;
} alm_dict_list;

/* ALM_E_MEMORY, and the list is as it was. */
ALM_NODISCARD alm_status alm_dict_list_add(alm_ctx *cx, alm_dict_list *list, alm_dict_id id);
void alm_dict_list_sort(alm_dict_list *list);
/* Of a list that was sorted after its last addition. */
bool alm_dict_list_has(const alm_dict_list *list, alm_dict_id id);
void alm_dict_list_free(alm_dict_list *list);

#endif
