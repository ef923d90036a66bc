/* output_table.c - the forms for eyes: columns side by side, or one below the other. */
#include "base/utf8.h"
#include "cli/output.h"

enum { KEPT_ROWS = 1000, KEPT_BYTES = 1 << 20 };

/* ---------------------------------------------------------------------------- cells */

/* The text as it is shown: control characters (C0, DEL, C1) as escapes. */
static alm_status clean(alm_ctx *cx, alm_buf *to, alm_str text)
{
    size_t offset = 0;
    while (offset < text.len) {
        const size_t from = offset;
        const uint32_t c = alm_utf8_next(text, &offset);
        if (c == '\n' || c == '\t' || c == '\r')
            ALM_TRY(alm_buf_text(cx, to, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r"));
        else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
            ALM_TRY(alm_buf_printf(cx, to, "\\x%02x", (unsigned)c));
        else
            ALM_TRY(alm_buf_append(cx, to, text.ptr + from, offset - from));
    }
    return ALM_OK;
}

static alm_status output_table_shown(alm_ctx *cx, alm_out *out, alm_str cell, alm_str *text)
{
    out->cell.len = 0;
    if (cell.ptr == NULL)
        cell = ALM_STR("null");
    ALM_TRY(clean(cx, &out->cell, cell));
    *text = (alm_str){out->cell.ptr, out->cell.len};
    return ALM_OK;
}

static alm_status output_table_fill(alm_ctx *cx, alm_out *out, char byte, size_t n)
{
    ALM_TRY(alm_buf_reserve(cx, &out->text, n));
    (void)memset(out->text.ptr + out->text.len, byte, n);
    out->text.len += n;
    return ALM_OK;
}

/* One cell of a line, numbers to the right; no blanks at the end of a line. */
static alm_status output_table_place(alm_ctx *cx, alm_out *out, uint32_t i, alm_str text)
{
    const size_t width = alm_utf8_width(text);
    const size_t blanks = out->widths[i] > width ? out->widths[i] - width : 0;
    const bool right = out->cols[i].kind == ALM_CELL_NUMBER;
    ALM_TRY(alm_buf_text(cx, &out->text, i == 0 ? " " : " | "));
    if (right)
        ALM_TRY(output_table_fill(cx, out, ' ', blanks));
    ALM_TRY(alm_buf_append(cx, &out->text, text.ptr, text.len));
    if (i + 1 == out->n_cols)
        return alm_buf_text(cx, &out->text, "\n");
    return right ? ALM_OK : output_table_fill(cx, out, ' ', blanks);
}

/* ---------------------------------------------------------------------------- table */

alm_status alm_table_begin(alm_ctx *cx, alm_out *out)
{
    out->kept.len = 0;
    out->n_kept = 0;
    out->measured = false;
    ALM_TRY(ALM_NEWN(cx, &out->arena, out->n_cols + 1U, &out->widths));
    for (uint32_t i = 0; i < out->n_cols; i++) {
        alm_str name;
        ALM_TRY(output_table_shown(cx, out, alm_str_of(out->cols[i].name), &name));
        out->widths[i] = alm_utf8_width(name);
    }
    return ALM_OK;
}

static alm_status output_table_keep(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    for (uint32_t i = 0; i < out->n_cols; i++) {
        alm_str text;
        ALM_TRY(output_table_shown(cx, out, cells[i], &text));
        const uint32_t len = (uint32_t)text.len;
        ALM_TRY(alm_buf_append(cx, &out->kept, &len, sizeof(len)));
        ALM_TRY(alm_buf_append(cx, &out->kept, text.ptr, text.len));
        out->widths[i] = ALM_MAX(out->widths[i], alm_utf8_width(text));
    }
    out->n_kept++;
    return ALM_OK;
}

static alm_status head(alm_ctx *cx, alm_out *out)
{
    for (uint32_t i = 0; i < out->n_cols; i++) {
        alm_str name;
        ALM_TRY(output_table_shown(cx, out, alm_str_of(out->cols[i].name), &name));
        ALM_TRY(output_table_place(cx, out, i, name));
    }
    for (uint32_t i = 0; i < out->n_cols; i++) {
        if (i > 0)
            ALM_TRY(alm_buf_text(cx, &out->text, "+"));
        ALM_TRY(output_table_fill(cx, out, '-', out->widths[i] + 2));
    }
    return alm_buf_text(cx, &out->text, "\n");
}

/* The widths are known: the head and the rows that were kept. */
static alm_status measured(alm_ctx *cx, alm_out *out)
{
    const char *ptr = out->kept.ptr;
    out->measured = true;
    ALM_TRY(head(cx, out));
    for (int64_t row = 0; row < out->n_kept; row++) {
        for (uint32_t i = 0; i < out->n_cols; i++) {
            uint32_t n;
            (void)memcpy(&n, ptr, sizeof(n));
            ALM_TRY(output_table_place(cx, out, i, (alm_str){ptr + sizeof(n), n}));
            ptr += sizeof(n) + n;
        }
    }
    out->kept.len = 0;
    return ALM_OK;
}

alm_status alm_table_row(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    if (!out->measured) {
        ALM_TRY(output_table_keep(cx, out, cells));
        return out->n_kept < KEPT_ROWS && out->kept.len < KEPT_BYTES ? ALM_OK : measured(cx, out);
    }
    for (uint32_t i = 0; i < out->n_cols; i++) {
        alm_str text;
        ALM_TRY(output_table_shown(cx, out, cells[i], &text));
        ALM_TRY(output_table_place(cx, out, i, text));
    }
    return ALM_OK;
}

alm_status alm_table_end(alm_ctx *cx, alm_out *out)
{
    if (!out->measured)
        ALM_TRY(measured(cx, out));
    return alm_buf_printf(cx, &out->text, "(%lld row%s)\n", (long long)out->rows,
                          out->rows == 1 ? "" : "s");
}

/* ------------------------------------------------------------------------- vertical */

alm_status alm_vertical_begin(alm_ctx *cx, alm_out *out)
{
    size_t widest = 0;
    ALM_TRY(alm_table_begin(cx, out));
    for (uint32_t i = 0; i < out->n_cols; i++)
        widest = ALM_MAX(widest, out->widths[i]);
    for (uint32_t i = 0; i < out->n_cols; i++)
        out->widths[i] = widest;
    return ALM_OK;
}

alm_status alm_vertical_row(alm_ctx *cx, alm_out *out, const alm_str *cells)
{
    ALM_TRY(alm_buf_printf(cx, &out->text, "-[ %lld ]-\n", (long long)out->rows + 1));
    for (uint32_t i = 0; i < out->n_cols; i++) {
        alm_str text;
        ALM_TRY(output_table_shown(cx, out, alm_str_of(out->cols[i].name), &text));
        ALM_TRY(alm_buf_append(cx, &out->text, text.ptr, text.len));
        ALM_TRY(output_table_fill(cx, out, ' ', out->widths[i] - alm_utf8_width(text)));
        ALM_TRY(output_table_shown(cx, out, cells[i], &text));
        ALM_TRY(alm_buf_text(cx, &out->text, " | "));
        ALM_TRY(alm_buf_append(cx, &out->text, text.ptr, text.len));
        ALM_TRY(alm_buf_text(cx, &out->text, "\n"));
    }
    return ALM_OK;
}
