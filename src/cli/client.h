/* client.h - the client program without its main: command line to exit code. */
#ifndef ALM_CLI_CLIENT_H
#define ALM_CLI_CLIENT_H

/*
 * 0: done; 1: a statement failed, or a result could not be written; 2: wrong command line, or no
 * connection; 130: interrupted.
 */
int alm_client_main(int argc, char **argv);

#endif
