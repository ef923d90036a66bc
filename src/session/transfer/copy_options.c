/*
 * copy_options.c - what the options of COPY say: names and values of the parser become a format. The
 * rules, and the words of the errors, are PostgreSQL's where it has the option.
 */
#include "base/number.h"
#include "session/transfer/copy.h"

typedef struct option_reader {
    alm_ctx *cx;
    const alm_stmt *stmt;
    alm_copy_options *out;
    bool delimiter, null, quote, escape, format;
    const alm_copy_option *force;      /* one of them */
    const alm_copy_option *of_parquet; /* likewise */
} option_reader;

static alm_status refuse(option_reader *r, const alm_copy_option *o, const char *text)
{
    return alm_fail(r->cx, ALM_E_ARG, o->value_pos, "%s", text);
}

static bool is_word(const alm_copy_option *o, const char *word)
{
    return alm_str_ieq(o->value, alm_str_of(word));
}

static alm_status needs_value(option_reader *r, const alm_copy_option *o)
{
    if (o->value.ptr != NULL)
        return ALM_OK;
    return alm_fail(r->cx, ALM_E_SYNTAX, o->pos, "option \"%.*s\" needs a value", (int)o->name.len,
                    o->name.ptr);
}

static alm_status read_byte(option_reader *r, const alm_copy_option *o, const char *what, char *to)
{
    ALM_TRY(needs_value(r, o));
    if (o->value.len == 2 && alm_str_eq(o->value, ALM_STR("\\t"))) { /* the file form's spelling */
        *to = '\t';
        return ALM_OK;
    }
    if (o->value.len != 1 || (unsigned char)o->value.ptr[0] >= 0x80)
        return alm_fail(r->cx, ALM_E_ARG, o->value_pos,
                        "COPY %s must be a single one-byte character", what);
    if (o->value.ptr[0] == '\n' || o->value.ptr[0] == '\r' || o->value.ptr[0] == 0)
        return alm_fail(r->cx, ALM_E_ARG, o->value_pos,
                        "COPY %s cannot be newline or carriage return", what);
    *to = o->value.ptr[0];
    return ALM_OK;
}

/* ------------------------------------------------------------- one function each */

static alm_status read_parquet(option_reader *r, const alm_copy_option *o)
{
    if (r->stmt->kind != ALM_STMT_COPY_TO && !r->out->file)
        return alm_fail(r->cx, ALM_E_UNSUPPORTED, o->value_pos,
                        "COPY format \"parquet\" cannot come from STDIN: it is read from files");
    r->out->parquet = r->format = true;
    return ALM_OK;
}

static alm_status read_format(option_reader *r, const alm_copy_option *o)
{
    ALM_TRY(needs_value(r, o));
    if (is_word(o, "text"))
        r->out->format.kind = ALM_COPY_TEXT;
    else if (is_word(o, "csv"))
        r->out->format.kind = ALM_COPY_CSV;
    else if (is_word(o, "binary"))
        r->out->format.kind = ALM_COPY_BINARY;
    else if (is_word(o, "parquet"))
        return read_parquet(r, o);
    else if (r->out->file && o->quoted)
        r->out->pattern = o->value;
    else
        return alm_fail(r->cx, ALM_E_ARG, o->value_pos, "COPY format \"%.*s\" not recognized",
                        (int)ALM_MIN(o->value.len, (size_t)100), o->value.ptr);
    r->format = r->out->pattern.ptr == NULL;
    return ALM_OK;
}

static alm_status read_header(option_reader *r, const alm_copy_option *o)
{
    const bool no = is_word(o, "false") || is_word(o, "off") || is_word(o, "0");
    const bool yes =
        o->value.ptr == NULL || is_word(o, "true") || is_word(o, "on") || is_word(o, "1");
    r->out->header_given = true;
    r->out->match = is_word(o, "match");
    if (r->out->match && r->stmt->kind == ALM_STMT_COPY_TO)
        return refuse(r, o, "cannot use \"match\" with HEADER in COPY TO");
    if (!yes && !no && !r->out->match)
        return refuse(r, o, "header requires a Boolean value or \"match\"");
    r->out->format.header = !no;
    return ALM_OK;
}

static alm_status read_delimiter(option_reader *r, const alm_copy_option *o)
{
    r->delimiter = r->out->delimiter_given = true;
    return read_byte(r, o, "delimiter", &r->out->format.delimiter);
}

