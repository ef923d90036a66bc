/*
 * ops.h - what a type does: one table of functions per type, in the file of the type (uuid.c, decimal.c ...). The row
 * of type.def leads to it. Consumers ask the table once per column or per value, never by the number of the type.
 *
 * A NULL entry has the meaning that its comment gives. Values are at aligned addresses and as vectors hold them.
 */
#ifndef ALM_TYPE_OPS_H
#define ALM_TYPE_OPS_H

#include "base/number.h"
#include "time/timestamp.h"
#include "type/parquet.h"
#include "type/pg.h"
#include "type/text.h"

enum { ALM_TYPE_ALIASES_MAX = 6 };

/* What a text is that meets a value of the type, where nobody wrote a cast. */
typedef enum alm_written {
    ALM_WRITTEN_BY_CLASS, /* the rules of the class say it */
    ALM_WRITTEN_TEXT,     /* a value of the type; and for functions of texts a value is its text */
    ALM_WRITTEN_WIDE /* a value of the type; which overloads take only where nothing else fits */
} alm_written;

typedef struct alm_type_ops {
    /* Spellings besides the name of the row: those of PostgreSQL that drivers write. */
    const char *aliases[ALM_TYPE_ALIASES_MAX];
    alm_time_unit unit; /* of the types of class TIME */
    alm_written written;

    /* Text out, at most ALM_VALUE_TEXT_MAX bytes; 0: the value is null. NULL: the value is a view of its text. */
    size_t (*format)(alm_type type, const void *at, alm_text_style style, char *out);
    /* Text out of values without a bound of their length. NULL: as `format` does. */
    alm_status (*append)(alm_ctx *cx, const alm_vec *v, size_t i, alm_text_style style,
                         alm_buf *out, bool *is_null);
    /* Text in: a text that is not null. NULL: `parse` reads it. */
    alm_scan_result (*scan)(alm_type type, alm_str text, void *out);
    /* Text in of what is stored: also the null that an empty text is. NULL: as `scan`. */
    alm_scan_result (*scan_stored)(alm_type type, alm_str text, void *out);
    /* Text in where the value needs memory, which is that of cx->arena; *good: is it a text of the type? */
    alm_status (*parse)(alm_ctx *cx, int32_t pos, alm_type type, alm_str text, void *out,
                        bool *good);
    const char *bad_text; /* start of the error for a text of another form; NULL: the common one */

    /* Binary form of PostgreSQL, big-endian: of a value that is not null, into 96 bytes; bytes written. NULL: its text. */
    size_t (*pg_send)(alm_type type, const void *at, char *to);
    /* And back; index: the number of the parameter, from 0, for errors. NULL: a text. */
    alm_status (*pg_receive)(alm_ctx *cx, uint32_t index, alm_type type, alm_str in, void *out);

    /* In a Parquet file. raw: read by this program alone (partitions in Parquet), so that no value becomes a text. */
    alm_parquet_form (*parquet)(alm_type type, bool raw);
} alm_type_ops;

#define ALM_TYPE(id, ...) extern const alm_type_ops alm_type_ops_##id;
#include "type/type.def"
#undef ALM_TYPE
extern const alm_type_ops alm_type_ops_NULL;

/* Of what a time counts; microseconds for a type that is none. */
static inline alm_time_unit alm_type_unit(alm_type type)
{
    const alm_type_info *info = alm_type_info_of(type);
    return info->cls == ALM_TC_TIME ? info->ops->unit : ALM_TIME_US;
}

static inline alm_written alm_type_written(alm_type type)
{
    return alm_type_info_of(type)->ops->written;
}

/* For the files of types. */
alm_scan_result alm_scan_of_number(alm_num_parse got);
alm_scan_result alm_scan_view(alm_type type, alm_str text, void *out); /* `scan` of views */
alm_parquet_form alm_parquet_string(alm_type type, bool raw);          /* `parquet` of texts */

#endif
