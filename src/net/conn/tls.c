/* tls.c - see tls.h. */
#include "net/conn/tls.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>

struct alm_tls {
    _Atomic int32_t refs;
    SSL_CTX *ctx;
    uint8_t binding[ALM_TLS_BINDING_MAX];
    size_t n_binding;
    unsigned char alpn[32]; /* length, name */
};

struct alm_tls_stream {
    alm_tls *tls; /* a reference */
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
};

const char *alm_tls_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return reason != NULL ? reason : "no reason is known";
}

/* -------------------------------------------------------------------- context */

/* A key with a password would be asked for on the terminal. */
static int no_password(char *buf, int size, int writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *n,
                           const unsigned char *offered, unsigned int n_offered, void *arg)
{
    const alm_tls *tls = arg;
    unsigned char *chosen = NULL;
    (void)ssl;
    if (SSL_select_next_proto(&chosen, n, tls->alpn, tls->alpn[0] + 1U, offered, n_offered) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* The hash of the certificate by the function of its signature, SHA-256 instead of broken ones. */
static void read_binding(alm_tls *tls, const X509 *cert)
{
    int hash = NID_undef;
    unsigned int n = 0;
    if (X509_get_signature_info((X509 *)(uintptr_t)cert, &hash, NULL, NULL, NULL) != 1)
        return;
    if (hash == NID_md5 || hash == NID_sha1)
        hash = NID_sha256;
    const EVP_MD *md = EVP_get_digestbynid(hash);
    if (md != NULL && EVP_MD_get_size(md) <= ALM_TLS_BINDING_MAX &&
        X509_digest(cert, md, tls->binding, &n) == 1)
        tls->n_binding = n;
}

static bool use_certs(alm_tls *tls, BIO *text)
{
    X509 *cert = PEM_read_bio_X509(text, NULL, no_password, NULL);
    if (cert == NULL)
        return false;
    bool ok = SSL_CTX_use_certificate(tls->ctx, cert) == 1;
    read_binding(tls, cert);
    X509_free(cert);
    while (ok && (cert = PEM_read_bio_X509(text, NULL, no_password, NULL)) != NULL) {
        ok = SSL_CTX_add0_chain_cert(tls->ctx, cert) == 1; /* it owns it now */
        if (!ok)
            X509_free(cert);
    }
    return ok;
}

static bool use_key(alm_tls *tls, BIO *text)
{
    EVP_PKEY *key = PEM_read_bio_PrivateKey(text, NULL, no_password, NULL);
    const bool ok = key != NULL && SSL_CTX_use_PrivateKey(tls->ctx, key) == 1 &&
                    SSL_CTX_check_private_key(tls->ctx) == 1;
    EVP_PKEY_free(key);
    return ok;
}

static bool use_text(alm_tls *tls, alm_str text, bool (*use)(alm_tls *tls, BIO *text))
{
    BIO *bio = BIO_new_mem_buf(text.ptr, (int)text.len);
    const bool ok = bio != NULL && use(tls, bio);
    BIO_free(bio);
    if (ok)
        ERR_clear_error(); /* the end of a file of certificates counts as one */
    return ok;
}

static void set_options(alm_tls *tls)
{
    (void)SSL_CTX_set_min_proto_version(tls->ctx, TLS1_2_VERSION);
    /* Of TLS 1.2: what is recorded today cannot be read with a key that is stolen later. A client names the curves. */
    const int set = SSL_CTX_set_cipher_list(tls->ctx, "ECDHE+AESGCM:ECDHE+CHACHA20");
    ALM_ASSERT(set == 1);
    (void)SSL_CTX_set_session_cache_mode(tls->ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(tls->ctx, 0);
    (void)SSL_CTX_set_options(tls->ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                            SSL_OP_NO_COMPRESSION |
                                            SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_mode(tls->ctx, SSL_MODE_RELEASE_BUFFERS); /* idle connections are small */
    if (tls->alpn[0] > 0)
        SSL_CTX_set_alpn_select_cb(tls->ctx, choose_protocol, tls);
}

alm_status alm_tls_new(alm_ctx *cx, alm_str cert, const char *cert_path, alm_str key,
                       const char *key_path, const char *alpn, alm_tls **out)
{
    alm_tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL || (tls->ctx = SSL_CTX_new(TLS_server_method())) == NULL) {
        free(tls);
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    atomic_store(&tls->refs, 1);
    if (alpn != NULL) {
        ALM_ASSERT(strlen(alpn) < sizeof(tls->alpn));
        tls->alpn[0] = (unsigned char)strlen(alpn);
        (void)memcpy(tls->alpn + 1, alpn, tls->alpn[0]);
    }
    set_options(tls);
    alm_status status = ALM_OK;
    if (!use_text(tls, cert, use_certs))
        status = alm_fail(cx, ALM_E_ARG, -1, "%s holds no certificate in PEM form: %s", cert_path,
                          alm_tls_reason());
    else if (!use_text(tls, key, use_key))
        status =
            alm_fail(cx, ALM_E_ARG, -1,
                     "%s holds no private key in PEM form, without a password, that fits %s: %s",
                     key_path, cert_path, alm_tls_reason());
    if (status != ALM_OK) {
        alm_tls_release(tls);
        return status;
    }
    *out = tls;
    return ALM_OK;
}

void alm_tls_release(alm_tls *tls)
{
    if (tls == NULL || atomic_fetch_sub(&tls->refs, 1) > 1)
        return;
    SSL_CTX_free(tls->ctx);
    free(tls);
}

void alm_tls_slot_init(alm_tls_slot *slot)
{
    (void)pthread_mutex_init(&slot->lock, NULL);
    slot->now = NULL;
}

void alm_tls_slot_deinit(alm_tls_slot *slot)
{
    alm_tls_release(slot->now);
    (void)pthread_mutex_destroy(&slot->lock);
}

void alm_tls_slot_set(alm_tls_slot *slot, alm_tls *tls)
{
    (void)pthread_mutex_lock(&slot->lock);
    alm_tls *before = slot->now;
    slot->now = tls;
    (void)pthread_mutex_unlock(&slot->lock);
    alm_tls_release(before);
}

static alm_tls *slot_get(alm_tls_slot *slot)
{
    (void)pthread_mutex_lock(&slot->lock);
    alm_tls *tls = slot->now;
    if (tls != NULL)
        atomic_fetch_add(&tls->refs, 1);
    (void)pthread_mutex_unlock(&slot->lock);
    return tls;
}

bool alm_tls_slot_is_set(alm_tls_slot *slot)
{
    (void)pthread_mutex_lock(&slot->lock);
    const bool is_set = slot->now != NULL;
    (void)pthread_mutex_unlock(&slot->lock);
    return is_set;
}

alm_str alm_tls_binding(const alm_tls_stream *stream)
{
    return (alm_str){(const char *)stream->tls->binding, stream->tls->n_binding};
}

/* -------------------------------------------------------------------- streams */

alm_tls_stream *alm_tls_stream_new(alm_tls_slot *slot)
{
    alm_tls *tls = slot_get(slot);
    alm_tls_stream *stream = tls != NULL ? calloc(1, sizeof(*stream)) : NULL;
    if (stream == NULL) {
        alm_tls_release(tls);
        return NULL;
    }
    stream->tls = tls;
    stream->ssl = SSL_new(tls->ctx);
    stream->in = BIO_new(BIO_s_mem());
    stream->out = BIO_new(BIO_s_mem());
    if (stream->ssl == NULL || stream->in == NULL || stream->out == NULL) {
        BIO_free(stream->in);
        BIO_free(stream->out);
        SSL_free(stream->ssl);
        alm_tls_release(tls);
        free(stream);
        return NULL;
    }
    SSL_set_bio(stream->ssl, stream->in, stream->out);
    SSL_set_accept_state(stream->ssl);
    return stream;
}

void alm_tls_stream_free(alm_tls_stream *stream)
{
    if (stream == NULL)
        return;
    SSL_free(stream->ssl);
    alm_tls_release(stream->tls);
    free(stream);
}

bool alm_tls_take(alm_tls_stream *stream, const char *bytes, size_t n)
{
    ALM_ASSERT(n <= INT_MAX);
    return BIO_write(stream->in, bytes, (int)n) == (int)n;
}

alm_tls_state alm_tls_read(alm_tls_stream *stream, char *out, size_t room, size_t *n)
{
    *n = 0;
    ERR_clear_error(); /* what others left would be taken for ours */
    while (*n < room) {
        size_t got = 0;
        const int code = SSL_read_ex(stream->ssl, out + *n, room - *n, &got);
        if (code == 1) {
            *n += got;
            continue;
        }
        switch (SSL_get_error(stream->ssl, code)) {
        case SSL_ERROR_WANT_READ:
            return ALM_TLS_MORE;
        case SSL_ERROR_ZERO_RETURN:
            return ALM_TLS_CLOSED;
        default:
            return ALM_TLS_FAILED;
        }
    }
    return ALM_TLS_MORE;
}

bool alm_tls_is_open(const alm_tls_stream *stream)
{
    return SSL_is_init_finished(stream->ssl) == 1;
}

bool alm_tls_named_protocol(const alm_tls_stream *stream)
{
    const unsigned char *name = NULL;
    unsigned int n = 0;
    SSL_get0_alpn_selected(stream->ssl, &name, &n);
    return n > 0;
}

bool alm_tls_write(alm_tls_stream *stream, const char *bytes, size_t n)
{
    size_t wrote = 0;
    ERR_clear_error();
    return SSL_write_ex(stream->ssl, bytes, n, &wrote) == 1 && wrote == n;
}

void alm_tls_end(alm_tls_stream *stream)
{
    if (alm_tls_is_open(stream))
        (void)SSL_shutdown(stream->ssl);
    ERR_clear_error();
}

size_t alm_tls_pending(const alm_tls_stream *stream)
{
    return BIO_ctrl_pending(stream->out);
}

void alm_tls_output(alm_tls_stream *stream, char *out, size_t n)
{
    size_t got = 0;
    (void)BIO_read_ex(stream->out, out, n, &got);
    ALM_ASSERT(got == n);
}
