/*
 * lex.h - SQL text to tokens, one at a time, without allocation.
 *
 * Purpose     The parser's eyes; also for whoever marks up or completes text: with `trivia` set,
 *             comments come as tokens, and the gaps between tokens are blanks only.
 * Shapes      A token is a byte range [pos, end) of the text. Words come as ALM_TOK_NAME with the
 *             keyword they spell, if any; whether a keyword is meant is the grammar's business.
 * Errors      Never fails: what cannot be a token is ALM_TOK_BAD with `why`, and reaches as far as
 *             makes sense (an open string: to the end of the text).
 * Invariants  0 <= pos <= end <= text.len; end > pos except for ALM_TOK_END; tokens do not overlap.
 *             Texts of more than INT32_MAX bytes are refused by the parser.
 */
#ifndef ALM_SQL_LEX_H
#define ALM_SQL_LEX_H

#include "base/base.h"

typedef enum alm_tok_kind {
    ALM_TOK_END,
    ALM_TOK_NAME,    /* price, SELECT, ünï */
    ALM_TOK_QUOTED,  /* "a ""b""" or `a` */
    ALM_TOK_STRING,  /* 'it''s', E'a\n', $$x$$, $tag$x$tag$ */
    ALM_TOK_NUMBER,  /* 1, 1_000, .5, 1e3, 3L, 0x1f, 12.5m, 15m: digits and the letters on them */
    ALM_TOK_GEOHASH, /* #u33d, #u33d/10, ##0110 */
    ALM_TOK_PARAM,   /* $1 */
    ALM_TOK_VAR,     /* @name */
    ALM_TOK_OP,
    ALM_TOK_COMMENT, /* only with trivia */
    ALM_TOK_BAD
} alm_tok_kind;

typedef enum alm_op {
    ALM_OP_NONE,
    ALM_OP_PLUS,
    ALM_OP_MINUS,
    ALM_OP_STAR,
    ALM_OP_SLASH,
    ALM_OP_PERCENT,
    ALM_OP_AMP,
    ALM_OP_PIPE,
    ALM_OP_CARET,
    ALM_OP_TILDE,
    ALM_OP_EQ,
    ALM_OP_LT,
    ALM_OP_GT,
    ALM_OP_LPAREN,
    ALM_OP_RPAREN,
    ALM_OP_LBRACKET,
    ALM_OP_RBRACKET,
    ALM_OP_COMMA,
    ALM_OP_DOT,
    ALM_OP_SEMI,
    ALM_OP_COLON,
    ALM_OP_CAST,   /* :: */
    ALM_OP_ASSIGN, /* := */
    ALM_OP_CONCAT, /* || */
    ALM_OP_NE,     /* != */
    ALM_OP_NE_SQL, /* <> */
    ALM_OP_LE,
    ALM_OP_GE,
    ALM_OP_SHL,      /* << */
    ALM_OP_SHR,      /* >> */
    ALM_OP_SHL_EQ,   /* <<= */
    ALM_OP_SHR_EQ,   /* >>= */
    ALM_OP_NOT_TILDE /* !~ */
} alm_op;

typedef enum alm_keyword {
    ALM_KW_PLAIN, /* a word that is none */
#define ALM_KEYWORD(id, text, flags) ALM_KW_##id,
#include "sql/text/keyword.def"
#undef ALM_KEYWORD
    ALM_KW_COUNT
} alm_keyword;

enum {
    ALM_KW_RESERVED = 1,
    ALM_KW_NO_COLUMN_ALIAS = 2,
    ALM_KW_NO_TABLE_ALIAS = 4,
    ALM_KW_ALIAS_AT_END = 8
};

typedef struct alm_token {
    uint8_t kind; /* alm_tok_kind */
    uint8_t op;   /* alm_op, of ALM_TOK_OP */
    uint16_t kw;  /* alm_keyword, of ALM_TOK_NAME */
    int32_t pos, end;
    const char *why; /* of ALM_TOK_BAD: "unclosed quoted string?" */
} alm_token;

/* The first token at or after byte `at`. */
alm_token alm_lex(alm_str text, int32_t at, bool trivia);

/* ALM_KW_PLAIN if `word` is none; case does not matter. */
alm_keyword alm_keyword_find(alm_str word);
alm_str alm_keyword_text(alm_keyword keyword); /* lower case */
uint32_t alm_keyword_flags(alm_keyword keyword);

#endif
