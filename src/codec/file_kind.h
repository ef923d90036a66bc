/*
 * file_kind.h - what a file is by its first bytes: of those that imports read, or one of others, by name, so that no table
 * is made of the bytes of a picture.
 */
#ifndef ALM_CODEC_FILE_KIND_H
#define ALM_CODEC_FILE_KIND_H

#include "base/base.h"

typedef enum alm_file_kind {
    ALM_FILE_TEXT, /* nothing else: CSV, if anything */
    ALM_FILE_PARQUET,
    ALM_FILE_GZIP,
    ALM_FILE_ZSTD,
    ALM_FILE_NDJSON, /* the first line is a JSON object */
    ALM_FILE_FOREIGN,
    ALM_FILE_MORE /* more bytes are needed to tell */
} alm_file_kind;

/* So many bytes tell, but of NDJSON, where the first line does. */
enum { ALM_FILE_LOOK_BYTES = 512 };

/* head: at least ALM_FILE_LOOK_BYTES, or all of the file (whole). texts: texts that are no CSV are told, too. *name: of a
 * FOREIGN file, with its article. */
alm_file_kind alm_file_kind_of(alm_str head, bool whole, bool texts, const char **name);

#endif
