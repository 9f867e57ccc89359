// Threads that make threads which end at once, until the process is told to end.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAKERS = 3, AT_ONCE = 4 };
static atomic_int is_over;
static atomic_long made, run;

__attribute__((noipa)) static long fibonacci(long n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
static void *short_lived(void *nothing) {
    run += fibonacci(6) == 8;
    return nothing;
}
static void *make(void *nothing) {
    while (!is_over) {
        pthread_t threads[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            if (pthread_create(&threads[i], 0, short_lived, 0) != 0) abort();
            made++;
        }
        for (int i = 0; i < AT_ONCE; i++) pthread_join(threads[i], 0);
    }
    return nothing;
}
static void end(int signal) { is_over = 1; }

int main(void) {
    pthread_t makers[MAKERS];
    signal(SIGTERM, end);
    for (int i = 0; i < MAKERS; i++) pthread_create(&makers[i], 0, make, 0);
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < MAKERS; i++) pthread_join(makers[i], 0);
    printf("%s\n", made == run ? "all ran" : "some did not run");
    return made != run;
}
