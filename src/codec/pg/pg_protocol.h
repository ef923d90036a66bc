/*
 * pg_protocol.h - bytes that the PostgreSQL protocol, version 3, defines: types of messages and of the fields in them.
 */
#ifndef ALM_CODEC_PG_PG_PROTOCOL_H
#define ALM_CODEC_PG_PG_PROTOCOL_H

/* From the client. */
typedef enum alm_pg_client {
    ALM_PG_CLIENT_BIND = 'B',
    ALM_PG_CLIENT_CLOSE = 'C',
    ALM_PG_CLIENT_COPY_DATA = 'd',
    ALM_PG_CLIENT_COPY_DONE = 'c',
    ALM_PG_CLIENT_COPY_FAIL = 'f',
    ALM_PG_CLIENT_DESCRIBE = 'D',
    ALM_PG_CLIENT_EXECUTE = 'E',
    ALM_PG_CLIENT_FLUSH = 'H',
    ALM_PG_CLIENT_FUNCTION_CALL = 'F',
    ALM_PG_CLIENT_PARSE = 'P',
    ALM_PG_CLIENT_PASSWORD = 'p', /* also SASL responses */
    ALM_PG_CLIENT_QUERY = 'Q',
    ALM_PG_CLIENT_SYNC = 'S',
    ALM_PG_CLIENT_TERMINATE = 'X'
} alm_pg_client;

/* To the client. */
typedef enum alm_pg_server {
    ALM_PG_SERVER_AUTHENTICATION = 'R',
    ALM_PG_SERVER_BACKEND_KEY = 'K',
    ALM_PG_SERVER_BIND_COMPLETE = '2',
    ALM_PG_SERVER_CLOSE_COMPLETE = '3',
    ALM_PG_SERVER_COMMAND_COMPLETE = 'C',
    ALM_PG_SERVER_COPY_DATA = 'd',
    ALM_PG_SERVER_COPY_DONE = 'c',
    ALM_PG_SERVER_COPY_IN = 'G',
    ALM_PG_SERVER_COPY_OUT = 'H',
    ALM_PG_SERVER_DATA_ROW = 'D',
    ALM_PG_SERVER_EMPTY_QUERY = 'I',
    ALM_PG_SERVER_ERROR = 'E',
    ALM_PG_SERVER_NEGOTIATE_VERSION = 'v',
    ALM_PG_SERVER_NO_DATA = 'n',
    ALM_PG_SERVER_NOTICE = 'N',
    ALM_PG_SERVER_PARAMETER_DESCRIPTION = 't',
    ALM_PG_SERVER_PARAMETER_STATUS = 'S',
    ALM_PG_SERVER_PARSE_COMPLETE = '1',
    ALM_PG_SERVER_PORTAL_SUSPENDED = 's',
    ALM_PG_SERVER_READY = 'Z',
    ALM_PG_SERVER_ROW_DESCRIPTION = 'T'
} alm_pg_server;

/* Of an authentication message. */
typedef enum alm_pg_auth {
    ALM_PG_AUTH_OK = 0,
    ALM_PG_AUTH_CLEAR_TEXT = 3,
    ALM_PG_AUTH_SASL = 10,
    ALM_PG_AUTH_SASL_CONTINUE = 11,
    ALM_PG_AUTH_SASL_FINAL = 12
} alm_pg_auth;

/* Fields of an error or a notice. */
typedef enum alm_pg_field {
    ALM_PG_FIELD_SEVERITY = 'S',
    ALM_PG_FIELD_SEVERITY_UNTRANSLATED = 'V',
    ALM_PG_FIELD_CODE = 'C', /* SQLSTATE */
    ALM_PG_FIELD_MESSAGE = 'M',
    ALM_PG_FIELD_POSITION = 'P',
    ALM_PG_FIELD_ROUTINE = 'R'
} alm_pg_field;

/* What Describe and Close name. */
typedef enum alm_pg_target {
    ALM_PG_TARGET_STATEMENT = 'S',
    ALM_PG_TARGET_PORTAL = 'P'
} alm_pg_target;

#endif
