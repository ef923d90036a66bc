/* ends.c - the two ends of a connection: addresses and ports. */
#include <arpa/inet.h>
#include <stdio.h>

#include "base/lookup.h"
#include "net/conn/loop_state.h"

/* An IPv4 address that comes over an IPv6 socket is one. */
static const char *ends_plain(const char *text)
{
    return strncmp(text, "::ffff:", 7) == 0 && strchr(text, '.') != NULL ? text + 7 : text;
}

static void write_end(const struct sockaddr_storage *end, char *out, size_t size, int32_t *port)
{
    char text[64] = "";
    *port = 0;
    if (uv_ip_name((const struct sockaddr *)end, text, sizeof text) == 0)
        *port = ntohs(end->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)end)->sin6_port
                                                 : ((const struct sockaddr_in *)end)->sin_port);
    (void)snprintf(out, size, "%s", ends_plain(text));
}

void alm_conn_ends(const alm_conn *conn, alm_ends *out)
{
    struct sockaddr_storage end;
    int n = sizeof end;
    *out = (alm_ends){0};
    if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&end, &n) == 0)
        write_end(&end, out->client, sizeof out->client, &out->client_port);
    n = sizeof end;
    if (uv_tcp_getsockname(&conn->tcp, (struct sockaddr *)&end, &n) == 0)
        write_end(&end, out->server, sizeof out->server, &out->server_port);
}

void alm_conn_peer(const alm_conn *conn, char *out, size_t size)
{
    alm_ends ends;
    alm_conn_ends(conn, &ends);
    (void)snprintf(out, size, "%s", ends.client);
}

bool alm_conn_is_local(const alm_conn *conn)
{
    alm_ends ends;
    alm_conn_ends(conn, &ends);
    return strncmp(ends.client, "127.", 4) == 0 || strcmp(ends.client, "::1") == 0;
}

const uint64_t *alm_conn_net(const alm_conn *conn)
{
    return conn->net;
}

void alm_conn_net_text(const alm_conn *conn, char *out, size_t size)
{
    alm_ends ends;
    struct in6_addr net = {0};
    char text[INET6_ADDRSTRLEN] = "";
    alm_conn_ends(conn, &ends);
    if (strchr(ends.client, ':') == NULL) {
        (void)snprintf(out, size, "%s", ends.client);
        return;
    }
    (void)memcpy(net.s6_addr, &conn->net[0], sizeof conn->net[0]);
    (void)inet_ntop(AF_INET6, &net, text, sizeof text);
    (void)snprintf(out, size, "%s/64", text);
}
