/*
 * json.h - small JSON documents from outside (an import schema, answers of an identity provider), read
 * whole into a tree. Behind it: jansson. Numbers, texts and depth are checked by the parser; duplicate
 * keys are refused.
 *
 * Ownership   A document owns all nodes; texts live as long as it does.
 */
#ifndef ALM_CODEC_JSON_H
#define ALM_CODEC_JSON_H

#include "base/base.h"

typedef struct alm_json alm_json; /* a node; the document is its root */

/* ALM_E_VALUE with the line and what was expected. */
ALM_NODISCARD alm_status alm_json_parse(alm_ctx *cx, alm_str text, alm_json **out);
void alm_json_free(alm_json *document);

/* Elements of an array; 0 and NULL for other nodes. */
size_t alm_json_count(const alm_json *node);
const alm_json *alm_json_at(const alm_json *node, size_t i);
bool alm_json_is_array(const alm_json *node);
bool alm_json_is_object(const alm_json *node);
/* Member of an object; NULL: none. */
const alm_json *alm_json_get(const alm_json *node, const char *key);
/* ptr NULL: the node is not a text (or is NULL itself). */
alm_str alm_json_text(const alm_json *node);
int64_t alm_json_int(const alm_json *node,
                     int64_t otherwise); /* no integer, or NULL: `otherwise` */

/* A time in seconds, with a fraction or without (rounded down); false: it is none. */
bool alm_json_seconds(const alm_json *node, int64_t *out);
bool alm_json_is_true(const alm_json *node);
bool alm_json_is_null(const alm_json *node); /* null, or no node at all */

#endif
