// Makes one short thread after the other, and prints medians in nanoseconds: of pthread_create, from its call to the thread's
// first instruction, and until it is joined.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static volatile long begun;
static void *body(void *nothing) {
    begun = now();
    return nothing;
}

static int by_value(const void *a, const void *b) {
    long difference = *(const long *)a - *(const long *)b;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **arguments) {
    long threads = count > 1 ? atol(arguments[1]) : 2000;
    long *times[3];
    for (int i = 0; i < 3; i++) times[i] = calloc(threads, sizeof(long));
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        long before = now();
        if (pthread_create(&thread, 0, body, 0)) return 1;
        times[0][i] = now() - before;
        pthread_join(thread, 0);
        times[2][i] = now() - before;
        times[1][i] = begun - before;
    }
    for (int i = 0; i < 3; i++) {
        qsort(times[i], threads, sizeof(long), by_value);
        fprintf(stderr, "%ld%c", times[i][threads / 2], i == 2 ? '\n' : ' ');
    }
    return 0;
}
