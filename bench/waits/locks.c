// How long it takes to take and to let go of a mutex that nobody else wants, by its kind: prints for each kind the best tenth and the median of
// stretches of such pairs, in tenths of a nanosecond for a pair. With the number of a kind and of pairs: the same of so many in a row.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STRETCHES = 401, PAIRS = 100, KINDS = 5 };

static const char *names[KINDS] = {"normal", "recursive", "robust", "inheriting", "both"};
static pthread_mutex_t locks[KINDS];

static void prepare(void) {
    for (int kind = 0; kind < KINDS; kind++) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        if (kind == 1) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
        if (kind == 2 || kind == 4) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        if (kind == 3 || kind == 4) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
        pthread_mutex_init(&locks[kind], &attributes);
    }
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static int compare(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static uint64_t take(int kind, int pairs) {
    uint64_t begun = now();
    for (int pair = 0; pair < pairs; pair++) {
        pthread_mutex_lock(&locks[kind]);
        pthread_mutex_unlock(&locks[kind]);
    }
    return now() - begun;
}

int main(int words, char **word) {
    static uint64_t took[KINDS][STRETCHES];
    prepare();
    if (words > 2) {
        int kind = atoi(word[1]), pairs = atoi(word[2]);
        printf("%s %lu\n", names[kind], take(kind, pairs) * 10 / pairs);
        return 0;
    }
    for (int stretch = 0; stretch < STRETCHES; stretch++) {
        for (int kind = 0; kind < KINDS; kind++) took[kind][stretch] = take(kind, PAIRS);
        // The recorder has time to read what there is.
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        qsort(took[kind], STRETCHES, sizeof **took, compare);
        printf("%s %lu %lu\n", names[kind], took[kind][STRETCHES / 10] * 10 / PAIRS, took[kind][STRETCHES / 2] * 10 / PAIRS);
    }
    return 0;
}
