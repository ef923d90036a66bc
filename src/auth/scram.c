/* scram.c - see scram.h. Primitives from OpenSSL. */
#include "auth/scram.h"

#include <math.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

static alm_status crypto_failed(alm_ctx *cx)
{
    return alm_fail(cx, ALM_E_INTERNAL, -1, "a cryptographic function failed");
}

static bool hmac(const uint8_t *key, size_t key_len, alm_str text, uint8_t out[ALM_SCRAM_KEY])
{
    unsigned int n = 0;
    return HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text.ptr, text.len, out,
                &n) != NULL;
}

static bool scram_sha256(const uint8_t *input, size_t n, uint8_t out[ALM_SCRAM_KEY])
{
    unsigned int len = 0;
    return EVP_Digest(input, n, out, &len, EVP_sha256(), NULL) == 1;
}

static bool salted_password(alm_str password, const alm_scram_verifier *verifier,
                            uint8_t out[ALM_SCRAM_KEY])
{
    return PKCS5_PBKDF2_HMAC(password.ptr, (int)password.len, verifier->salt, ALM_SCRAM_SALT,
                             verifier->iterations, EVP_sha256(), ALM_SCRAM_KEY, out) == 1;
}

static bool derive_keys(alm_str password, alm_scram_verifier *verifier)
{
    uint8_t salted[ALM_SCRAM_KEY], client_key[ALM_SCRAM_KEY];
    const bool ok = salted_password(password, verifier, salted) &&
                    hmac(salted, sizeof(salted), ALM_STR("Client Key"), client_key) &&
                    scram_sha256(client_key, sizeof(client_key), verifier->stored_key) &&
                    hmac(salted, sizeof(salted), ALM_STR("Server Key"), verifier->server_key);
    OPENSSL_cleanse(salted, sizeof(salted));
    OPENSSL_cleanse(client_key, sizeof(client_key));
    return ok;
}

alm_status alm_scram_verifier_make(alm_ctx *cx, alm_str password,
                                   const uint8_t salt[ALM_SCRAM_SALT], int32_t iterations,
                                   alm_scram_verifier *out)
{
    *out = (alm_scram_verifier){.iterations = iterations};
    (void)memcpy(out->salt, salt, ALM_SCRAM_SALT);
    return derive_keys(password, out) ? ALM_OK : crypto_failed(cx);
}

/* Of the name and a number, for one purpose. */
static bool scram_mac_of(const uint8_t secret[ALM_SCRAM_KEY], const char *purpose, alm_str user,
                         int32_t number, uint8_t out[ALM_SCRAM_KEY])
{
    char more[64];
    uint8_t key[ALM_SCRAM_KEY];
    const int len = snprintf(more, sizeof more, "%s %d", purpose, (int)number);
    const bool ok = hmac(secret, ALM_SCRAM_KEY, (alm_str){more, (size_t)len}, key) &&
                    hmac(key, sizeof key, user, out);
    OPENSSL_cleanse(key, sizeof key);
    return ok;
}

alm_status alm_scram_fake_rounds(alm_ctx *cx, const uint8_t secret[ALM_SCRAM_KEY], alm_str user,
                                 const alm_rounds *list, uint32_t n, int32_t *out)
{
    double best = -1;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t mac[ALM_SCRAM_KEY];
        uint64_t bits;
        if (!scram_mac_of(secret, "rounds", user, list[i].iterations, mac))
            return crypto_failed(cx);
        memcpy(&bits, mac, sizeof bits);
        const double u = ((double)(bits >> 11) + 0.5) * 0x1p-53; /* between 0 and 1 */
        const double score = (double)list[i].users / -log(u);
        if (score > best) {
            best = score;
            *out = list[i].iterations;
        }
    }
    return ALM_OK;
}

