/* Three threads on one processor: the lowest has a mutex and works, the highest waits for that mutex, and the middle one keeps the processor
   from the lowest. The argument says which priorities they have: "fifo", "same" for all the same, or "inherit" where the mutex hands on
   the priority of who waits. Prints the ids of the lowest and of the highest, and for how many microseconds the lowest was kept from
   running; "forbidden" where the program may not have priorities of real time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *kind;
static pthread_mutex_t mutex;
static sem_t is_taken;
static int low, high;
static volatile long kept;

static long microseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000L + time.tv_nsec / 1000;
}

static void work(clockid_t clock, long length)
{
    long start = microseconds(clock);
    while (microseconds(clock) - start < length)
        ;
}

__attribute__((noipa)) void take_low(void)
{
    pthread_mutex_lock(&mutex);
    sem_post(&is_taken);
    long start = microseconds(CLOCK_MONOTONIC);
    work(CLOCK_THREAD_CPUTIME_ID, 20000);
    kept = microseconds(CLOCK_MONOTONIC) - start - 20000;
    pthread_mutex_unlock(&mutex);
}

__attribute__((noipa)) void take_high(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void *run_low(void *unused)
{
    low = gettid();
    take_low();
    usleep(50000);
    return unused;
}

static void *run_high(void *unused)
{
    high = gettid();
    take_high();
    usleep(50000);
    return unused;
}

static void *run_middle(void *unused)
{
    work(CLOCK_MONOTONIC, 30000);
    return unused;
}

static int start(pthread_t *thread, int priority, void *(*routine)(void *))
{
    struct sched_param parameters = { .sched_priority = priority };
    pthread_attr_t attributes;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof first, &first);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    return pthread_create(thread, &attributes, routine, 0);
}

int main(int words, char **word)
{
    pthread_t threads[3];
    pthread_mutexattr_t attributes;
    if (words < 2)
        return 2;
    kind = word[1];
    int is_same = strcmp(kind, "same") == 0;
    pthread_mutexattr_init(&attributes);
    if (strcmp(kind, "inherit") == 0)
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &attributes);
    sem_init(&is_taken, 0, 0);
    /* Who starts the others goes before all of them: else it would wait for its turn on their processor. */
    struct sched_param first = { .sched_priority = 40 };
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0 || start(&threads[0], 10, run_low) != 0) {
        printf("forbidden\n");
        return 0;
    }
    sem_wait(&is_taken);
    if (start(&threads[1], is_same ? 10 : 30, run_high) != 0)
        return 3;
    usleep(5000);
    if (start(&threads[2], is_same ? 10 : 20, run_middle) != 0)
        return 3;
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], 0);
    printf("%d %d %ld\n", low, high, kept);
    return 0;
}
