/*
 * zone_files_for_test.h - loads zones from the files of the system; for unit tests only (the server
 * reads them through io/).
 */
#ifndef ALM_TIME_ZONE_FILES_FOR_TEST_H
#define ALM_TIME_ZONE_FILES_FOR_TEST_H

#include <stdio.h>

#include "base/base.h"

#define ALM_ZONE_FILES "/usr/share/zoneinfo/"

static inline bool alm_zone_file_for_test(alm_ctx *cx, ALM_UNUSED void *arg, const char *name,
                                          alm_buf *out)
{
    char path[200], bytes[4096];
    size_t n;
    bool read = false;
    (void)snprintf(path, sizeof(path), ALM_ZONE_FILES "%s", name);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return false;
    while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
        read = alm_buf_append(cx, out, bytes, n) == ALM_OK;
    (void)fclose(f);
    return read;
}

static inline bool alm_zone_files_exist(void)
{
    FILE *f = fopen(ALM_ZONE_FILES "Europe/Berlin", "rb");
    if (f != NULL)
        (void)fclose(f);
    return f != NULL;
}

#endif
