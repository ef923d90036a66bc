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

static alm_status copy_options_refuse(option_reader *reader, const alm_copy_option *option,
                                      const char *text)
{
    return alm_fail(reader->cx, ALM_E_ARG, option->value_pos, "%s", text);
}

static bool copy_options_is_word(const alm_copy_option *option, const char *word)
{
    return alm_str_ieq(option->value, alm_str_of(word));
}

static alm_status needs_value(option_reader *reader, const alm_copy_option *option)
{
    if (option->value.ptr != NULL)
        return ALM_OK;
    return alm_fail(reader->cx, ALM_E_SYNTAX, option->pos, "option \"%.*s\" needs a value",
                    (int)option->name.len, option->name.ptr);
}

static alm_status copy_options_read_byte(option_reader *reader, const alm_copy_option *option,
                                         const char *what, char *dest)
{
    ALM_TRY(needs_value(reader, option));
    if (option->value.len == 2 &&
        alm_str_eq(option->value, ALM_STR("\\t"))) { /* the file form's spelling */
        *dest = '\t';
        return ALM_OK;
    }
    if (option->value.len != 1 || (unsigned char)option->value.ptr[0] >= 0x80)
        return alm_fail(reader->cx, ALM_E_ARG, option->value_pos,
                        "COPY %s must be a single one-byte character", what);
    if (option->value.ptr[0] == '\n' || option->value.ptr[0] == '\r' || option->value.ptr[0] == 0)
        return alm_fail(reader->cx, ALM_E_ARG, option->value_pos,
                        "COPY %s cannot be newline or carriage return", what);
    *dest = option->value.ptr[0];
    return ALM_OK;
}

/* ------------------------------------------------------------- one function each */

static alm_status read_parquet(option_reader *reader, const alm_copy_option *option)
{
    if (reader->stmt->kind != ALM_STMT_COPY_TO && !reader->out->file)
        return alm_fail(reader->cx, ALM_E_UNSUPPORTED, option->value_pos,
                        "COPY format \"parquet\" cannot come from STDIN: it is read from files");
    reader->out->parquet = reader->format = true;
    return ALM_OK;
}

static alm_status read_format(option_reader *reader, const alm_copy_option *option)
{
    ALM_TRY(needs_value(reader, option));
    if (copy_options_is_word(option, "text"))
        reader->out->format.kind = ALM_COPY_TEXT;
    else if (copy_options_is_word(option, "csv"))
        reader->out->format.kind = ALM_COPY_CSV;
    else if (copy_options_is_word(option, "binary"))
        reader->out->format.kind = ALM_COPY_BINARY;
    else if (copy_options_is_word(option, "parquet"))
        return read_parquet(reader, option);
    else if (reader->out->file && option->quoted)
        reader->out->pattern = option->value;
    else
        return alm_fail(reader->cx, ALM_E_ARG, option->value_pos,
                        "COPY format \"%.*s\" not recognized",
                        (int)ALM_MIN(option->value.len, (size_t)100), option->value.ptr);
    reader->format = reader->out->pattern.ptr == NULL;
    return ALM_OK;
}

static alm_status copy_options_read_header(option_reader *reader, const alm_copy_option *option)
{
    const bool no = copy_options_is_word(option, "false") || copy_options_is_word(option, "off") ||
                    copy_options_is_word(option, "0");
    const bool yes = option->value.ptr == NULL || copy_options_is_word(option, "true") ||
                     copy_options_is_word(option, "on") || copy_options_is_word(option, "1");
    reader->out->header_given = true;
    reader->out->match = copy_options_is_word(option, "match");
    if (reader->out->match && reader->stmt->kind == ALM_STMT_COPY_TO)
        return copy_options_refuse(reader, option, "cannot use \"match\" with HEADER in COPY TO");
    if (!yes && !no && !reader->out->match)
        return copy_options_refuse(reader, option, "header requires a Boolean value or \"match\"");
    reader->out->format.header = !no;
    return ALM_OK;
}

static alm_status read_delimiter(option_reader *reader, const alm_copy_option *option)
{
    reader->delimiter = reader->out->delimiter_given = true;
    return copy_options_read_byte(reader, option, "delimiter", &reader->out->format.delimiter);
}

