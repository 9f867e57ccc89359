/* Two threads compete for one processor until each has used 40 ms of it; a third one sleeps for 20 ms. Each prints its id and
   for how many nanoseconds the kernel says that it ran, from the begin of its function to its end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { COMPETITORS = 2 };
static const long WORK = 40000000, REST = 20000;
static pthread_barrier_t start;

static long used(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

__attribute__((noipa)) static void compete(long *took)
{
    long begin = used();
    while ((*took = used() - begin) < WORK)
        for (volatile int turn = 0; turn < 10000; turn++)
            ;
}

__attribute__((noipa)) static void rest(long *took)
{
    long begin = used();
    usleep(REST);
    *took = used() - begin;
}

static void *competitor(void *unused)
{
    long took;
    pthread_barrier_wait(&start);
    compete(&took);
    printf("%d %ld\n", gettid(), took);
    return unused;
}

static void *sleeper(void *unused)
{
    long took;
    rest(&took);
    printf("%d %ld\n", gettid(), took);
    return unused;
}

int main(void)
{
    pthread_t threads[COMPETITORS + 1];
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            break;
        }
    pthread_barrier_init(&start, 0, COMPETITORS);
    for (int at = 0; at < COMPETITORS; at++)
        pthread_create(&threads[at], 0, competitor, 0);
    pthread_create(&threads[COMPETITORS], 0, sleeper, 0);
    for (int at = 0; at <= COMPETITORS; at++)
        pthread_join(threads[at], 0);
    return 0;
}
