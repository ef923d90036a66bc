/*
 * wide.h - values of 16 and 32 bytes as C types, for the moves that every width of column needs: a
 * column of UUID, LONG256, DECIMAL or views is copied by the same typed loops as one of integers.
 * The parts are words and mean nothing here.
 */
#ifndef ALM_EXEC_WIDE_H
#define ALM_EXEC_WIDE_H

#include <stdint.h>

typedef struct alm_wide16 {
    uint64_t part[2];
} alm_wide16;
typedef struct alm_wide32 {
    uint64_t part[4];
} alm_wide32;

#endif