static alm_status read_null(option_reader *r, const alm_copy_option *o)
{
    ALM_TRY(needs_value(r, o));
    r->null = true;
    r->out->format.null = o->value;
    if (o->value.len > 0 && (memchr(o->value.ptr, '\n', o->value.len) != NULL ||
                             memchr(o->value.ptr, '\r', o->value.len) != NULL))
        return refuse(r, o, "COPY null representation cannot use newline or carriage return");
    return ALM_OK;
}

static alm_status read_quote(option_reader *r, const alm_copy_option *o)
{
    r->quote = true;
    return read_byte(r, o, "quote", &r->out->format.quote);
}

static alm_status read_escape(option_reader *r, const alm_copy_option *o)
{
    r->escape = true;
    return read_byte(r, o, "escape", &r->out->format.escape);
}

static alm_status read_encoding(option_reader *r, const alm_copy_option *o)
{
    ALM_TRY(needs_value(r, o));
    if (is_word(o, "utf8") || is_word(o, "utf-8") || is_word(o, "unicode"))
        return ALM_OK;
    return alm_fail(r->cx, ALM_E_UNSUPPORTED, o->value_pos,
                    "encoding \"%.*s\": only UTF8 is supported",
                    (int)ALM_MIN(o->value.len, (size_t)100), o->value.ptr);
}

static alm_status read_force(option_reader *r, const alm_copy_option *o)
{
    if (!o->all && o->n_list == 0)
        return alm_fail(r->cx, ALM_E_SYNTAX, o->pos, "option \"%.*s\" needs a list of columns or *",
                        (int)o->name.len, o->name.ptr);
    r->force = o;
    r->out->forced = true;
    return ALM_OK;
}

static alm_status read_on_error(option_reader *r, const alm_copy_option *o)
{
    static const struct {
        const char *word;
        alm_bad_rule rule;
    } rows[] = {{"skip_row", ALM_BAD_SKIP_ROW},
                {"ignore", ALM_BAD_SKIP_ROW},
                {"skip_column", ALM_BAD_SKIP_COLUMN},
                {"abort", ALM_BAD_ABORT},
                {"stop", ALM_BAD_ABORT}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        if (!is_word(o, rows[i].word))
            continue;
        r->out->rule = rows[i].rule;
        return ALM_OK;
    }
    return refuse(r, o, "invalid 'ON ERROR' option: SKIP_ROW, SKIP_COLUMN or ABORT expected");
}

static alm_status read_reject_limit(option_reader *r, const alm_copy_option *o)
{
    ALM_TRY(needs_value(r, o));
    if (alm_int64_parse(o->value, &r->out->reject_limit) != ALM_NUM_OK || r->out->reject_limit <= 0)
        return refuse(r, o, "REJECT_LIMIT must be greater than zero");
    return ALM_OK;
}

/* How much is told of lines that are left out. */
static alm_status read_log_verbosity(option_reader *r, const alm_copy_option *o)
{
    ALM_TRY(needs_value(r, o));
    r->out->silent = is_word(o, "silent");
    r->out->verbose = is_word(o, "verbose");
    if (r->out->silent || r->out->verbose || is_word(o, "default"))
        return ALM_OK;
    return refuse(r, o, "LOG_VERBOSITY must be default, verbose or silent");
}

static alm_status only_of_files(option_reader *r, const alm_copy_option *o)
{
    ALM_TRY(needs_value(r, o));
    if (r->out->file)
        return ALM_OK;
    return alm_fail(r->cx, ALM_E_ARG, o->pos, "option \"%.*s\" is for files of the server",
                    (int)o->name.len, o->name.ptr);
}

static alm_status read_timestamp(option_reader *r, const alm_copy_option *o)
{
    r->out->timestamp = o->value;
    r->out->timestamp_pos = o->value_pos;
    return only_of_files(r, o);
}

static alm_status read_partition(option_reader *r, const alm_copy_option *o)
{
    r->out->partition_by = o->value;
    r->out->partition_pos = o->value_pos;
    return only_of_files(r, o);
}

static alm_status read_default(option_reader *r, const alm_copy_option *o)
{
    return alm_fail(r->cx, ALM_E_UNSUPPORTED, o->pos,
                    "COPY option \"default\" is not supported: columns have no defaults");
}

