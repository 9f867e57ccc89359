/* A thread waits for a condition that was signalled before it waited: nobody will ever wake it, until an alarm ends the
   program. Prints the thread's id, and the condition. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t signalled;

__attribute__((noipa)) void announce(void)
{
    pthread_cond_signal(&ready);
    pthread_barrier_wait(&signalled);
}

__attribute__((noipa)) void await_announcement(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
}

static void *sleeper(void *unused)
{
    pthread_barrier_wait(&signalled);
    printf("%d %p\n", gettid(), (void *)&ready);
    fflush(stdout);
    await_announcement();
    return unused;
}

static void *announcer(void *unused)
{
    announce();
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&signalled, 0, 2);
    alarm(1);
    pthread_create(&threads[0], 0, sleeper, 0);
    pthread_create(&threads[1], 0, announcer, 0);
    pthread_join(threads[1], 0);
    pthread_join(threads[0], 0);
    return 0;
}
