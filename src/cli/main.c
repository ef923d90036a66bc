/* main.c - the program almanac-sql, which `almanac sql` starts. */
#include "cli/client.h"

int main(int argc, char **argv)
{
    return alm_client_main(argc, argv);
}
