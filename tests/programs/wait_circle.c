/* So many threads as the argument says take a lock each, then want the next one's, until an alarm ends the program. Each
   prints its id, the lock that it holds, and the one that it wants. With ROBUST given to the compiler, the locks tell who has died with them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 8

static pthread_mutex_t locks[MOST];
static pthread_barrier_t all;
static int count;

__attribute__((noipa)) void take_first(int own)
{
    pthread_mutex_lock(&locks[own]);
}

__attribute__((noipa)) void take_next(int own)
{
    pthread_mutex_lock(&locks[(own + 1) % count]);
}

static void *philosopher(void *number)
{
    int own = (int)(long)number;
    take_first(own);
    printf("%d %p %p\n", gettid(), (void *)&locks[own], (void *)&locks[(own + 1) % count]);
    fflush(stdout);
    if (count > 1)
        pthread_barrier_wait(&all);
    take_next(own);
    return 0;
}

int main(int words, char **word)
{
    pthread_t threads[MOST];
    count = words > 1 ? atoi(word[1]) : 2;
    pthread_barrier_init(&all, 0, count);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef ROBUST
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
#endif
    for (int at = 0; at < count; at++)
        pthread_mutex_init(&locks[at], &attributes);
    alarm(1);
    for (int at = 0; at < count; at++)
        pthread_create(&threads[at], 0, philosopher, (void *)(long)at);
    for (int at = 0; at < count; at++)
        pthread_join(threads[at], 0);
    return 0;
}
