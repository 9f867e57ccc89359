// Threads that are there before it says "ready", and end once it has read a line: one returns, one exits, one is cancelled.
// One that is made then has no past.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t go;
static volatile int sink;
__attribute__((noipa)) void pass(void) { sink++; }
__attribute__((noipa)) void wait_until_told(void) {
    sem_wait(&go);
    pass();
}
__attribute__((noipa)) void *old_return(void *argument) {
    wait_until_told();
    return argument;
}
__attribute__((noipa)) void *old_exit(void *argument) {
    wait_until_told();
    pthread_exit(argument);
}
__attribute__((noipa)) void *old_cancel(void *argument) {
    wait_until_told();
    for (;;) pause();
    return argument;
}
__attribute__((noipa)) void *new_return(void *argument) {
    pass();
    return argument;
}

int main(void) {
    pthread_t threads[4];
    char line[16];
    sem_init(&go, 0, 0);
    pthread_create(&threads[0], 0, old_return, (void *)1);
    pthread_create(&threads[1], 0, old_exit, (void *)2);
    pthread_create(&threads[2], 0, old_cancel, 0);
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    for (int i = 0; i < 3; i++) sem_post(&go);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    pthread_cancel(threads[2]);
    pthread_join(threads[2], 0);
    pthread_create(&threads[3], 0, new_return, (void *)4);
    pthread_join(threads[3], 0);
    return 0;
}
