/* output.c - see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>

#include "codec/json_text.h"
#include "codec/result_text.h"

enum { FLUSH_BYTES = 1 << 16 };

/* ------------------------------------------------------------------------ csv, tsv */

static bool csv_is_plain(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (strchr(",\"\r\n", text.ptr[i]) != NULL)
            return false;
    return text.len > 0;
}

static alm_status csv_field(alm_ctx *cx, alm_buf *to, alm_str text)
{
    if (text.ptr == NULL)
        return ALM_OK;
    return csv_is_plain(text) ? alm_buf_append(cx, to, text.ptr, text.len)
                              : alm_csv_put_quoted(cx, to, text);
}

/* Escapes of COPY: a field never holds a tab or the end of a line. */
static alm_status tsv_field(alm_ctx *cx, alm_buf *to, alm_str text)
{
    if (text.ptr == NULL)
        return alm_buf_text(cx, to, "\\N");
    for (size_t i = 0; i < text.len; i++) {
        const char byte = text.ptr[i];
        const char *escape = byte == '\t'   ? "\\t"
                             : byte == '\n' ? "\\n"
                             : byte == '\r' ? "\\r"
                             : byte == '\\' ? "\\\\"
                                            : NULL;
        ALM_TRY(escape != NULL ? alm_buf_text(cx, to, escape) : alm_buf_append(cx, to, &byte, 1));
    }
    return ALM_OK;
}

typedef alm_status (*put_field)(alm_ctx *cx, alm_buf *to, alm_str text);

static alm_status output_fields(alm_ctx *cx, alm_out *out, const alm_str *cells, put_field put,
                                const char *between)
{
    for (uint32_t i = 0; i < out->n_cols; i++) {
        if (i > 0)
            ALM_TRY(alm_buf_text(cx, &out->text, between));
        ALM_TRY(put(cx, &out->text, cells[i]));
    }
    return alm_buf_text(cx, &out->text, "\n");
}

static void names_as_cells(alm_out *out)
{
    for (uint32_t i = 0; i < out->n_cols; i++)
        out->cells[i] = alm_str_of(out->cols[i].name);
}

static alm_status csv_row(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    return output_fields(cx, out, cells, csv_field, ",");
}

static alm_status output_csv_begin(alm_ctx *cx, alm_out *out)
{
    names_as_cells(out);
    return csv_row(cx, out, out->cells);
}

static alm_status tsv_row(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    return output_fields(cx, out, cells, tsv_field, "\t");
}

static alm_status tsv_begin(alm_ctx *cx, alm_out *out)
{
    names_as_cells(out);
    return tsv_row(cx, out, out->cells);
}

/* --------------------------------------------------------------------- json, ndjson */

static alm_status keys_make(alm_ctx *cx, alm_out *out)
{
    ALM_TRY(ALM_NEWN(cx, &out->arena, out->n_cols + 1U, &out->keys));
    for (uint32_t i = 0; i < out->n_cols; i++) {
        const alm_str name = alm_str_of(out->cols[i].name);
        char *text = NULL;
        ALM_TRY(alm_arena_bytes(cx, &out->arena, 6 * name.len + 2, &text));
        out->keys[i] = (alm_str){text, (size_t)(alm_json_write_string(text, name) - text)};
    }
    return ALM_OK;
}

/* NaN and Infinity are numbers, but none of JSON. */
static bool is_json_number(alm_str text)
{
    size_t i = text.len > 0 && text.ptr[0] == '-' ? 1 : 0;
    if (i == text.len || text.ptr[i] < '0' || text.ptr[i] > '9')
        return false;
    for (; i < text.len; i++)
        if (strchr("0123456789.eE+-", text.ptr[i]) == NULL)
            return false;
    return true;
}

static alm_status json_value(alm_ctx *cx, alm_buf *to, alm_str cell, alm_cell_kind kind)
{
    if (cell.ptr == NULL)
        return alm_buf_text(cx, to, "null");
    if (kind == ALM_CELL_BOOL || (kind == ALM_CELL_NUMBER && is_json_number(cell)))
        return alm_buf_append(cx, to, cell.ptr, cell.len);
    return alm_json_put_string(cx, to, cell);
}

static alm_status output_json_object(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    alm_buf *to = &out->text;
    for (uint32_t i = 0; i < out->n_cols; i++) {
        ALM_TRY(alm_buf_text(cx, to, i == 0 ? "{" : ","));
        ALM_TRY(alm_buf_append(cx, to, out->keys[i].ptr, out->keys[i].len));
        ALM_TRY(alm_buf_text(cx, to, ":"));
        ALM_TRY(json_value(cx, to, cells[i], out->cols[i].kind));
    }
    return alm_buf_text(cx, to, "}");
}

static alm_status json_row(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    ALM_TRY(alm_buf_text(cx, &out->text, out->rows == 0 ? "[\n" : ",\n"));
    return output_json_object(cx, out, cells);
}

static alm_status json_end(alm_ctx *cx, alm_out *out)
{
    return alm_buf_text(cx, &out->text, out->rows == 0 ? "[]\n" : "\n]\n");
}

static alm_status ndjson_row(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    ALM_TRY(output_json_object(cx, out, cells));
    return alm_buf_text(cx, &out->text, "\n");
}

/* ------------------------------------------------------------------------- markdown */

