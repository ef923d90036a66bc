/* certs.c - see certs.h. */
#include "net/certs.h"

#include <stdio.h>

#include "io/io.h"

enum { FILE_BYTES_MAX = 1 << 20, PATH_BYTES = 8192 };

typedef struct cert_row {
    const char *prefix; /* of its settings */
    const char *alpn;   /* what its clients may name */
    alm_conf_id enabled, cert, key, listener;
} cert_row;

static const cert_row ROWS[ALM_NET_PROTOCOLS] = {
    [ALM_NET_HTTP] = {"http.tls", "http/1.1", ALM_CONF_ID_http_tls_enabled,
                      ALM_CONF_ID_http_tls_cert_path, ALM_CONF_ID_http_tls_private_key_path,
                      ALM_CONF_ID_http_enabled},
    [ALM_NET_PG] = {"pg.tls", "postgresql", ALM_CONF_ID_pg_tls_enabled,
                    ALM_CONF_ID_pg_tls_cert_path, ALM_CONF_ID_pg_tls_private_key_path,
                    ALM_CONF_ID_pg_enabled},
    [ALM_NET_LINE] = {"line.tcp.tls", NULL, ALM_CONF_ID_line_tcp_tls_enabled,
                      ALM_CONF_ID_line_tcp_tls_cert_path, ALM_CONF_ID_line_tcp_tls_private_key_path,
                      ALM_CONF_ID_line_tcp_enabled},
    [ALM_NET_HEALTH] = {"http.min.tls", "http/1.1", ALM_CONF_ID_http_min_tls_enabled,
                        ALM_CONF_ID_http_min_tls_cert_path,
                        ALM_CONF_ID_http_min_tls_private_key_path, ALM_CONF_ID_http_min_enabled},
};

static bool flag(const alm_conf *conf, alm_conf_id id)
{
    return *((const char *)conf + alm_conf_row_at(id)->offset) != 0;
}

static const char *certs_text(const alm_conf *conf, alm_conf_id id)
{
    const char *value;
    memcpy(&value, (const char *)conf + alm_conf_row_at(id)->offset, sizeof(value));
    return value;
}

/* What is said of the listener wins over tls.enabled, also where it says no. */
bool alm_certs_enabled(const alm_conf *conf, int listener)
{
    const cert_row *row = &ROWS[listener];
    if (!flag(conf, row->listener))
        return false;
    return conf->source[row->enabled] != ALM_CONF_DEFAULT ? flag(conf, row->enabled)
                                                          : conf->tls_enabled;
}

static alm_status certs_read_file(alm_ctx *cx, const char *root, const char *name,
                                  char path[PATH_BYTES], alm_buf *out)
{
    (void)snprintf(path, PATH_BYTES, "%s%s%s", name[0] == '/' ? "" : root,
                   name[0] == '/' ? "" : "/", name);
    return alm_io_read_text(cx, alm_io_posix(), path, FILE_BYTES_MAX, out);
}

static alm_status certs_make(alm_ctx *cx, const char *root, const char *cert_name,
                             const char *key_name, const char *alpn, alm_tls **out)
{
    char cert_path[PATH_BYTES], key_path[PATH_BYTES];
    alm_buf cert, key;
    alm_buf_init(&cert, NULL);
    alm_buf_init(&key, NULL);
    alm_status status = certs_read_file(cx, root, cert_name, cert_path, &cert);
    if (status == ALM_OK)
        status = certs_read_file(cx, root, key_name, key_path, &key);
    if (status == ALM_OK)
        status = alm_tls_new(cx, (alm_str){cert.ptr, cert.len}, cert_path,
                             (alm_str){key.ptr, key.len}, key_path, alpn, out);
    alm_buf_deinit(&cert);
    alm_buf_deinit(&key);
    return status;
}

static alm_status certs_read_row(alm_ctx *cx, const char *root, const alm_conf *conf,
                                 const cert_row *row, alm_tls **out)
{
    const char *cert = certs_text(conf, row->cert), *key = certs_text(conf, row->key);
    if (cert[0] == 0 && key[0] == 0) {
        cert = conf->tls_cert_path;
        key = conf->tls_private_key_path;
    }
    if (cert[0] == 0 || key[0] == 0)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "%s.enabled=true needs %s.cert.path and %s.private.key.path", row->prefix,
                        row->prefix, row->prefix);
    return certs_make(cx, root, cert, key, row->alpn, out);
}

alm_status alm_certs_read(alm_ctx *cx, const char *root, const alm_conf *conf, alm_certs *out)
{
    alm_certs certs = {0};
    alm_status status = ALM_OK;
    for (int i = 0; status == ALM_OK && i < ALM_NET_PROTOCOLS; i++)
        if (alm_certs_enabled(conf, i))
            status = certs_read_row(cx, root, conf, &ROWS[i], &certs.of[i]);
    if (status == ALM_OK && conf->pg_tls_required && conf->pg_enabled &&
        certs.of[ALM_NET_PG] == NULL)
        status = alm_fail(cx, ALM_E_ARG, -1, "pg.tls.required=true needs pg.tls.enabled=true");
    if (status != ALM_OK) {
        alm_certs_release(&certs);
        return status;
    }
    *out = certs;
    return ALM_OK;
}

void alm_certs_release(alm_certs *certs)
{
    for (int i = 0; i < ALM_NET_PROTOCOLS; i++) {
        alm_tls_release(certs->of[i]);
        certs->of[i] = NULL;
    }
}
