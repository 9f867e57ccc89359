// Two threads that hand a ball to each other and work between: each turn is a contended wait. Prints of each hundred turns how long one
// took by the clock and of the processor's time, in nanoseconds.
//
//     cost condition|semaphore|mutex|futex TURNS WORK
//
// WORK is how many steps of arithmetic a turn takes. Both threads run on one processor: what wakes up on another one takes as long as
// that one pleases. With mutex, nearly every turn waits: both yield
// the processor while they have the lock.

#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SEGMENT = 100 };

static long turns, steps;
static uint64_t *segments;
static volatile uint64_t sink;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn_of;
static sem_t balls[2];
static _Atomic uint32_t word;

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static inline void work(void) {
    uint64_t value = sink | 1;
    for (long step = 0; step < steps; step++) value = value * 6364136223846793005ull + 1442695040888963407ull;
    sink = value;
}

static void by_condition(int me) {
    pthread_mutex_lock(&lock);
    while (turn_of != me) pthread_cond_wait(&changed, &lock);
    work();
    turn_of = !me;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void by_semaphore(int me) {
    sem_wait(&balls[me]);
    work();
    sem_post(&balls[!me]);
}

static void by_mutex(int me) {
    (void)me;
    pthread_mutex_lock(&lock);
    work();
    // The other one comes to wait for it …
    sched_yield();
    pthread_mutex_unlock(&lock);
    // … and to take it.
    sched_yield();
}

static void by_futex(int me) {
    uint32_t seen;
    while ((seen = atomic_load(&word)) != (uint32_t)me) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    work();
    atomic_store(&word, !me);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void (*take_turn)(int me);

static void *play(void *argument) {
    int me = argument != NULL;
    uint64_t wall = 0, processor = 0;
    for (long number = 0; number < turns; number++) {
        if (me == 0 && number % SEGMENT == 0) {
            uint64_t then[2] = {now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID)};
            if (number > 0) {
                segments[2 * (number / SEGMENT - 1)] = then[0] - wall;
                segments[2 * (number / SEGMENT - 1) + 1] = then[1] - processor;
            }
            wall = then[0], processor = then[1];
        }
        take_turn(me);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    turns = atol(arguments[2]) / 2, steps = atol(arguments[3]);
    segments = calloc(turns / SEGMENT + 1, 16);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    sem_init(&balls[0], 0, 1);
    sem_init(&balls[1], 0, 0);
    switch (arguments[1][0]) {
    case 'c': take_turn = by_condition; break;
    case 's': take_turn = by_semaphore; break;
    case 'f': take_turn = by_futex; break;
    default: take_turn = by_mutex;
    }
    pthread_t other;
    pthread_create(&other, NULL, play, (void *)1);
    play(NULL);
    pthread_join(other, NULL);
    for (long number = 0; number < turns / SEGMENT - 1; number++)
        printf("%lu %lu\n", segments[2 * number] / (2 * SEGMENT), segments[2 * number + 1] / (2 * SEGMENT));
    return 0;
}
