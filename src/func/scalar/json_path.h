/*
 * json_path.h - finds one value in a JSON text by a path: $.name.list[2], with or without the $.
 *
 * The text is read once, from end to end, so that a text that is not JSON gives nothing even where
 * the value stands before the mistake. Nothing is copied: results point into the text.
 */
#ifndef ALM_FUNC_JSON_PATH_H
#define ALM_FUNC_JSON_PATH_H

#include "base/base.h"

enum { ALM_JSON_STEPS = 32, ALM_JSON_DEPTH = 512 };

typedef struct alm_json_step {
    alm_str name;  /* of a member; ptr NULL: an element */
    int64_t index; /* of an element, from 0 */
} alm_json_step;

typedef struct alm_json_path {
    uint32_t n;
    alm_json_step step[ALM_JSON_STEPS];
} alm_json_path;

typedef enum alm_json_kind {
    ALM_JSON_NOTHING, /* no such value, or no JSON */
    ALM_JSON_NULL,
    ALM_JSON_TRUE,
    ALM_JSON_FALSE,
    ALM_JSON_NUMBER,
    ALM_JSON_STRING, /* raw: between the quotes, escapes as they stand */
    ALM_JSON_TREE    /* an object or a list: its text */
} alm_json_kind;

typedef struct alm_json_value {
    alm_json_kind kind;
    alm_str raw;
} alm_json_value;

/* Names point into the text. False: not a path, or more steps than are allowed. */
bool alm_json_path_parse(alm_str text, alm_json_path *out);
alm_json_value alm_json_find(alm_str text, const alm_json_path *path);
/* A raw string without its escapes; room for raw.len bytes. */
size_t alm_json_unescape(alm_str raw, char *out);

#endif