alm_status alm_scram_verifier_fake(alm_ctx *cx, const uint8_t secret[ALM_SCRAM_KEY], alm_str user,
                                   int32_t iterations, alm_scram_verifier *out)
{
    uint8_t mac[ALM_SCRAM_KEY];
    *out = (alm_scram_verifier){.iterations = iterations};
    if (!scram_mac_of(secret, "salt", user, iterations, mac))
        return crypto_failed(cx);
    (void)memcpy(out->salt, mac, ALM_SCRAM_SALT);
    if (!hmac(mac, sizeof(mac), ALM_STR("stored"), out->stored_key) ||
        !hmac(mac, sizeof(mac), ALM_STR("server"), out->server_key))
        return crypto_failed(cx);
    return ALM_OK;
}

alm_status alm_scram_check_password(alm_ctx *cx, const alm_scram_verifier *verifier,
                                    alm_str password, bool *fits)
{
    alm_scram_verifier made = *verifier;
    if (!derive_keys(password, &made))
        return crypto_failed(cx);
    *fits = CRYPTO_memcmp(made.stored_key, verifier->stored_key, ALM_SCRAM_KEY) == 0;
    OPENSSL_cleanse(&made, sizeof(made));
    return ALM_OK;
}

/* ------------------------------------------------------------------- messages */

static alm_status scram_malformed(alm_ctx *cx)
{
    return alm_fail(cx, ALM_E_PROTOCOL, -1, "malformed SCRAM message");
}

/* Value of the attribute `name` ("r=...") in a comma list; ptr NULL: none. */
static alm_str attribute(alm_str message, char name)
{
    size_t offset = 0;
    while (offset < message.len) {
        const char *comma = memchr(message.ptr + offset, ',', message.len - offset);
        const size_t end = comma != NULL ? (size_t)(comma - message.ptr) : message.len;
        if (end - offset >= 2 && message.ptr[offset] == name && message.ptr[offset + 1] == '=')
            return (alm_str){message.ptr + offset + 2, end - offset - 2};
        offset = end + 1;
    }
    return (alm_str){0};
}

/*
 * The gs2 header "flag,authzid,": flag p=tls-server-end-point with binding, n (cannot) or y (could, but the
 * server did not offer it) without. scram->bound becomes what c= has to be. Length of the header, 0: refused.
 */
static size_t gs2_header(alm_scram *scram, alm_str message, bool bound)
{
    const alm_str flag = bound ? ALM_STR("p=tls-server-end-point,")
                         : message.len > 0 && message.ptr[0] == 'y' && scram->binding.len == 0
                             ? ALM_STR("y,")
                             : ALM_STR("n,");
    if (message.len < flag.len || memcmp(message.ptr, flag.ptr, flag.len) != 0)
        return 0;
    const char *second = memchr(message.ptr + flag.len, ',', message.len - flag.len);
    if (second == NULL)
        return 0;
    const size_t n = (size_t)(second + 1 - message.ptr);
    const size_t n_binding = bound ? scram->binding.len : 0;
    uint8_t all[(sizeof(scram->bound) - 1) / 4 * 3];
    if (n + n_binding > sizeof(all))
        return 0;
    (void)memcpy(all, message.ptr, n);
    if (n_binding > 0)
        (void)memcpy(all + n, scram->binding.ptr, n_binding);
    (void)EVP_EncodeBlock((unsigned char *)scram->bound, all, (int)(n + n_binding));
    return n;
}

