// Threads with start routines that a test leaves alone: one returns, one exits, one is cancelled, and one is alive at the
// end. Each rests for 20 ms, and calls `helper` for an instant.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_barrier_t ready;
static volatile long sink;
__attribute__((noipa)) void helper(void) { sink++; }

void *quiet_return(void *argument) {
    usleep(20000);
    helper();
    return argument;
}
void *quiet_exit(void *argument) {
    usleep(20000);
    helper();
    pthread_exit(argument);
}
void *quiet_cancel(void *unused) {
    usleep(20000);
    helper();
    pthread_barrier_wait(&ready);
    for (;;) pause();
    return unused;
}
void *quiet_loop(void *unused) {
    helper();
    pthread_barrier_wait(&ready);
    for (;;) sink++;
    return unused;
}

int main(void) {
    pthread_t threads[4];
    void *value;
    pthread_barrier_init(&ready, 0, 2);
    pthread_create(&threads[0], 0, quiet_return, (void *)5);
    pthread_join(threads[0], &value);
    pthread_create(&threads[1], 0, quiet_exit, (void *)6);
    pthread_join(threads[1], &value);
    pthread_create(&threads[2], 0, quiet_cancel, 0);
    pthread_barrier_wait(&ready);
    pthread_cancel(threads[2]);
    pthread_join(threads[2], &value);
    pthread_create(&threads[3], 0, quiet_loop, 0);
    pthread_barrier_wait(&ready);
    usleep(20000);
    return 0;
}
