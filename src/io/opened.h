/*
 * opened.h - every descriptor that is opened by openat or openat2 passes through alm_opened. Private to io/.
 *
 * ThreadSanitizer keeps a record of each descriptor number, and reports a close that races with another use of it. It sees
 * neither openat and openat2, nor libuv's close of a socket (a bare system call): without this it takes a file that got
 * the number of a closed socket for that socket. So the record of the number's last owner is ended here.
 */
#ifndef ALM_IO_OPENED_H
#define ALM_IO_OPENED_H

#include <errno.h>

#if defined(__SANITIZE_THREAD__)
void __sanitizer_syscall_pre_impl_close(long fd);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
#endif

/* The descriptor; -errno of the call if there is none. */
static inline int alm_opened(int fd)
{
    const int code = fd < 0 ? -errno : fd;
#if defined(__SANITIZE_THREAD__)
    __tsan_ignore_thread_begin(); /* the last owner may be another thread */
    if (fd >= 0)
        __sanitizer_syscall_pre_impl_close(fd);
    __tsan_ignore_thread_end();
#endif
    return code;
}

#endif
