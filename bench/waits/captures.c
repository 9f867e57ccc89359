// How long calls take of which registers or memory are kept, as ticks of the time-stamp counter, and two readings of that counter. There
// are pauses between the rounds, so that they stay below what is kept of a thread in a while.
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ROUNDS = 101, CALLS = 20, KINDS = 6 };

static int compare(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

int main(void) {
    static uint64_t took[KINDS][ROUNDS];
    const char *names[] = {"two rdtsc", "mmap", "munmap", "epoll_ctl", "select", "poll"};
    volatile uint64_t sink = 0;
    int ends[2], epoll = epoll_create1(0);
    void *maps[CALLS];
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1 || epoll < 0) return 1;
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    for (int round = 0; round < ROUNDS; round++) {
        for (int kind = 0; kind < KINDS; kind++) {
            uint64_t begun = __rdtsc();
            for (int i = 0; i < CALLS; i++) {
                struct timeval now = {0};
                struct pollfd list = {.fd = ends[0], .events = POLLIN};
                fd_set set;
                switch (kind) {
                case 0: sink = __rdtsc(), sink = __rdtsc(); break;
                case 1: maps[i] = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); break;
                case 2: munmap(maps[i], 4096); break;
                case 3: epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event); break;
                case 4:
                    FD_ZERO(&set);
                    FD_SET(ends[0], &set);
                    select(ends[0] + 1, &set, NULL, NULL, &now);
                    break;
                default: poll(&list, 1, 0);
                }
            }
            took[kind][round] = __rdtsc() - begun;
        }
        uint64_t begun = __rdtsc();
        while (__rdtsc() - begun < (uint64_t)1 << 26) {
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        qsort(took[kind], ROUNDS, sizeof **took, compare);
        printf("%s %lu %lu\n", names[kind], took[kind][ROUNDS / 10] / CALLS, took[kind][ROUNDS / 2] / CALLS);
    }
    return 0;
}
