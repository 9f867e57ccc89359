// Threads that exit or are cancelled through handlers which catch everything and throw it on, and whose destructors throw
// and catch exceptions of their own meanwhile.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t ready;
static volatile int sink;
#define CALL __attribute__((noipa))

CALL void throw_number() { throw 1; }
CALL void try_it() {
    try {
        throw_number();
    } catch (int) {
        sink++;
    }
}
struct Cleanup {
    CALL ~Cleanup() { try_it(); }
};

CALL void leave() {
    Cleanup cleanup;
    pthread_exit((void *)0x55);
}
CALL void wait_for_ever() {
    Cleanup cleanup;
    sem_post(&ready);
    for (;;) usleep(100000);
}
CALL void pass_on(void (*inner)()) {
    try {
        inner();
    } catch (...) {
        sink++;
        throw;
    }
}
CALL void *exiting(void *) {
    pass_on(leave);
    return 0;
}
CALL void *canceled(void *) {
    pass_on(wait_for_ever);
    return 0;
}

int main() {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, 0, exiting, 0);
    pthread_join(thread, 0);
    pthread_create(&thread, 0, canceled, 0);
    sem_wait(&ready);
    pthread_cancel(thread);
    pthread_join(thread, 0);
    usleep(20000);
    return 0;
}
