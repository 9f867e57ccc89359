// Threads that create threads, five deep; the last one is detached and waited for by other means, until it is gone.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static sem_t done;
static pid_t last;
__attribute__((noipa)) void *detached(void *level) {
    last = gettid();
    sem_post(&done);
    return level;
}
__attribute__((noipa)) void *level(void *number) {
    long n = (long)number;
    pthread_t thread;
    if (n < 5) {
        void *result;
        pthread_create(&thread, 0, level, (void *)(n + 1));
        pthread_join(thread, &result);
        return (void *)(n + (long)result);
    }
    pthread_create(&thread, 0, detached, (void *)(n + 1));
    pthread_detach(thread);
    sem_wait(&done);
    while (tgkill(getpid(), last, 0) == 0) usleep(1000);
    return (void *)n;
}

int main(void) {
    sem_init(&done, 0, 0);
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, level, (void *)1);
    pthread_join(thread, &result);
    printf("%ld\n", (long)result);
    return 0;
}
