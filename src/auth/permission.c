/* permission.c - see permission.h. */
#include "auth/permission.h"

enum { D = ALM_LEVEL_D, T = ALM_LEVEL_T, C = ALM_LEVEL_C };

static const alm_permission rows[] = {
#define ALM_PERMISSION(number, name, level, doc) {number, name, (alm_level)level, doc},
#include "auth/permission.def"
#undef ALM_PERMISSION
};

size_t alm_permission_count(void)
{
    return ALM_COUNT(rows);
}

const alm_permission *alm_permission_at(size_t i)
{
    ALM_ASSERT(i < ALM_COUNT(rows));
    return &rows[i];
}

const alm_permission *alm_permission_find(alm_str name)
{
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_ieq(alm_str_of(rows[i].name), name))
            return &rows[i];
    return NULL;
}

const alm_permission *alm_permission_by_number(uint8_t number)
{
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

const char *alm_level_name(alm_level level)
{
    return level == ALM_LEVEL_D   ? "Database"
           : level == ALM_LEVEL_T ? "Database | Table"
                                  : "Database | Table | Column";
}