alm_status alm_scram_first(alm_ctx *cx, alm_scram *scram, alm_str message, bool bound,
                           const uint8_t random[18])
{
    const size_t header =
        message.len < ALM_SCRAM_MSG_MAX ? gs2_header(scram, message, bound) : (size_t)0;
    if (header == 0)
        return scram_malformed(cx);
    const alm_str bare = {message.ptr + header, message.len - header};
    const alm_str client_nonce = attribute(bare, 'r');
    if (client_nonce.len < 8 || client_nonce.len > ALM_SCRAM_NONCE_MAX)
        return scram_malformed(cx);
    (void)snprintf(scram->client_first_bare, sizeof(scram->client_first_bare), "%.*s",
                   (int)bare.len, bare.ptr);
    char own[32] = "", salt[32] = "";
    (void)EVP_EncodeBlock((unsigned char *)own, random, 18);
    (void)EVP_EncodeBlock((unsigned char *)salt, scram->verifier.salt, ALM_SCRAM_SALT);
    (void)snprintf(scram->nonce, sizeof(scram->nonce), "%.*s%s", (int)client_nonce.len,
                   client_nonce.ptr, own);
    (void)snprintf(scram->server_first, sizeof(scram->server_first), "r=%s,s=%s,i=%d", scram->nonce,
                   salt, (int)scram->verifier.iterations);
    return ALM_OK;
}

/* Checks the proof: ClientKey = proof xor HMAC(StoredKey, AuthMessage), and its hash. */
static alm_status check_proof(alm_ctx *cx, const alm_scram *scram, alm_str auth_message,
                              const uint8_t *proof, bool *fits)
{
    uint8_t signature[ALM_SCRAM_KEY], key[ALM_SCRAM_KEY], stored[ALM_SCRAM_KEY];
    if (!hmac(scram->verifier.stored_key, ALM_SCRAM_KEY, auth_message, signature))
        return crypto_failed(cx);
    for (size_t i = 0; i < ALM_SCRAM_KEY; i++)
        key[i] = proof[i] ^ signature[i];
    if (!scram_sha256(key, sizeof(key), stored))
        return crypto_failed(cx);
    *fits = CRYPTO_memcmp(stored, scram->verifier.stored_key, ALM_SCRAM_KEY) == 0;
    return ALM_OK;
}

alm_status alm_scram_final(alm_ctx *cx, alm_scram *scram, alm_str message, char *out)
{
    const alm_str nonce = attribute(message, 'r');
    const alm_str proof_text = attribute(message, 'p');
    const alm_str binding = attribute(message, 'c');
    if (message.len >= ALM_SCRAM_MSG_MAX || proof_text.len != 44 || nonce.ptr == NULL ||
        binding.ptr == NULL)
        return scram_malformed(cx);
    if (proof_text.ptr - message.ptr < 3 || proof_text.ptr + 44 != message.ptr + message.len)
        return scram_malformed(cx); /* the proof comes last (RFC 5802 7) */
    if (!alm_str_eq(nonce, alm_str_of(scram->nonce)) ||
        !alm_str_eq(binding, alm_str_of(scram->bound)))
        return scram_malformed(cx);
    uint8_t proof[64];
    if (EVP_DecodeBlock(proof, (const unsigned char *)proof_text.ptr, 44) != 33)
        return scram_malformed(cx);
    const size_t without = (size_t)(proof_text.ptr - 3 - message.ptr); /* ",p=" */
    char auth[3 * ALM_SCRAM_MSG_MAX + 8];
    const int len = snprintf(auth, sizeof(auth), "%s,%s,%.*s", scram->client_first_bare,
                             scram->server_first, (int)without, message.ptr);
    const alm_str auth_message = {auth, (size_t)len};
    bool fits = false;
    ALM_TRY(check_proof(cx, scram, auth_message, proof, &fits));
    if (!fits || !scram->known)
        return alm_fail(cx, ALM_E_AUTH, -1, "invalid username/password");
    uint8_t signature[ALM_SCRAM_KEY];
    char text[48] = "";
    if (!hmac(scram->verifier.server_key, ALM_SCRAM_KEY, auth_message, signature))
        return crypto_failed(cx);
    (void)EVP_EncodeBlock((unsigned char *)text, signature, ALM_SCRAM_KEY);
    (void)snprintf(out, ALM_SCRAM_MSG_MAX, "v=%s", text);
    return ALM_OK;
}
