/* A thread takes and lets go of mutexes that nobody else wants: robust ones, ones that hand priorities on, and both. Prints the thread's id. The argument is how often. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int turns = 1000;

static void *take_all(void *nothing)
{
    static pthread_mutex_t locks[3];
    printf("%d\n", gettid());
    for (int kind = 0; kind < 3; kind++) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        if (kind != 1)
            pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        if (kind != 0)
            pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
        pthread_mutex_init(&locks[kind], &attributes);
        for (int turn = 0; turn < turns; turn++) {
            pthread_mutex_lock(&locks[kind]);
            pthread_mutex_unlock(&locks[kind]);
            if (pthread_mutex_trylock(&locks[kind]) == 0)
                pthread_mutex_unlock(&locks[kind]);
        }
    }
    return nothing;
}

int main(int words, char **word)
{
    pthread_t thread;
    if (words > 1)
        turns = atoi(word[1]);
    pthread_create(&thread, 0, take_all, 0);
    pthread_join(thread, 0);
    return 0;
}
