/* address.c - "host:port" of a listener. Apart from the loop, so that a protocol can be linked without it. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "net/conn/loop.h"

bool alm_address_split(const char *address, char host[64], int *port)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon == address)
        return false;
    const char *from = address;
    size_t len = (size_t)(colon - address);
    if (address[0] == '[' && colon[-1] == ']') {
        from++;
        len -= 2;
    }
    char *end = NULL;
    const long value = strtol(colon + 1, &end, 10);
    if (len == 0 || len >= 64 || end == colon + 1 || *end != 0 || value < 0 || value > 65535)
        return false;
    (void)memcpy(host, from, len);
    host[len] = 0;
    *port = (int)value;
    return true;
}

bool alm_address_is_loopback(const char *address)
{
    char host[64];
    int port = 0;
    struct in_addr addr;
    if (!alm_address_split(address, host, &port))
        return false;
    if (inet_pton(AF_INET, host, &addr) == 1)
        return (ntohl(addr.s_addr) >> 24) == 127;
    return strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0;
}
