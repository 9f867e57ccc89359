// Eight threads that are alive at once, and say nothing after their start. `main` waits for one of them, which ends the
// process after 100 ms. Before, a creation fails: no machine has so much memory for a stack.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t all;
__attribute__((noipa)) void *wait_for_ever(void *unused) {
    pthread_barrier_wait(&all);
    for (;;) pause();
    return unused;
}
__attribute__((noipa)) void *end_all(void *unused) {
    pthread_barrier_wait(&all);
    usleep(100000);
    _exit(3);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t huge;
    pthread_barrier_init(&all, 0, 8);
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, 1L << 46);
    if (pthread_create(&thread, &huge, wait_for_ever, 0) == 0) return 1;
    for (int i = 0; i < 7; i++) pthread_create(&thread, 0, wait_for_ever, 0);
    pthread_create(&thread, 0, end_all, 0);
    pthread_join(thread, 0);
    return 0;
}
