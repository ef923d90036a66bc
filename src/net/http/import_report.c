/* import_report.c - see import_report.h. */
#include "net/http/import_report.h"

#include <stdio.h>

#include "codec/json.h"
#include "codec/json_text.h"
#include "session/transfer/load.h"

static const char *const partition_names[] = {
    [ALM_PART_NONE] = "NONE", [ALM_PART_HOUR] = "HOUR",   [ALM_PART_DAY] = "DAY",
    [ALM_PART_WEEK] = "WEEK", [ALM_PART_MONTH] = "MONTH", [ALM_PART_YEAR] = "YEAR"};

alm_status alm_import_report_init(alm_ctx *cx, alm_arena *arena, alm_import_report *report,
                                  const alm_csv_shape *shape, const alm_table *table)
{
    report->n_cols = shape->n_cols;
    ALM_TRY(ALM_NEWN(cx, arena, report->n_cols + 1, &report->col_names));
    ALM_TRY(ALM_NEWN(cx, arena, report->n_cols + 1, &report->col_types));
    ALM_TRY(ALM_NEWN(cx, arena, report->n_cols + 1, &report->looks));
    for (uint32_t i = 0; i < report->n_cols; i++) {
        report->col_names[i] = shape->cols[i].name;
        report->col_types[i] = shape->cols[i].type;
        report->looks[i] = shape->cols[i].looks;
    }
    return alm_import_report_table(cx, arena, report, table);
}

alm_status alm_import_report_table(alm_ctx *cx, alm_arena *arena, alm_import_report *report,
                                   const alm_table *table)
{
    report->partition = partition_names[table->partition];
    report->timestamp = NULL;
    if (table->ts_col < 0)
        return ALM_OK;
    return alm_arena_zstr(cx, arena, alm_str_of(table->cols[table->ts_col].name),
                          &report->timestamp);
}

static int json_size(alm_type type)
{
    if (type.id == ALM_T_STRING || type.id == ALM_T_VARCHAR)
        return 0;
    return type.id == ALM_T_SYMBOL ? 4 : (int)alm_type_width(type);
}

static uint32_t shown_faults(const alm_import_report *report)
{
    return (uint32_t)ALM_MIN(report->n_faulty, (int64_t)ALM_LOAD_FAULTS_MAX);
}

/* ,"key":["..",..], and how many more there are than the n. */
static alm_status import_report_put_texts(alm_ctx *cx, alm_buf *out, const char *key,
                                          const char *const *texts, uint32_t n, int64_t all)
{
    ALM_TRY(alm_buf_printf(cx, out, ",\"%s\":", key));
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_buf_text(cx, out, i > 0 ? "," : "["));
        ALM_TRY(alm_json_put_string(cx, out, alm_str_of(texts[i])));
    }
    if (all > n)
        ALM_TRY(alm_buf_printf(cx, out, ",\"and %lld more\"", (long long)(all - n)));
    return alm_buf_text(cx, out, "]");
}

/* What is known of the file beside its columns. */
static alm_status import_report_put_file(alm_ctx *cx, const alm_import_report *report, alm_buf *out)
{
    if (report->format != NULL)
        ALM_TRY(alm_buf_printf(cx, out, ",\"format\":\"%s\"", report->format));
    if (report->packed != NULL)
        ALM_TRY(alm_buf_printf(cx, out, ",\"packed\":\"%s\"", report->packed));
    if (report->file_rows >= 0)
        ALM_TRY(alm_buf_printf(cx, out, ",\"fileRows\":%lld", (long long)report->file_rows));
    if (report->wanted_bytes > 0)
        ALM_TRY(alm_buf_printf(
            cx, out, ",\"firstRows\":{\"groupFrom\":%lld,\"groupBytes\":%lld,\"tail\":%lld}",
            (long long)report->wanted_from, (long long)report->wanted_bytes,
            (long long)report->wanted_tail));
    if (report->n_texts == 0)
        return ALM_OK;
    ALM_TRY(alm_buf_text(cx, out, ",\"rows\":["));
    for (uint32_t row = 0; row < report->n_texts; row++) {
        for (uint32_t i = 0; i < report->n_cols; i++) {
            const alm_str text = report->texts[(size_t)row * report->n_cols + i];
            ALM_TRY(alm_buf_text(cx, out, i > 0 ? "," : row > 0 ? ",[" : "["));
            ALM_TRY(text.ptr == NULL ? alm_buf_text(cx, out, "null")
                                     : alm_json_put_string(cx, out, text));
        }
        ALM_TRY(alm_buf_text(cx, out, "]"));
    }
    return alm_buf_text(cx, out, "]");
}