static alm_status markdown_field(alm_ctx *cx, alm_buf *to, alm_str text)
{
    if (text.ptr == NULL)
        text = ALM_STR("null");
    for (size_t i = 0; i < text.len; i++) {
        const char byte = text.ptr[i];
        const char *escape = byte == '|'    ? "\\|"
                             : byte == '\\' ? "\\\\"
                             : byte == '<'  ? "&lt;"
                             : byte == '\n' ? "<br>"
                             : byte == '\r' ? ""
                                            : NULL;
        ALM_TRY(escape != NULL ? alm_buf_text(cx, to, escape) : alm_buf_append(cx, to, &byte, 1));
    }
    return ALM_OK;
}

static alm_status markdown_row(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    for (uint32_t i = 0; i < out->n_cols; i++) {
        ALM_TRY(alm_buf_text(cx, &out->text, i == 0 ? "| " : " | "));
        ALM_TRY(markdown_field(cx, &out->text, cells[i]));
    }
    return alm_buf_text(cx, &out->text, " |\n");
}

static alm_status markdown_begin(alm_ctx *cx, alm_out *out)
{
    names_as_cells(out);
    ALM_TRY(markdown_row(cx, out, out->cells));
    for (uint32_t i = 0; i < out->n_cols; i++)
        ALM_TRY(
            alm_buf_text(cx, &out->text, out->cols[i].kind == ALM_CELL_NUMBER ? "|---:" : "|---"));
    return alm_buf_text(cx, &out->text, "|\n");
}

/* -------------------------------------------------------------------------- formats */

static const alm_out_form forms[] = {
    {"table", alm_table_begin, alm_table_row, alm_table_end, true},
    {"csv", output_csv_begin, csv_row, NULL, false},
    {"tsv", tsv_begin, tsv_row, NULL, false},
    {"json", keys_make, json_row, json_end, false},
    {"ndjson", keys_make, ndjson_row, NULL, false},
    {"markdown", markdown_begin, markdown_row, NULL, false},
    {"vertical", alm_vertical_begin, alm_vertical_row, NULL, true},
    {"parquet", NULL, NULL, NULL, false, true},
};

void alm_out_init(alm_out *out, FILE *to)
{
    *out = (alm_out){.to = to, .form = &forms[0]};
    alm_arena_init(&out->arena, NULL);
    alm_buf_init(&out->text, NULL);
    alm_buf_init(&out->kept, NULL);
    alm_buf_init(&out->cell, NULL);
}

void alm_out_deinit(alm_out *out)
{
    alm_buf_deinit(&out->cell);
    alm_buf_deinit(&out->kept);
    alm_buf_deinit(&out->text);
    alm_arena_deinit(&out->arena);
}

alm_status alm_out_format(alm_ctx *cx, alm_out *out, const char *name)
{
    for (size_t i = 0; i < ALM_COUNT(forms); i++) {
        if (strcmp(forms[i].name, name) == 0) {
            out->form = &forms[i];
            return ALM_OK;
        }
    }
    return alm_fail(
        cx, ALM_E_ARG, -1,
        "no format '%s'; there are: table, csv, tsv, json, ndjson, markdown, vertical, parquet",
        name);
}

/* ---------------------------------------------------------------------------- rows */

static alm_status output_flush(alm_ctx *cx, alm_out *out)
{
    const size_t len = out->text.len;
    out->text.len = 0;
    if (len > 0 && fwrite(out->text.ptr, 1, len, out->to) != len)
        return alm_fail(cx, ALM_E_IO, -1, "cannot write the result: %s", strerror(errno));
    return ALM_OK;
}

static alm_status output_flush_all(alm_ctx *cx, alm_out *out)
{
    ALM_TRY(output_flush(cx, out));
    if (fflush(out->to) != 0)
        return alm_fail(cx, ALM_E_IO, -1, "cannot write the result: %s", strerror(errno));
    return ALM_OK;
}

alm_status alm_out_begin(alm_ctx *cx, alm_out *out, const alm_out_col *cols, uint32_t n)
{
    if (out->form->begin == NULL)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "the rows of this statement cannot be written as %s", out->form->name);
    alm_arena_reset(&out->arena);
    out->cols = cols;
    out->n_cols = n;
    out->rows = 0;
    ALM_TRY(ALM_NEWN(cx, &out->arena, n + 1U, &out->cells));
    return out->form->begin(cx, out);
}

alm_status alm_out_row(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    for (uint32_t i = 0; i < out->n_cols; i++) {
        out->cells[i] = cells[i];
        if (out->cols[i].kind == ALM_CELL_BOOL && cells[i].ptr != NULL)
            out->cells[i] = cells[i].ptr[0] == 't' ? ALM_STR("true") : ALM_STR("false");
    }
    ALM_TRY(out->form->row(cx, out, out->cells));
    out->rows++;
    return out->text.len < FLUSH_BYTES ? ALM_OK : output_flush(cx, out);
}

alm_status alm_out_end(alm_ctx *cx, alm_out *out)
{
    if (out->form->end != NULL)
        ALM_TRY(out->form->end(cx, out));
    return output_flush_all(cx, out);
}

void alm_out_drop(alm_out *out)
{
    alm_ctx cx = {0};
    out->kept.len = 0;
    /* rows that came before the failure are shown; the failure itself is what is told */
    (void)!output_flush_all(&cx, out);
}

alm_status alm_out_raw(alm_ctx *cx, alm_out *out, const char *bytes, size_t n)
{
    ALM_TRY(alm_buf_append(cx, &out->text, bytes, n));
    return out->text.len < FLUSH_BYTES ? ALM_OK : output_flush(cx, out);
}

alm_status alm_out_tag(alm_ctx *cx, alm_out *out, const char *tag)
{
    if (tag != NULL && out->form->tags)
        ALM_TRY(alm_buf_printf(cx, &out->text, "%s\n", tag));
    return output_flush_all(cx, out);
}