static alm_status read_null(option_reader *reader, const alm_copy_option *option)
{
    ALM_TRY(needs_value(reader, option));
    reader->null = true;
    reader->out->format.null = option->value;
    if (option->value.len > 0 && (memchr(option->value.ptr, '\n', option->value.len) != NULL ||
                                  memchr(option->value.ptr, '\r', option->value.len) != NULL))
        return copy_options_refuse(
            reader, option, "COPY null representation cannot use newline or carriage return");
    return ALM_OK;
}

static alm_status read_quote(option_reader *reader, const alm_copy_option *option)
{
    reader->quote = true;
    return copy_options_read_byte(reader, option, "quote", &reader->out->format.quote);
}

static alm_status copy_options_read_escape(option_reader *reader, const alm_copy_option *option)
{
    reader->escape = true;
    return copy_options_read_byte(reader, option, "escape", &reader->out->format.escape);
}

static alm_status read_encoding(option_reader *reader, const alm_copy_option *option)
{
    ALM_TRY(needs_value(reader, option));
    if (copy_options_is_word(option, "utf8") || copy_options_is_word(option, "utf-8") ||
        copy_options_is_word(option, "unicode"))
        return ALM_OK;
    return alm_fail(reader->cx, ALM_E_UNSUPPORTED, option->value_pos,
                    "encoding \"%.*s\": only UTF8 is supported",
                    (int)ALM_MIN(option->value.len, (size_t)100), option->value.ptr);
}

static alm_status read_force(option_reader *reader, const alm_copy_option *option)
{
    if (!option->all && option->n_list == 0)
        return alm_fail(reader->cx, ALM_E_SYNTAX, option->pos,
                        "option \"%.*s\" needs a list of columns or *", (int)option->name.len,
                        option->name.ptr);
    reader->force = option;
    reader->out->forced = true;
    return ALM_OK;
}

static alm_status read_on_error(option_reader *reader, const alm_copy_option *option)
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
        if (!copy_options_is_word(option, rows[i].word))
            continue;
        reader->out->rule = rows[i].rule;
        return ALM_OK;
    }
    return copy_options_refuse(
        reader, option, "invalid 'ON ERROR' option: SKIP_ROW, SKIP_COLUMN or ABORT expected");
}

static alm_status read_reject_limit(option_reader *reader, const alm_copy_option *option)
{
    ALM_TRY(needs_value(reader, option));
    if (alm_int64_parse(option->value, &reader->out->reject_limit) != ALM_NUM_OK ||
        reader->out->reject_limit <= 0)
        return copy_options_refuse(reader, option, "REJECT_LIMIT must be greater than zero");
    return ALM_OK;
}

/* How much is told of lines that are left out. */
static alm_status read_log_verbosity(option_reader *reader, const alm_copy_option *option)
{
    ALM_TRY(needs_value(reader, option));
    reader->out->silent = copy_options_is_word(option, "silent");
    reader->out->verbose = copy_options_is_word(option, "verbose");
    if (reader->out->silent || reader->out->verbose || copy_options_is_word(option, "default"))
        return ALM_OK;
    return copy_options_refuse(reader, option, "LOG_VERBOSITY must be default, verbose or silent");
}

static alm_status only_of_files(option_reader *reader, const alm_copy_option *option)
{
    ALM_TRY(needs_value(reader, option));
    if (reader->out->file)
        return ALM_OK;
    return alm_fail(reader->cx, ALM_E_ARG, option->pos,
                    "option \"%.*s\" is for files of the server", (int)option->name.len,
                    option->name.ptr);
}

static alm_status read_timestamp(option_reader *reader, const alm_copy_option *option)
{
    reader->out->timestamp = option->value;
    reader->out->timestamp_pos = option->value_pos;
    return only_of_files(reader, option);
}

static alm_status copy_options_read_partition(option_reader *reader, const alm_copy_option *option)
{
    reader->out->partition_by = option->value;
    reader->out->partition_pos = option->value_pos;
    return only_of_files(reader, option);
}

