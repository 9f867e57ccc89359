// Threads of one start routine, each with a name of its own. With an argument, one of them crashes three calls deep, while
// the others are inside calls too.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

#define CREW 4
static const char *const names[CREW] = {"crew-bow", "crew-stern", "<i>mast</i>", "crew-hold"};
static pthread_barrier_t all_there;
static volatile long sink;
static int crashes;

__attribute__((noipa)) void row_once(long n) { sink += n; }

__attribute__((noipa)) void row(long n) {
    for (long i = 0; i < n; i++) row_once(i);
}

__attribute__((noipa)) void hit_rock(void) { *(volatile int *)8 = 1; }

__attribute__((noipa)) void steer(void) {
    row_once(1);
    hit_rock();
    row_once(2);
}

__attribute__((noipa)) void *sail(void *number) {
    long own = (long)number;
    pthread_setname_np(pthread_self(), names[own]);
    row(50 + own);
    pthread_barrier_wait(&all_there);
    if (crashes && own == 1) steer();
    pthread_barrier_wait(&all_there);
    return number;
}

int main(int argc, char **argv) {
    (void)argv;
    crashes = argc > 1;
    pthread_barrier_init(&all_there, 0, CREW);
    pthread_t threads[CREW];
    for (long i = 0; i < CREW; i++) pthread_create(&threads[i], 0, sail, (void *)i);
    for (int i = 0; i < CREW; i++) pthread_join(threads[i], 0);
    puts("landed");
    return 0;
}
