/* Threads that end with values which nobody asks for. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *returning(void *argument) { return (char *)argument + 7; }

static void *leaving(void *argument) {
    pthread_exit((char *)argument + 9);
}

static int pipe_ends[2];

static void *detached(void *argument) {
    /* Its end closes the pipe, by a destructor that runs after its value is known. */
    static pthread_key_t key;
    extern void close_pipe(void *);
    pthread_key_create(&key, close_pipe);
    pthread_setspecific(key, argument);
    return (char *)argument + 11;
}

void close_pipe(void *argument) {
    (void)argument;
    close(pipe_ends[1]);
}

int main(void) {
    pthread_t thread;
    char byte;
    pthread_create(&thread, NULL, returning, (void *)100);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, leaving, (void *)200);
    pthread_join(thread, NULL);
    if (pipe(pipe_ends)) return 1;
    pthread_create(&thread, NULL, detached, (void *)300);
    pthread_detach(thread);
    (void)!read(pipe_ends[0], &byte, 1);
    return 0;
}