static alm_status read_freeze(option_reader *r, const alm_copy_option *o)
{
    (void)r;
    (void)o;
    return ALM_OK; /* rows are always as FREEZE would have them */
}

static const struct {
    const char *name;
    alm_status (*read)(option_reader *r, const alm_copy_option *o);
    bool from_only;
} option_rows[] = {{"format", read_format},
                   {"header", read_header},
                   {"delimiter", read_delimiter},
                   {"delimiters", read_delimiter},
                   {"null", read_null},
                   {"quote", read_quote},
                   {"escape", read_escape},
                   {"encoding", read_encoding},
                   {"force_quote", read_force},
                   {"force_not_null", read_force},
                   {"force_null", read_force},
                   {"on_error", read_on_error, true},
                   {"timestamp", read_timestamp},
                   {"partition_by", read_partition},
                   {"freeze", read_freeze, true},
                   {"default", read_default, true},
                   {"reject_limit", read_reject_limit, true},
                   {"log_verbosity", read_log_verbosity}};

/* ------------------------------------------------------------------- together */

static alm_status read_one(option_reader *r, const alm_copy *copy, uint32_t k)
{
    const alm_copy_option *o = &copy->options[k];
    /* FORMAT may come twice before a file: CSV, and the pattern of its times */
    for (uint32_t i = 0; i < k; i++)
        if (alm_str_eq(copy->options[i].name, o->name) &&
            !(r->out->file && alm_str_eq(o->name, ALM_STR("format"))))
            return alm_fail(r->cx, ALM_E_SYNTAX, o->pos, "conflicting or redundant options");
    for (size_t i = 0; i < ALM_COUNT(option_rows); i++) {
        if (!alm_str_eq(o->name, alm_str_of(option_rows[i].name)))
            continue;
        if (option_rows[i].from_only && r->stmt->kind == ALM_STMT_COPY_TO)
            return alm_fail(r->cx, ALM_E_ARG, o->pos, "COPY %s cannot be used with COPY TO",
                            option_rows[i].name);
        return option_rows[i].read(r, o);
    }
    if (r->stmt->kind == ALM_STMT_COPY_TO) {
        bool known = false;
        ALM_TRY(alm_pq_request_read(r->cx, o->value_pos, o->name, o->value,
                                    &r->out->parquet_request, &known));
        if (known) {
            r->of_parquet = o;
            return ALM_OK;
        }
    }
    return alm_fail(r->cx, ALM_E_SYNTAX, o->pos, "option \"%.*s\" not recognized",
                    (int)ALM_MIN(o->name.len, (size_t)100), o->name.ptr);
}

static alm_status incompatible(option_reader *r, const char *text)
{
    return alm_fail(r->cx, ALM_E_ARG, r->stmt->pos, "%s", text);
}

static bool holds(alm_str text, char c)
{
    return text.len > 0 && memchr(text.ptr, c, text.len) != NULL;
}

static alm_status check_parquet(option_reader *r)
{
    if (r->delimiter || r->null || r->quote || r->escape || r->force != NULL ||
        r->out->header_given || r->out->pattern.ptr != NULL)
        return incompatible(r, "FORMAT PARQUET takes no DELIMITER, NULL, QUOTE, ESCAPE, HEADER, "
                               "FORCE_QUOTE or pattern of times");
    if (r->out->timestamp.ptr != NULL && r->stmt->kind == ALM_STMT_COPY_TO)
        return incompatible(r, "TIMESTAMP is for COPY FROM");
    return alm_pq_request_check(r->cx, &r->out->parquet_request);
}