static alm_status import_report_put_column(alm_ctx *cx, const alm_import_report *report, uint32_t i,
                                           alm_buf *out)
{
    ALM_TRY(alm_buf_text(cx, out, i > 0 ? ",{\"name\":" : "{\"name\":"));
    ALM_TRY(alm_json_put_string(cx, out, alm_str_of(report->col_names[i])));
    if (report->source != NULL && strcmp(report->source[i], report->col_names[i]) != 0) {
        ALM_TRY(alm_buf_text(cx, out, ",\"source\":"));
        ALM_TRY(alm_json_put_string(cx, out, alm_str_of(report->source[i])));
    }
    ALM_TRY(alm_buf_printf(cx, out, ",\"type\":\"%s\",\"size\":%d,\"errors\":%lld",
                           alm_type_name(report->col_types[i]), json_size(report->col_types[i]),
                           (long long)report->errors[i]));
    if (report->looks[i] == ALM_EPOCH_DAYS)
        ALM_TRY(alm_buf_printf(cx, out, ",\"suggestedPattern\":\"%s\"",
                               alm_epoch_text(report->looks[i])));
    else if (report->looks[i] != ALM_EPOCH_NONE)
        ALM_TRY(
            alm_buf_printf(cx, out, ",\"suggestedUnit\":\"%s\"", alm_epoch_text(report->looks[i])));
    return alm_buf_text(cx, out, "}");
}

static alm_status write_json(alm_ctx *cx, const alm_import_report *report, alm_buf *out)
{
    ALM_TRY(alm_buf_text(cx, out, "{\"status\":\"OK\",\"location\":"));
    ALM_TRY(alm_json_put_string(cx, out, report->name));
    ALM_TRY(alm_buf_printf(cx, out,
                           ",\"rowsRejected\":%lld,\"rowsImported\":%lld,\"header\":%s,"
                           "\"partitionBy\":\"%s\"",
                           (long long)report->rejected, (long long)report->imported,
                           report->header ? "true" : "false",
                           report->partition != NULL ? report->partition : "NONE"));
    if (report->timestamp != NULL) {
        ALM_TRY(alm_buf_text(cx, out, ",\"timestamp\":"));
        ALM_TRY(alm_json_put_string(cx, out, alm_str_of(report->timestamp)));
    }
    if (report->n_warnings > 0)
        ALM_TRY(import_report_put_texts(cx, out, "warnings", report->warnings, report->n_warnings,
                                        report->n_warnings));
    if (report->n_faulty > 0)
        ALM_TRY(import_report_put_texts(cx, out, "errors", report->faults, shown_faults(report),
                                        report->n_faulty));
    ALM_TRY(import_report_put_file(cx, report, out));
    ALM_TRY(alm_buf_text(cx, out, ",\"columns\":["));
    for (uint32_t i = 0; i < report->n_cols; i++)
        ALM_TRY(import_report_put_column(cx, report, i, out));
    return alm_buf_text(cx, out, "]}");
}

static const char line[] =
    "+---------------------------------------------------------------------------------------------"
    "--------------------+\r\n";

static alm_status text_pair(alm_ctx *cx, alm_buf *out, const char *key, const char *value)
{
    return alm_buf_printf(cx, out, "|  %16s  |  %45s  |  %10s  |  %13s  |  %9s  |\r\n", key, value,
                          "", "", "");
}

static alm_status write_text(alm_ctx *cx, const alm_import_report *report, alm_buf *out)
{
    char value[160];
    ALM_TRY(alm_buf_text(cx, out, line));
    (void)snprintf(value, sizeof(value), "%.*s", (int)report->name.len, report->name.ptr);
    ALM_TRY(alm_buf_printf(cx, out, "|  %16s  |  %45s  |  %10s  |  %13s  |  %9s  |\r\n",
                           "Location:", value, "Pattern", "Locale", "Errors"));
    ALM_TRY(
        text_pair(cx, out, "Partition by", report->partition != NULL ? report->partition : "NONE"));
    ALM_TRY(
        text_pair(cx, out, "Timestamp", report->timestamp != NULL ? report->timestamp : "NONE"));
    ALM_TRY(alm_buf_text(cx, out, line));
    (void)snprintf(value, sizeof(value), "%lld", (long long)report->handled);
    ALM_TRY(text_pair(cx, out, "Rows handled", value));
    (void)snprintf(value, sizeof(value), "%lld", (long long)report->imported);
    ALM_TRY(text_pair(cx, out, "Rows imported", value));
    ALM_TRY(alm_buf_text(cx, out, line));
    for (uint32_t i = 0; i < report->n_cols; i++)
        ALM_TRY(alm_buf_printf(cx, out, "|  %16u  |  %45s  |  %26s  |  %12lld  |\r\n", i,
                               report->col_names[i], alm_type_name(report->col_types[i]),
                               (long long)report->errors[i]));
    ALM_TRY(alm_buf_text(cx, out, line));
    for (uint32_t i = 0; i < report->n_warnings; i++)
        ALM_TRY(alm_buf_printf(cx, out, "%s\r\n", report->warnings[i]));
    const uint32_t n = shown_faults(report);
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_buf_printf(cx, out, "%s\r\n", report->faults[i]));
    if (report->n_faulty > n)
        return alm_buf_printf(cx, out, "and %lld more\r\n", (long long)(report->n_faulty - n));
    return ALM_OK;
}

