/* The least a server can do: reads requests, answers each with the same bytes, knows no SQL. What loadgen reaches with
 * it is the bound that the machine and loadgen themselves set to any server; serve.py prints it beside the figures.
 * canned [THREADS]: listens on a free port of 127.0.0.1, prints the port, runs until its standard input ends.
 * Speaks what loadgen speaks: HTTP, and the PostgreSQL protocol without a login; every query has the answer of select 1. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATA                                                                                       \
    "D\0\0\0\13\0\1\0\0\0\1"                                                                       \
    "1"
#define END                                                                                        \
    "C\0\0\0\15SELECT 1\0"                                                                         \
    "Z\0\0\0\5I"

static const char login[] = "R\0\0\0\10\0\0\0\0"
                            "Z\0\0\0\5I";
static const char parsed[] = "1\0\0\0\4"
                             "Z\0\0\0\5I";
static const char simple[] = "T\0\0\0\32\0\1"
                             "1\0\0\0\0\0\0\0\0\0\0\27\0\4\377\377\377\377\0\0" DATA END;
static const char prepared[] = "2\0\0\0\4" DATA END;
static const char http[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json; "
                           "charset=utf-8\r\nContent-Length: 106\r\n\r\n"
                           "{\"query\":\"select "
                           "1\",\"columns\":[{\"name\":\"1\",\"type\":\"INT\"}],\"timestamp\":-1,"
                           "\"dataset\":[[1]],\"count\":1         }";

typedef struct {
    int fd, started;
    size_t len;
    char buf[1 << 15];
} Conn;

static uint32_t be32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return ntohl(v);
}
static int answer(int fd, const char *bytes, size_t n)
{
    return write(fd, bytes, n) == (ssize_t)n;
}

/* Bytes of the request at the start of the buffer, 0: it is not complete; -1: the client is gone. */
static ssize_t request(Conn *c, const char *p, size_t n)
{
    if (n >= 4 && !memcmp(p, "GET ", 4)) {
        const char *end = memmem(p, n, "\r\n\r\n", 4);
        if (end == NULL)
            return 0;
        return answer(c->fd, http, sizeof http - 1) ? end + 4 - p : -1;
    }
    size_t head = c->started ? 1 : 0;
    if (n < head + 4 || n < head + be32(p + head))
        return 0;
    size_t total = head + be32(p + head);
    int ok = 1;
    if (!c->started)
        ok = answer(c->fd, login, sizeof login - 1);
    else if (*p == 'Q')
        ok = answer(c->fd, simple, sizeof simple - 1);
    else if (*p == 'S' && c->started == 'P')
        ok = answer(c->fd, parsed, sizeof parsed - 1);
    else if (*p == 'S')
        ok = answer(c->fd, prepared, sizeof prepared - 1);
    if (*p != 'S' || !c->started)
        c->started = head ? *p : 1;
    return ok ? (ssize_t)total : -1;
}

static int serve(Conn *c)
{
    ssize_t k = read(c->fd, c->buf + c->len, sizeof c->buf - c->len);
    if (k <= 0)
        return 0;
    c->len += (size_t)k;
    size_t at = 0;
    ssize_t step = 0;
    while (at < c->len && (step = request(c, c->buf + at, c->len - at)) > 0)
        at += (size_t)step;
    memmove(c->buf, c->buf + at, c->len - at);
    c->len -= at;
    return step >= 0 && c->len < sizeof c->buf;
}

static void *run(void *arg)
{
    int ep = *(int *)arg;
    struct epoll_event events[256];
    for (;;) {
        int n = epoll_wait(ep, events, 256, -1);
        for (int i = 0; i < n; i++) {
            Conn *c = events[i].data.ptr;
            if (serve(c))
                continue;
            close(c->fd);
            free(c);
        }
    }
    return NULL;
}

static void *end_with_input(void *arg)
{
    char byte;
    (void)arg;
    while (read(0, &byte, 1) > 0) {
    }
    exit(0);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2, eps[64], one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    if (n < 1 || n > 64 || bind(listener, (struct sockaddr *)&a, sizeof a) ||
        listen(listener, 128) || getsockname(listener, (struct sockaddr *)&a, &size))
        return 1;
    for (int i = 0; i < n; i++) {
        eps[i] = epoll_create1(0);
        pthread_create(&thread, NULL, run, &eps[i]);
    }
    pthread_create(&thread, NULL, end_with_input, NULL);
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    for (int i = 0;; i++) {
        Conn *c = calloc(1, sizeof *c);
        if (c == NULL || (c->fd = accept(listener, NULL, NULL)) < 0)
            return 1;
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(eps[i % n], EPOLL_CTL_ADD, c->fd, &event);
    }
}
