/* client.c - `almanac sql` becomes the client program. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "server/server.h"

enum { PATH_BYTES = 4096 };

/* The client stands where this program stands, whatever the name it was called by. */
static bool client_path(char path[PATH_BYTES])
{
    static const char name[] = "almanac-sql";
    const ssize_t n = readlink("/proc/self/exe", path, PATH_BYTES - sizeof(name));
    if (n <= 0)
        return false;
    path[n] = 0;
    (void)memcpy(strrchr(path, '/') + 1, name, sizeof(name));
    return true;
}

int alm_client(char **argv)
{
    char path[PATH_BYTES];
    if (client_path(path))
        (void)execv(path, argv);
    (void)fprintf(stderr, "almanac: cannot start the client almanac-sql: %s\n", strerror(errno));
    return 2;
}
