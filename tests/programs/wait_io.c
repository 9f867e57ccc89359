/* Two processes and what goes between them: the child's two threads write to a "pipe", a socket of a "pair", a "tcp" connection or an
   "eventfd", each after a rest of its own, and the parent waits for every byte; with "poll" and "epoll" it waits for a pipe that way
   before it reads. What is written says who has written it. The arguments are the channel and how often each thread writes.
   Prints both processes, the two threads that write, then who wrote what the parent got, in its order: 0, 1, or 2 for both at once. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITERS = 2, MOST = 65536 };

static const char *channel;
static int turns, from, to, set, taken;
static volatile int *ids;
static struct sockaddr_in address = { .sin_family = AF_INET };

static int is(const char *name) { return strcmp(channel, name) == 0; }

__attribute__((noipa)) int give(uint64_t who)
{
    uint64_t count = who ? 1ULL << 32 : 1;
    char byte = (char)who;
    return is("eventfd") ? write(to, &count, sizeof count) == sizeof count : write(to, &byte, 1) == 1;
}

static void *serve(void *number)
{
    uint64_t own = (uint64_t)number;
    unsigned random = (unsigned)own + 1;
    ids[own] = gettid();
    for (int turn = 0; turn < turns; turn++) {
        usleep(150 + rand_r(&random) % 400);
        if (!give(own))
            exit(3);
    }
    return 0;
}

__attribute__((noipa)) void connect_late(void)
{
    to = socket(AF_INET, SOCK_STREAM, 0);
    usleep(20000);
    if (connect(to, (struct sockaddr *)&address, sizeof address) != 0)
        exit(4);
}

__attribute__((noipa)) void close_late(void)
{
    usleep(20000);
    close(to);
    /* So that its end is waited for too. */
    usleep(20000);
}

static void child(void)
{
    pthread_t threads[WRITERS];
    if (is("tcp"))
        connect_late();
    close(from);
    for (uint64_t who = 0; who < WRITERS; who++)
        pthread_create(&threads[who], 0, serve, (void *)who);
    for (int who = 0; who < WRITERS; who++)
        pthread_join(threads[who], 0);
    close_late();
    usleep(20000);
    _exit(0);
}

__attribute__((noipa)) int await_connection(int listener)
{
    return accept(listener, 0, 0);
}

/* Who wrote what has come; negative at the end. */
__attribute__((noipa)) int await(void)
{
    struct pollfd one = { .fd = from, .events = POLLIN };
    struct epoll_event event;
    uint64_t count = 0;
    char byte;
    if (is("poll"))
        poll(&one, 1, -1);
    if (is("epoll"))
        epoll_wait(set, &event, 1, -1);
    if (!is("eventfd"))
        return read(from, &byte, 1) == 1 ? byte : -1;
    if (read(from, &count, sizeof count) != sizeof count)
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
    static signed char got[MOST];
    int ends[2] = { -1, -1 }, listener = -1, count = 0;
    if (words < 3)
        return 2;
    channel = word[1], turns = atoi(word[2]);
    if (turns * WRITERS > MOST)
        return 2;
    ids = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (is("tcp"))
        listener = listen_here();
    else if (is("eventfd"))
        ends[0] = eventfd(0, 0), ends[1] = dup(ends[0]);
    else if (is("pair") ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends))
        return 2;
    from = ends[0], to = ends[1];
    pid_t pid = fork();
    if (pid == 0)
        child();
    close(to);
    if (is("tcp"))
        from = await_connection(listener);
    if (is("epoll")) {
        struct epoll_event event = { .events = EPOLLIN, .data.fd = from };
        set = epoll_create1(0);
        epoll_ctl(set, EPOLL_CTL_ADD, from, &event);
    }
    /* A counter has no end: it is over when all that was counted has come. */
    while (!is("eventfd") || taken < turns * WRITERS) {
        int who = await();
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
