// Eight threads that call, return, wait and handle signals until they are told to end; each checks its own results.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8 };
static atomic_int is_over, wrong, handled;
static atomic_long rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long guarded;

__attribute__((noipa)) static long fibonacci(long n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__attribute__((noipa)) static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noipa)) static void sort_some(unsigned *seed) {
    int numbers[64];
    for (int i = 0; i < 64; i++) numbers[i] = rand_r(seed) % 1000;
    qsort(numbers, 64, sizeof *numbers, compare);
    for (int i = 1; i < 64; i++) wrong += numbers[i - 1] > numbers[i];
}
__attribute__((noipa)) static void wait_inside(int depth) {
    if (depth > 0) {
        wait_inside(depth - 1);
        atomic_signal_fence(memory_order_seq_cst);
        return;
    }
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, 0);
}
static void handler(int signal) { handled += fibonacci(5) == 5; }

static void *serve(void *number) {
    unsigned seed = (unsigned)(long)number;
    while (!is_over) {
        wrong += fibonacci(12) != 144;
        sort_some(&seed);
        if (seed % 4 == 0) wait_inside(20);
        pthread_mutex_lock(&lock);
        guarded++;
        pthread_mutex_unlock(&lock);
        char *text = malloc(100);
        snprintf(text, 100, "%ld", (long)number);
        wrong += atol(text) != (long)number;
        free(text);
        rounds++;
    }
    return 0;
}
static void end(int signal) { is_over = 1; }

int main(void) {
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    signal(SIGTERM, end);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec often = {{0, 500000}, {0, 500000}};
    timer_settime(timer, 0, &often, 0);
    for (long i = 0; i < THREADS; i++) {
        char name[16];
        snprintf(name, sizeof name, "server-%ld", i);
        pthread_create(&threads[i], 0, serve, (void *)i);
        pthread_setname_np(threads[i], name);
    }
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    wrong += guarded != rounds;
    printf("%d wrong, %s, %s\n", wrong, rounds > 0 ? "busy" : "idle", handled > 0 ? "interrupted" : "undisturbed");
    return wrong != 0;
}
