/*
 * ilp.h - reads the line protocol of InfluxDB, with the binary values of protocol versions 2 and 3:
 *
 *     table[,symbol=value]* [column=value[,column=value]*] [time] LF
 *
 * Input       Bytes as they come from a client: nothing is trusted. Lines are handed out one by one; a line
 *             that is not complete waits for more bytes.
 * Texts       Backslash makes the next byte literal. Texts of a line point into the input, or, where something
 *             was escaped, into memory of the reader; they live until the next line is read.
 * Tolerated   blank lines, comments (#), CR LF, several blanks between sections, a comma behind the last symbol and the
 *             last field, a byte order mark at the start of a line.
 * Errors      A bad line gives ALM_ILP_BAD with a reason that names the field; reading goes on behind its LF.
 */
#ifndef ALM_CODEC_ILP_ILP_H
#define ALM_CODEC_ILP_ILP_H

#include "type/int256.h"
#include "type/type.h"

typedef enum alm_ilp_kind {
    ALM_ILP_SYMBOL,  /* text */
    ALM_ILP_LONG,    /* i; 5i, 5u */
    ALM_ILP_DOUBLE,  /* f */
    ALM_ILP_BOOLEAN, /* i: 0 or 1 */
    ALM_ILP_STRING,  /* text */
    ALM_ILP_TIME,    /* i in the unit */
    ALM_ILP_LONG256, /* wide */
    ALM_ILP_DECIMAL, /* wide and scale; is_null */
    ALM_ILP_ARRAY, /* text: a uint32 per dimension, then doubles (the bytes of type/array.h); dims */
    ALM_ILP_KINDS
} alm_ilp_kind;

/* Units of times. In lines they are suffixes, of which there are ns, us and ms only. */
typedef enum alm_ilp_unit {
    ALM_ILP_NO_UNIT,
    ALM_ILP_NS,
    ALM_ILP_US,
    ALM_ILP_MS,
    ALM_ILP_SECOND,
    ALM_ILP_MINUTE,
    ALM_ILP_HOUR,
    ALM_ILP_UNITS
} alm_ilp_unit;

typedef struct alm_ilp_field {
    alm_str name;
    uint8_t kind; /* alm_ilp_kind */
    uint8_t unit; /* TIME: alm_ilp_unit */
    uint8_t scale, dims;
    bool is_null;
    alm_str text; /* SYMBOL, STRING, ARRAY; of other values as they were written */
    union {
        int64_t i;
        double f;
    };
    alm_i256 wide;
} alm_ilp_field;

typedef struct alm_ilp_line {
    alm_str table;
    const alm_ilp_field *fields; /* as written, doubles included; symbols first */
    uint32_t n_fields;
    bool has_time;
    int64_t time;
    alm_ilp_unit time_unit; /* of a suffix; NO_UNIT: there is none */
} alm_ilp_line;

typedef enum alm_ilp_result {
    ALM_ILP_LINE,
    ALM_ILP_BLANK, /* nothing on it */
    ALM_ILP_MORE,  /* the line goes on behind the bytes given */
    ALM_ILP_BAD    /* reader->reason */
} alm_ilp_result;

typedef struct alm_ilp_reader {
    alm_ctx *cx;
    alm_arena texts; /* unescaped texts of the line */
    alm_ilp_field *fields;
    uint32_t cap;
    bool skipping; /* behind an error whose line end has not come yet */
    char reason[240];
} alm_ilp_reader;

void alm_ilp_init(alm_ilp_reader *reader, alm_ctx *cx);
void alm_ilp_deinit(alm_ilp_reader *reader);

/*
 * Reads the line at the start of `bytes`; `last`: nothing comes behind them. *used counts the bytes of the
 * line with its LF (MORE: 0). A status other than ALM_OK is for want of memory only.
 */
ALM_NODISCARD alm_status alm_ilp_next(alm_ilp_reader *reader, const char *bytes, size_t n,
                                      bool last, size_t *used, alm_ilp_line *line,
                                      alm_ilp_result *result);

#endif