static alm_status read_default(option_reader *reader, const alm_copy_option *option)
{
    return alm_fail(reader->cx, ALM_E_UNSUPPORTED, option->pos,
                    "COPY option \"default\" is not supported: columns have no defaults");
}

static alm_status read_freeze(option_reader *reader, const alm_copy_option *option)
{
    (void)reader;
    (void)option;
    return ALM_OK; /* rows are always as FREEZE would have them */
}

static const struct {
    const char *name;
    alm_status (*read)(option_reader *r, const alm_copy_option *o);
    bool from_only;
} option_rows[] = {{"format", read_format},
                   {"header", copy_options_read_header},
                   {"delimiter", read_delimiter},
                   {"delimiters", read_delimiter},
                   {"null", read_null},
                   {"quote", read_quote},
                   {"escape", copy_options_read_escape},
                   {"encoding", read_encoding},
                   {"force_quote", read_force},
                   {"force_not_null", read_force},
                   {"force_null", read_force},
                   {"on_error", read_on_error, true},
                   {"timestamp", read_timestamp},
                   {"partition_by", copy_options_read_partition},
                   {"freeze", read_freeze, true},
                   {"default", read_default, true},
                   {"reject_limit", read_reject_limit, true},
                   {"log_verbosity", read_log_verbosity}};

/* ------------------------------------------------------------------- together */

static alm_status copy_options_read_one(option_reader *reader, const alm_copy *copy, uint32_t k)
{
    const alm_copy_option *option = &copy->options[k];
    /* FORMAT may come twice before a file: CSV, and the pattern of its times */
    for (uint32_t i = 0; i < k; i++)
        if (alm_str_eq(copy->options[i].name, option->name) &&
            !(reader->out->file && alm_str_eq(option->name, ALM_STR("format"))))
            return alm_fail(reader->cx, ALM_E_SYNTAX, option->pos,
                            "conflicting or redundant options");
    for (size_t i = 0; i < ALM_COUNT(option_rows); i++) {
        if (!alm_str_eq(option->name, alm_str_of(option_rows[i].name)))
            continue;
        if (option_rows[i].from_only && reader->stmt->kind == ALM_STMT_COPY_TO)
            return alm_fail(reader->cx, ALM_E_ARG, option->pos,
                            "COPY %s cannot be used with COPY TO", option_rows[i].name);
        return option_rows[i].read(reader, option);
    }
    if (reader->stmt->kind == ALM_STMT_COPY_TO) {
        bool known = false;
        ALM_TRY(alm_pq_request_read(reader->cx, option->value_pos, option->name, option->value,
                                    &reader->out->parquet_request, &known));
        if (known) {
            reader->of_parquet = option;
            return ALM_OK;
        }
    }
    return alm_fail(reader->cx, ALM_E_SYNTAX, option->pos, "option \"%.*s\" not recognized",
                    (int)ALM_MIN(option->name.len, (size_t)100), option->name.ptr);
}

static alm_status incompatible(option_reader *reader, const char *text)
{
    return alm_fail(reader->cx, ALM_E_ARG, reader->stmt->pos, "%s", text);
}

static bool copy_options_holds(alm_str text, char byte)
{
    return text.len > 0 && memchr(text.ptr, byte, text.len) != NULL;
}

static alm_status check_parquet(option_reader *reader)
{
    if (reader->delimiter || reader->null || reader->quote || reader->escape ||
        reader->force != NULL || reader->out->header_given || reader->out->pattern.ptr != NULL)
        return incompatible(reader,
                            "FORMAT PARQUET takes no DELIMITER, NULL, QUOTE, ESCAPE, HEADER, "
                            "FORCE_QUOTE or pattern of times");
    if (reader->out->timestamp.ptr != NULL && reader->stmt->kind == ALM_STMT_COPY_TO)
        return incompatible(reader, "TIMESTAMP is for COPY FROM");
    return alm_pq_request_check(reader->cx, &reader->out->parquet_request);
}

