// Threads that are cancelled while they wait, three frames deep, with a cleanup handler.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t ready;
static int cleaned;
__attribute__((noipa)) void cleanup(void *unused) { cleaned++; (void)unused; }
__attribute__((noipa)) long wait_for_ever(long n) {
    if (n > 1) return wait_for_ever(n - 1) + 1;
    sem_post(&ready);
    for (;;) pause();
}
__attribute__((noipa)) void *body(void *unused) {
    pthread_cleanup_push(cleanup, unused);
    wait_for_ever(3);
    pthread_cleanup_pop(0);
    return 0;
}

int main(void) {
    sem_init(&ready, 0, 0);
    int cancelled = 0;
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, body, 0);
        sem_wait(&ready);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d %d\n", cancelled, cleaned);
    return 0;
}