alm_status alm_import_report_write(alm_ctx *cx, const alm_import_report *report, bool json,
                                   alm_buf *out)
{
    return json ? write_json(cx, report, out) : write_text(cx, report, out);
}

alm_status alm_import_report_failure(alm_ctx *cx, bool json, const char *message, alm_buf *out)
{
    if (!json)
        return alm_buf_printf(cx, out, "%s\r\n", message);
    ALM_TRY(alm_buf_text(cx, out, "{\"status\":"));
    ALM_TRY(alm_json_put_string(cx, out, alm_str_of(message)));
    return alm_buf_text(cx, out, "}");
}

/* --------------------------------------------------------------------- schema */

static alm_status set_column(alm_ctx *cx, alm_csv_column *col, alm_type type, alm_str pattern,
                             alm_epoch unit)
{
    col->type = type;
    col->found = false;
    col->unit = unit;
    return pattern.len > 0 ? alm_arena_copy(cx, cx->arena, pattern, &col->pattern) : ALM_OK;
}

static alm_status check_locale(alm_ctx *cx, alm_str locale)
{
    if (locale.len == 0 ||
        (locale.len >= 2 && alm_str_ieq((alm_str){locale.ptr, 2}, ALM_STR("en"))))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "locale '%.*s' is not supported: names of months and days are English",
                    (int)ALM_MIN(locale.len, (size_t)40), locale.ptr);
}

/* file_names: of the columns, before any of them got another one. */
static alm_status apply_entry(alm_ctx *cx, const alm_json *entry, size_t i, alm_csv_shape *shape,
                              const alm_str *file_names, const char **unknown)
{
    const alm_str text = alm_json_text(alm_json_get(entry, "as"));
    const alm_str name = alm_json_text(alm_json_get(entry, "name"));
    const alm_str type_name = alm_json_text(alm_json_get(entry, "type"));
    const alm_str pattern = alm_json_text(alm_json_get(entry, "pattern"));
    const alm_str unit_name = alm_json_text(alm_json_get(entry, "unit"));
    const alm_epoch unit = alm_epoch_of(unit_name);
    alm_type type;
    if (name.ptr == NULL)
        return alm_fail(cx, ALM_E_ARG, -1, "Missing 'name' property");
    if (type_name.ptr == NULL)
        return alm_fail(cx, ALM_E_ARG, -1, "Missing 'type' property");
    if (!alm_type_parse(type_name, &type))
        return alm_fail(cx, ALM_E_ARG, -1, "Invalid type");
    if (unit_name.len > 0 && unit == ALM_EPOCH_NONE)
        return alm_fail(cx, ALM_E_ARG, -1, "Invalid unit: s, ms, us or ns expected");
    ALM_TRY(check_locale(cx, alm_json_text(alm_json_get(entry, "locale"))));
    if (!shape->header) {
        if (i >= shape->n_cols)
            return alm_fail(cx, ALM_E_ARG, -1, "the schema has more columns than the file");
        shape->named = true;
        ALM_TRY(alm_arena_zstr(cx, cx->arena, name, &shape->cols[i].name));
        return set_column(cx, &shape->cols[i], type, pattern, unit);
    }
    for (uint32_t col = 0; col < shape->n_cols; col++) {
        if (!alm_str_ieq(name, file_names[col]))
            continue;
        if (text.len > 0)
            ALM_TRY(alm_arena_zstr(cx, cx->arena, text, &shape->cols[col].name));
        return set_column(cx, &shape->cols[col], type, pattern, unit);
    }
    return alm_arena_zstr(cx, cx->arena, name, unknown);
}

alm_status alm_schema_apply(alm_ctx *cx, alm_str schema, alm_csv_shape *shape, const char **unknown)
{
    if (schema.len == 0)
        return ALM_OK;
    alm_json *document = NULL;
    alm_str *file_names = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols + 1, &file_names));
    for (uint32_t i = 0; i < shape->n_cols; i++)
        file_names[i] = alm_str_of(shape->cols[i].name);
    ALM_TRY(alm_json_parse(cx, schema, &document));
    alm_status status = ALM_OK;
    if (!alm_json_is_array(document))
        status = alm_fail(cx, ALM_E_ARG, -1, "the schema must be a JSON list");
    for (size_t i = 0; status == ALM_OK && i < alm_json_count(document); i++)
        status = apply_entry(cx, alm_json_at(document, i), i, shape, file_names, unknown);
    alm_json_free(document);
    return status;
}
