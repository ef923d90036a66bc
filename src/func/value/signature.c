/*
 * signature.c - reads "(unit STRING const, ts TIMESTAMP) TIMESTAMP". Grammar in registry.h.
 *
 * Errors      Signatures are part of the program, so a bad one is reported as false and the registry
 *             refuses to start.
 */
#include "func/value/signature.h"

#include "func/value/cast_rules.h"

static const struct {
    const char *name;
    alm_family family;
} FAMILIES[] = {
    {"ANY", ALM_FAM_ANY},   {"NUMERIC", ALM_FAM_NUMERIC}, {"INTEGRAL", ALM_FAM_INTEGRAL},
    {"TEXT", ALM_FAM_TEXT}, {"TIME", ALM_FAM_TIME},       {"SAME", ALM_FAM_SAME},
    {"?", ALM_FAM_BOUND}};

static bool signature_is_blank(char byte)
{
    return byte == ' ';
}

/* Next word: letters, digits, _ and ?; or `...`; or one sign. */
static alm_str signature_next_word(const char **ptr)
{
    const char *pos = *ptr;
    while (signature_is_blank(*pos))
        pos++;
    const char *start = pos;
    if (strncmp(pos, "...", 3) == 0)
        pos += 3;
    else if (*pos == '(' || *pos == ')' || *pos == ',')
        pos++;
    else
        while (*pos != '\0' && *pos != '(' && *pos != ')' && *pos != ',' && *pos != '.' &&
               !signature_is_blank(*pos))
            pos++;
    *ptr = pos;
    return (alm_str){start, (size_t)(pos - start)};
}

static bool word_is(alm_str word, const char *text)
{
    return alm_str_eq(word, alm_str_of(text));
}

static bool type_of_word(alm_str word, alm_sig_param *out)
{
    for (size_t i = 0; i < ALM_COUNT(FAMILIES); i++) {
        if (word_is(word, FAMILIES[i].name)) {
            out->family = FAMILIES[i].family;
            return true;
        }
    }
    for (int id = ALM_T_NULL; id < ALM_TYPE_COUNT; id++) {
        const alm_type type = {.id = (uint8_t)id};
        if (word_is(word, alm_type_info_of(type)->name)) {
            *out = (alm_sig_param){.family = ALM_FAM_TYPE, .type = type};
            return true;
        }
    }
    return false;
}

/* One parameter up to ',' or ')', which is put into *end. */
static bool signature_parse_param(const char **ptr, alm_sig_param *out, alm_str *end)
{
    bool typed = false;
    for (int words = 0; words < 6; words++) {
        const alm_str word = signature_next_word(ptr);
        if (word.len == 0)
            return false;
        if (word_is(word, ",") || word_is(word, ")")) {
            *end = word;
            return typed;
        }
        if (word_is(word, "const"))
            out->is_const = true;
        else if (word_is(word, "..."))
            out->is_rest = true;
        else if (type_of_word(word, out))
            typed = true;
        else if (words > 0)
            return false; /* only the first word may be a name */
    }
    return false;
}

bool alm_signature_parse(const char *text, alm_signature *out)
{
    memset(out, 0, sizeof *out);
    const char *ptr = text;
    if (!word_is(signature_next_word(&ptr), "("))
        return false;
    const char *ahead = ptr;
    alm_str end = signature_next_word(&ahead);
    if (word_is(end, ")"))
        ptr = ahead;
    else
        end = ALM_STR(",");
    while (word_is(end, ",")) {
        if (out->n_params == ALM_SIG_PARAMS)
            return false;
        if (out->n_params > 0 && out->params[out->n_params - 1].is_rest)
            return false;
        if (!signature_parse_param(&ptr, &out->params[out->n_params], &end))
            return false;
        out->n_params++;
    }
    if (!type_of_word(signature_next_word(&ptr), &out->result))
        return false;
    const bool rest = out->n_params > 0 && out->params[out->n_params - 1].is_rest;
    out->min_args = rest ? out->n_params - 1 : out->n_params;
    out->max_args = rest ? UINT32_MAX : out->n_params;
    return true;
}

const alm_sig_param *alm_signature_param(const alm_signature *sig, uint32_t i)
{
    ALM_ASSERT(sig->n_params > 0);
    return &sig->params[i < sig->n_params ? i : sig->n_params - 1];
}

static bool signature_is_class(alm_type type, alm_type_class cls)
{
    return alm_type_info_of(type)->cls == cls;
}

bool alm_family_has(const alm_sig_param *param, alm_type type)
{
    switch (param->family) {
    case ALM_FAM_TYPE: /* one with parameters takes them all */
        return param->type.id == type.id &&
               (alm_type_is_sized(type) || alm_type_eq(param->type, type));
    case ALM_FAM_ANY:
    case ALM_FAM_BOUND:
        return true;
    case ALM_FAM_NUMERIC:
        return signature_is_class(type, ALM_TC_INTEGER) ||
               signature_is_class(type, ALM_TC_FLOATING);
    case ALM_FAM_INTEGRAL:
        return signature_is_class(type, ALM_TC_INTEGER);
    case ALM_FAM_TEXT:
        return alm_type_is_text(type);
    case ALM_FAM_TIME:
        return alm_type_is_timestamp(type);
    case ALM_FAM_SAME:
        break;
    }
    return false;
}

alm_type alm_family_target(const alm_sig_param *param, alm_type arg, alm_type first)
{
    if (param->family == ALM_FAM_SAME)
        return first;
    if (alm_family_has(param, arg) && arg.id != ALM_T_NONE)
        return param->family == ALM_FAM_TYPE && !alm_type_is_sized(arg) ? param->type : arg;
    switch (param->family) {
    case ALM_FAM_TYPE:
        return param->type.id == ALM_T_DECIMAL ? alm_decimal_for(arg) : param->type;
    case ALM_FAM_NUMERIC:
        return ALM_TY(DOUBLE);
    case ALM_FAM_INTEGRAL:
        return ALM_TY(LONG);
    case ALM_FAM_TEXT:
        return ALM_TY(STRING);
    case ALM_FAM_TIME:
        return ALM_TY(TIMESTAMP);
    case ALM_FAM_ANY:
    case ALM_FAM_BOUND:
    case ALM_FAM_SAME:
        break;
    }
    return ALM_TY(STRING);
}

const char *alm_family_name(const alm_sig_param *param)
{
    if (param->family == ALM_FAM_TYPE)
        return alm_type_name(param->type);
    for (size_t i = 0; i < ALM_COUNT(FAMILIES); i++)
        if (FAMILIES[i].family == param->family)
            return FAMILIES[i].name;
    return "?";
}