static alm_status check_together(option_reader *reader)
{
    const alm_copy_format *format = &reader->out->format;
    if (reader->out->parquet)
        return check_parquet(reader);
    if (reader->of_parquet != NULL)
        return alm_fail(reader->cx, ALM_E_ARG, reader->of_parquet->pos,
                        "option \"%.*s\" is for FORMAT PARQUET", (int)reader->of_parquet->name.len,
                        reader->of_parquet->name.ptr);
    const bool csv = format->kind == ALM_COPY_CSV;
    if (format->kind == ALM_COPY_BINARY && (reader->delimiter || reader->null || format->header))
        return incompatible(reader, "cannot specify DELIMITER, NULL or HEADER in BINARY mode");
    if (!csv && (reader->quote || reader->escape))
        return incompatible(reader, "COPY quote and escape are available only in CSV mode");
    if (!csv && reader->force != NULL)
        return incompatible(reader, "COPY force options are available only in CSV mode");
    if (format->kind == ALM_COPY_TEXT &&
        strchr("\\.abcdefghijklmnopqrstuvwxyz0123456789", format->delimiter) != NULL)
        return alm_fail(reader->cx, ALM_E_ARG, reader->stmt->pos, "COPY delimiter cannot be \"%c\"",
                        format->delimiter);
    if (csv && format->delimiter == format->quote)
        return incompatible(reader, "COPY delimiter and quote must be different");
    if (reader->out->reject_limit > 0 && reader->out->rule != ALM_BAD_SKIP_ROW)
        return incompatible(reader, "COPY REJECT_LIMIT needs ON_ERROR that skips rows");
    if (copy_options_holds(format->null, format->delimiter))
        return incompatible(reader, "COPY delimiter must not appear in the NULL specification");
    if (csv && copy_options_holds(format->null, format->quote))
        return incompatible(reader,
                            "CSV quote character must not appear in the NULL specification");
    return ALM_OK;
}

static void set_defaults(option_reader *reader)
{
    alm_copy_format *format = &reader->out->format;
    const bool csv = format->kind == ALM_COPY_CSV;
    if (!reader->delimiter)
        format->delimiter = csv ? ',' : '\t';
    if (!reader->null)
        format->null = csv ? ALM_STR("") : ALM_STR("\\N");
    if (!reader->quote)
        format->quote = '"';
    if (!reader->escape)
        format->escape = format->quote;
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
    option_reader reader = {.cx = cx, .stmt = stmt, .out = out};
    for (uint32_t i = 0; i < copy->n_options; i++)
        ALM_TRY(copy_options_read_one(&reader, copy, i));
    set_defaults(&reader);
    return check_together(&reader);
}

/* The flags of one force option. */
static alm_status force_columns(alm_ctx *cx, const alm_copy_option *option,
                                const char *const *names, uint32_t n_flags, const bool **out)
{
    bool *flags = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_flags + 1, &flags));
    for (uint32_t i = 0; i < n_flags; i++)
        flags[i] = option->all;
    for (uint32_t list = 0; list < option->n_list; list++) {
        uint32_t i = 0;
        while (i < n_flags && !alm_str_ieq(option->list[list], alm_str_of(names[i])))
            i++;
        if (i == n_flags)
            return alm_fail(cx, ALM_E_NAME, option->pos,
                            "%.*s: column \"%.*s\" not referenced by COPY", (int)option->name.len,
                            option->name.ptr, (int)option->list[list].len, option->list[list].ptr);
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
        const alm_copy_option *option = &copy->options[i];
        const bool quote = alm_str_eq(option->name, ALM_STR("force_quote"));
        const bool not_null = alm_str_eq(option->name, ALM_STR("force_not_null"));
        if (!quote && !not_null && !alm_str_eq(option->name, ALM_STR("force_null")))
            continue;
        if (quote != to)
            return alm_fail(cx, ALM_E_ARG, option->pos, "COPY %.*s cannot be used with COPY %s",
                            (int)option->name.len, option->name.ptr, to ? "TO" : "FROM");
        ALM_TRY(force_columns(cx, option, names, n,
                              quote      ? &format->force_quote
                              : not_null ? &format->force_not_null
                                         : &format->force_null));
    }
    return ALM_OK;
}
