/* Waits for one of several descriptors, with "poll", "ppoll", "select" or "pselect". Two threads of a child process write to a pipe each, after a rest of their
   own, and the parent waits for both pipes and for a third that nobody writes to. With "poll-out", "select-out" or "epoll-out" the
   parent fills a pipe, and waits for room in it, which one of the child's two threads makes. The arguments are how it waits and how often.
   Prints both processes and the child's two threads, then a number for each wait: 1, 2 or 3 for the pipes that the call said were
   ready; with -out, who made room, 0 or 1. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 2, MOST = 32768, PAGE = 4096 };

struct shared {
    int ids[THREADS];
    int readers[MOST];
    int reads;
};

static struct shared *shared;
static const char *way;
static int turns, is_out, set, ends[3][2];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *name) { return strncmp(way, name, strlen(name)) == 0; }

__attribute__((noipa)) int give(int who)
{
    return write(ends[who][1], "x", 1) == 1;
}

__attribute__((noipa)) int make_room(void)
{
    char page[PAGE];
    return read(ends[0][0], page, sizeof page) == sizeof page;
}

static void *serve(void *number)
{
    int own = (int)(intptr_t)number;
    unsigned random = own + 1;
    shared->ids[own] = gettid();
    for (int at = 0; at < turns; at++) {
        usleep(200 + rand_r(&random) % 500);
        if (!is_out) {
            if (!give(own))
                exit(3);
            continue;
        }
        pthread_mutex_lock(&turn);
        shared->readers[shared->reads++] = own;
        if (!make_room())
            exit(3);
        pthread_mutex_unlock(&turn);
    }
    return 0;
}

static void child(void)
{
    pthread_t threads[THREADS];
    usleep(20000);
    for (intptr_t who = 0; who < THREADS; who++)
        pthread_create(&threads[who], 0, serve, (void *)who);
    for (int who = 0; who < THREADS; who++)
        pthread_join(threads[who], 0);
    usleep(20000);
    _exit(0);
}

static int by_poll(struct pollfd *list, int count)
{
    return is("ppoll") ? ppoll(list, count, 0, 0) : poll(list, count, -1);
}

static int by_select(fd_set *readable, fd_set *writable)
{
    return is("pselect") ? pselect(64, readable, writable, 0, 0, 0) : select(64, readable, writable, 0, 0);
}

/* Which pipes can be read from, as bits. */
__attribute__((noipa)) int await_several(void)
{
    int found = 0;
    if (is("select") || is("pselect")) {
        fd_set readable;
        FD_ZERO(&readable);
        for (int at = 0; at < 3; at++)
            FD_SET(ends[at][0], &readable);
        by_select(&readable, 0);
        for (int at = 0; at < 3; at++)
            found |= !!FD_ISSET(ends[at][0], &readable) << at;
    } else {
        struct pollfd list[3];
        for (int at = 0; at < 3; at++)
            list[at] = (struct pollfd){ .fd = ends[at][0], .events = POLLIN };
        by_poll(list, 3);
        for (int at = 0; at < 3; at++)
            found |= !!list[at].revents << at;
    }
    return found;
}

/* The pipe has room, or another one something to read, which never happens. */
__attribute__((noipa)) int await_room(void)
{
    if (is("select")) {
        fd_set readable, writable;
        FD_ZERO(&readable);
        FD_ZERO(&writable);
        FD_SET(ends[2][0], &readable);
        FD_SET(ends[0][1], &writable);
        return by_select(&readable, &writable);
    }
    if (is("epoll")) {
        struct epoll_event event;
        return epoll_wait(set, &event, 1, -1);
    }
    struct pollfd list[2] = { { .fd = ends[2][0], .events = POLLIN }, { .fd = ends[0][1], .events = POLLOUT } };
    return by_poll(list, 2);
}

/* How many pages found room. */
static int fill(void)
{
    static char page[PAGE];
    int pages = 0;
    while (write(ends[0][1], page, sizeof page) == sizeof page)
        pages++;
    if (errno != EAGAIN)
        exit(4);
    return pages;
}

int main(int words, char **word)
{
    static int truth[2 * MOST];
    int count = 0, taken = 0;
    if (words < 3)
        return 2;
    way = word[1], turns = atoi(word[2]), is_out = strstr(way, "-out") != 0;
    if (turns * THREADS > MOST)
        return 2;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int at = 0; at < 3; at++)
        if (pipe(ends[at]))
            return 2;
    if (is_out) {
        fcntl(ends[0][1], F_SETFL, O_NONBLOCK);
        fill();
        set = epoll_create1(0);
        struct epoll_event out = { .events = EPOLLOUT }, in = { .events = EPOLLIN };
        epoll_ctl(set, EPOLL_CTL_ADD, ends[0][1], &out);
        epoll_ctl(set, EPOLL_CTL_ADD, ends[2][0], &in);
    }
    pid_t pid = fork();
    if (pid == 0)
        child();
    while (taken < turns * THREADS) {
        char byte;
        if (is_out) {
            if (await_room() < 1)
                return 3;
            truth[count++] = taken;
            taken += fill();
            continue;
        }
        int found = await_several();
        for (int at = 0; at < THREADS; at++)
            if (found >> at & 1)
                taken += read(ends[at][0], &byte, 1) == 1;
        truth[count++] = found;
    }
    waitpid(pid, 0, 0);
    printf("%d %d %d %d\n", getpid(), pid, shared->ids[0], shared->ids[1]);
    for (int at = 0; at < count; at++)
        printf("%d%c", is_out ? shared->readers[truth[at]] : truth[at], at + 1 < count ? ' ' : '\n');
    return 0;
}