static alm_status check_together(option_reader *r)
{
    const alm_copy_format *f = &r->out->format;
    if (r->out->parquet)
        return check_parquet(r);
    if (r->of_parquet != NULL)
        return alm_fail(r->cx, ALM_E_ARG, r->of_parquet->pos,
                        "option \"%.*s\" is for FORMAT PARQUET", (int)r->of_parquet->name.len,
                        r->of_parquet->name.ptr);
    const bool csv = f->kind == ALM_COPY_CSV;
    if (f->kind == ALM_COPY_BINARY && (r->delimiter || r->null || f->header))
        return incompatible(r, "cannot specify DELIMITER, NULL or HEADER in BINARY mode");
    if (!csv && (r->quote || r->escape))
        return incompatible(r, "COPY quote and escape are available only in CSV mode");
    if (!csv && r->force != NULL)
        return incompatible(r, "COPY force options are available only in CSV mode");
    if (f->kind == ALM_COPY_TEXT &&
        strchr("\\.abcdefghijklmnopqrstuvwxyz0123456789", f->delimiter) != NULL)
        return alm_fail(r->cx, ALM_E_ARG, r->stmt->pos, "COPY delimiter cannot be \"%c\"",
                        f->delimiter);
    if (csv && f->delimiter == f->quote)
        return incompatible(r, "COPY delimiter and quote must be different");
    if (r->out->reject_limit > 0 && r->out->rule != ALM_BAD_SKIP_ROW)
        return incompatible(r, "COPY REJECT_LIMIT needs ON_ERROR that skips rows");
    if (holds(f->null, f->delimiter))
        return incompatible(r, "COPY delimiter must not appear in the NULL specification");
    if (csv && holds(f->null, f->quote))
        return incompatible(r, "CSV quote character must not appear in the NULL specification");
    return ALM_OK;
}

static void set_defaults(option_reader *r)
{
    alm_copy_format *f = &r->out->format;
    const bool csv = f->kind == ALM_COPY_CSV;
    if (!r->delimiter)
        f->delimiter = csv ? ',' : '\t';
    if (!r->null)
        f->null = csv ? ALM_STR("") : ALM_STR("\\N");
    if (!r->quote)
        f->quote = '"';
    if (!r->escape)
        f->escape = f->quote;
}

alm_status alm_copy_options_read(alm_ctx *cx, const alm_stmt *stmt, alm_copy_options *out)
{
    const alm_copy *copy = stmt->ext;
    *out = (alm_copy_options){.file = copy->place == ALM_COPY_AT_FILE, .rule = ALM_BAD_ABORT};
    if (out->file) {
        out->format.kind = ALM_COPY_CSV;
        out->rule = ALM_BAD_SKIP_COLUMN;
    }
    alm_pq_request_init(&out->parquet_request);
    option_reader r = {.cx = cx, .stmt = stmt, .out = out};
    for (uint32_t i = 0; i < copy->n_options; i++)
        ALM_TRY(read_one(&r, copy, i));
    set_defaults(&r);
    return check_together(&r);
}

/* The flags of one force option. */
static alm_status force_columns(alm_ctx *cx, const alm_copy_option *o, const char *const *names,
                                uint32_t n, const bool **out)
{
    bool *flags = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &flags));
    for (uint32_t i = 0; i < n; i++)
        flags[i] = o->all;
    for (uint32_t k = 0; k < o->n_list; k++) {
        uint32_t i = 0;
        while (i < n && !alm_str_ieq(o->list[k], alm_str_of(names[i])))
            i++;
        if (i == n)
            return alm_fail(cx, ALM_E_NAME, o->pos, "%.*s: column \"%.*s\" not referenced by COPY",
                            (int)o->name.len, o->name.ptr, (int)o->list[k].len, o->list[k].ptr);
        flags[i] = true;
    }
    *out = flags;
    return ALM_OK;
}

alm_status alm_copy_options_columns(alm_ctx *cx, const alm_stmt *stmt, const char *const *names,
                                    uint32_t n, alm_copy_format *format)
{
    const alm_copy *copy = stmt->ext;
    const bool to = stmt->kind == ALM_STMT_COPY_TO;
    for (uint32_t i = 0; i < copy->n_options; i++) {
        const alm_copy_option *o = &copy->options[i];
        const bool quote = alm_str_eq(o->name, ALM_STR("force_quote"));
        const bool not_null = alm_str_eq(o->name, ALM_STR("force_not_null"));
        if (!quote && !not_null && !alm_str_eq(o->name, ALM_STR("force_null")))
            continue;
        if (quote != to)
            return alm_fail(cx, ALM_E_ARG, o->pos, "COPY %.*s cannot be used with COPY %s",
                            (int)o->name.len, o->name.ptr, to ? "TO" : "FROM");
        ALM_TRY(force_columns(cx, o, names, n,
                              quote      ? &format->force_quote
                              : not_null ? &format->force_not_null
                                         : &format->force_null));
    }
    return ALM_OK;
}
