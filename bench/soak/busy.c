// Eight threads that call, allocate and sleep for fractions of a millisecond, and one that starts and joins a thread every
// 50 ms, for as many seconds as told.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static time_t end;

__attribute__((noipa)) long leaf(long x) { return x * 3 + 1; }
__attribute__((noipa)) long node(long x, int depth) { return depth == 0 ? leaf(x) : node(leaf(x), depth - 1) + 1; }

static void *work(void *seed) {
    long rounds = 0, x = (long)seed;
    while (time(0) < end) {
        for (int i = 0; i < 200; i++) x = node(x, 6);
        char *memory = malloc(100 + (unsigned long)x % 100);
        memset(memory, 1, 50);
        free(memory);
        rounds++;
        usleep(400);
    }
    return (void *)rounds;
}

static void *short_lived(void *argument) { return (void *)leaf((long)argument); }

static void *start_others(void *unused) {
    while (time(0) < end) {
        pthread_t thread;
        pthread_create(&thread, 0, short_lived, 0);
        pthread_join(thread, 0);
        usleep(50000);
    }
    return unused;
}

int main(int argc, char **argv) {
    end = time(0) + (argc > 1 ? atoi(argv[1]) : 600);
    pthread_t workers[8], starter;
    for (long i = 0; i < 8; i++) pthread_create(&workers[i], 0, work, (void *)i);
    pthread_create(&starter, 0, start_others, 0);
    int idle = 0;
    for (int i = 0; i < 8; i++) {
        void *rounds;
        pthread_join(workers[i], &rounds);
        idle += rounds == 0;
    }
    pthread_join(starter, 0);
    printf("%d idle threads\n", idle);
    return idle > 0;
}
