/* Two processes and what goes between them, by rings of the kernel's: the child's two threads write, each after a rest of its own, and the
   parent asks its ring to read every byte, and waits for that. With LIBURING defined the ring is that library's, else system calls are made
   by their numbers. The first argument is the channel: a "pipe", a socket of a "pair", a "tcp" connection, an "eventfd"; "poll" asks whether
   a pipe can be read; "several" has a pipe for each that writes, and asks for both; "both" waits until two of these are done; "timed" asks for
   a time limit too; "written" writes with rings as well; "linked" asks for one pipe after the other. The second is how often each
   thread writes. Prints both processes, the two threads that write, then who wrote what the parent got, in its order: 0, 1, 2 for both at once,
   3 for nobody, as the time was up. "forbidden" where the kernel does not allow rings. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/time_types.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef LIBURING
#include <liburing.h>
typedef struct io_uring ring_t;
#else
#include <linux/io_uring.h>
typedef struct {
    int descriptor;
    unsigned ready;
    struct io_uring_params params;
    char *rings;
    struct io_uring_sqe *entries;
} ring_t;
#endif

enum { WRITERS = 2, MOST = 65536, ENTRIES = 8 };

static const char *channel;
static int turns, from[WRITERS], to[WRITERS], taken;
static volatile int *ids;
static struct sockaddr_in address = { .sin_family = AF_INET };

static int is(const char *name) { return strcmp(channel, name) == 0; }
static int has_two(void) { return is("several") || is("both") || is("linked"); }

__attribute__((always_inline)) static inline int make_ring(ring_t *ring)
{
#ifdef LIBURING
    return io_uring_queue_init(ENTRIES, ring, 0);
#else
    struct io_uring_params *params = &ring->params;
    memset(ring, 0, sizeof *ring);
    ring->descriptor = syscall(SYS_io_uring_setup, ENTRIES, params);
    if (ring->descriptor < 0)
        return -1;
    size_t size = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
    ring->rings = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor, IORING_OFF_SQ_RING);
    ring->entries = mmap(0, params->sq_entries * sizeof *ring->entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor, IORING_OFF_SQES);
    return 0;
#endif
}

__attribute__((always_inline)) static inline void ask(ring_t *ring, int opcode, int descriptor, const void *at, unsigned length, unsigned flags, unsigned events, uint64_t data)
{
    struct io_uring_sqe *entry;
#ifdef LIBURING
    entry = io_uring_get_sqe(ring);
    if (!entry)
        exit(6);
#else
    uint32_t *tail = (uint32_t *)(ring->rings + ring->params.sq_off.tail);
    uint32_t place = *tail & (ring->params.sq_entries - 1);
    /* Entries are used in another order than they are handed over. */
    uint32_t number = place ^ 1;
    entry = &ring->entries[number];
    ((uint32_t *)(ring->rings + ring->params.sq_off.array))[place] = number;
#endif
    memset(entry, 0, sizeof *entry);
    entry->opcode = opcode, entry->fd = descriptor, entry->addr = (uintptr_t)at, entry->len = length;
    entry->flags = flags, entry->poll32_events = events, entry->user_data = data;
#ifndef LIBURING
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    ring->ready++;
#endif
}

/* Hands over what was asked for, and waits until so many are done; takes as many. */
__attribute__((always_inline)) static inline void finish(ring_t *ring, unsigned count, struct io_uring_cqe *done)
{
#ifdef LIBURING
    struct io_uring_cqe *next;
    if (count > 1 || !is("eventfd"))
        io_uring_submit_and_wait(ring, count);
    else
        io_uring_submit(ring);
    for (unsigned at = 0; at < count; at++) {
        io_uring_wait_cqe(ring, &next);
        done[at] = *next;
        io_uring_cqe_seen(ring, next);
    }
#else
    uint32_t *head = (uint32_t *)(ring->rings + ring->params.cq_off.head), *tail = (uint32_t *)(ring->rings + ring->params.cq_off.tail);
    struct io_uring_cqe *all = (struct io_uring_cqe *)(ring->rings + ring->params.cq_off.cqes);
    while (ring->ready || __atomic_load_n(tail, __ATOMIC_ACQUIRE) - *head < count) {
        int given = syscall(SYS_io_uring_enter, ring->descriptor, ring->ready, count, IORING_ENTER_GETEVENTS, (void *)0, 0L);
        if (given < 0)
            exit(5);
        ring->ready -= given;
    }
    for (unsigned at = 0; at < count; at++)
        done[at] = all[(*head + at) & (ring->params.cq_entries - 1)];
    __atomic_store_n(head, *head + count, __ATOMIC_RELEASE);
#endif
}

__attribute__((noipa)) int give(ring_t *ring, uint64_t who)
{
    uint64_t count = who ? 1ULL << 32 : 1;
    char byte = (char)who;
    struct io_uring_cqe done;
    if (is("written")) {
        ask(ring, IORING_OP_WRITE, to[0], &byte, 1, 0, 0, 1);
        finish(ring, 1, &done);
        return done.res == 1;
    }
    int end = has_two() ? to[who] : to[0];
    return is("eventfd") ? write(end, &count, sizeof count) == sizeof count : write(end, &byte, 1) == 1;
}

static void *serve(void *number)
{
    uint64_t own = (uint64_t)number;
    unsigned random = (unsigned)own + 1;
    ring_t ring;
    if (is("written") && make_ring(&ring))
        exit(3);
    ids[own] = gettid();
    for (int turn = 0; turn < turns; turn++) {
        usleep(150 + rand_r(&random) % 400);
        if (!give(&ring, own))
            exit(3);
    }
    return 0;
}

__attribute__((noipa)) void connect_late(void)
{
    to[0] = socket(AF_INET, SOCK_STREAM, 0);
    usleep(20000);
    if (connect(to[0], (struct sockaddr *)&address, sizeof address) != 0)
        exit(4);
}

__attribute__((noipa)) void close_late(void)
{
    usleep(20000);
    close(to[0]);
    /* So that its end is waited for too. */
    usleep(20000);
}

static void child(void)
{
    pthread_t threads[WRITERS];
    if (is("tcp"))
        connect_late();
    close(from[0]);
    for (uint64_t who = 0; who < WRITERS; who++)
        pthread_create(&threads[who], 0, serve, (void *)who);
    for (int who = 0; who < WRITERS; who++)
        pthread_join(threads[who], 0);
    close_late();
    usleep(20000);
    _exit(0);
}

__attribute__((noipa)) int await_connection(ring_t *ring, int listener)
{
    struct io_uring_cqe done;
    ask(ring, IORING_OP_ACCEPT, listener, 0, 0, 0, 0, 1);
    finish(ring, 1, &done);
    return done.res;
}

/* Of the operations that take long, which are to be done. */
static int is_asked[3];

/* Who wrote what has come; negative at the end. */
__attribute__((noipa)) int await(ring_t *ring)
{
    static struct __kernel_timespec limit = { .tv_nsec = 300000 };
    static char bytes[WRITERS];
    static uint64_t count;
    struct io_uring_cqe done[WRITERS];
    if (is("several") || is("both") || is("linked")) {
        for (int who = 0; who < WRITERS; who++)
            if (!is_asked[who])
                ask(ring, IORING_OP_READ, from[who], &bytes[who], 1, is("linked") && who == 0 ? IOSQE_IO_LINK : 0, 0, who);
        is_asked[0] = is_asked[1] = 1;
        unsigned both = is("several") ? 1 : 2;
        finish(ring, both, done);
        for (unsigned at = 0; at < both; at++)
            is_asked[done[at].user_data] = 0;
        taken += (int)both;
        return done[both - 1].res == 1 ? (int)done[both - 1].user_data : -1;
    }
    if (is("timed")) {
        if (!is_asked[0])
            ask(ring, IORING_OP_READ, from[0], bytes, 1, 0, 0, 0);
        if (!is_asked[1])
            ask(ring, IORING_OP_TIMEOUT, -1, &limit, 1, 0, 0, 1);
        is_asked[0] = is_asked[1] = 1;
        finish(ring, 1, done);
        is_asked[done->user_data] = 0;
        return done->user_data == 1 ? 3 : done->res == 1 ? bytes[0] : -1;
    }
    if (is("poll")) {
        ask(ring, IORING_OP_POLL_ADD, from[0], 0, 0, 0, POLLIN, 1);
        finish(ring, 1, done);
        return read(from[0], bytes, 1) == 1 ? bytes[0] : -1;
    }
    if (!is("eventfd")) {
        int opcode = is("pair") || is("tcp") ? IORING_OP_RECV : IORING_OP_READ;
        ask(ring, opcode, from[0], bytes, 1, 0, 0, 1);
        finish(ring, 1, done);
        return done->res == 1 ? bytes[0] : -1;
    }
    ask(ring, IORING_OP_READ, from[0], &count, sizeof count, 0, 0, 1);
    finish(ring, 1, done);
    if (done->res != sizeof count)
        return -1;
    taken += (int)((uint32_t)count + (count >> 32));
    return (uint32_t)count == 0 ? 1 : count >> 32 == 0 ? 0 : 2;
}

__attribute__((noipa)) int await_child(pid_t pid)
{
    int status = 0;
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int listen_here(void)
{
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener, (struct sockaddr *)&address, length);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &length);
    return listener;
}

int main(int words, char **word)
{
    static signed char got[2 * MOST];
    int listener = -1, count = 0;
    ring_t ring;
    if (words < 3)
        return 2;
    channel = word[1], turns = atoi(word[2]);
    if (turns * WRITERS > MOST)
        return 2;
    if (make_ring(&ring)) {
        printf("forbidden\n");
        return 0;
    }
    ids = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (is("tcp"))
        listener = listen_here();
    for (int who = 0; who < (has_two() ? WRITERS : 1) && !is("tcp"); who++) {
        int ends[2] = { -1, -1 };
        if (is("eventfd"))
            ends[0] = eventfd(0, 0), ends[1] = dup(ends[0]);
        else if (is("pair") ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends))
            return 2;
        from[who] = ends[0], to[who] = ends[1];
    }
    pid_t pid = fork();
    if (pid == 0)
        child();
    for (int who = 0; who < (has_two() ? WRITERS : 1) && !is("tcp"); who++)
        close(to[who]);
    if (is("tcp"))
        from[0] = await_connection(&ring, listener);
    /* Some have no end that is waited for: these are over when all has come. */
    int is_counted = is("eventfd") || has_two();
    while (!is_counted || taken < turns * WRITERS) {
        int who = await(&ring);
        if (who < 0)
            break;
        got[count++] = (signed char)who;
    }
    int status = await_child(pid);
    printf("%d %d %d %d\n", getpid(), pid, ids[0], ids[1]);
    for (int at = 0; at < count; at++)
        printf("%d%c", got[at], at + 1 < count ? ' ' : '\n');
    return status;
}
