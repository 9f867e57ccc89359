/* Threads that take locks in one order at random, and so cannot deadlock: mutexes, some by trying, some let go of in another
   order than taken, some for a condition. With ROBUST given to the compiler they are robust; with READ_WRITE every second one is a
   read-write lock, which is read or written and never tried. The arguments are the seed, the threads, the steps of each, and after how many
   milliseconds the program kills itself (0 for never). */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOCKS 4
#define MOST 16

static pthread_mutex_t locks[LOCKS];
static pthread_rwlock_t read_write_locks[LOCKS];
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int seed, steps;
static volatile long sum;

static void work(unsigned *random)
{
    if (rand_r(random) % 4 == 0)
        usleep(rand_r(random) % 300);
    for (volatile int step = rand_r(random) % 2000; step > 0; step--)
        sum += step;
}

static int is_read_write(int at)
{
#ifdef READ_WRITE
    return at % 2;
#else
    (void)at;
    return 0;
#endif
}

static void let_go(int at)
{
    if (is_read_write(at))
        pthread_rwlock_unlock(&read_write_locks[at]);
    else
        pthread_mutex_unlock(&locks[at]);
}

/* Waits a little, with this lock alone. */
static void wait_a_little(pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200000;
    if (until.tv_nsec >= 1000000000)
        until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&changed, lock, &until);
}

static void step(unsigned *random)
{
    int taken[LOCKS], count = 0;
    for (int at = 0; at < LOCKS; at++) {
        int chance = rand_r(random) % 8;
        if (is_read_write(at) && chance < 5)
            (chance < 3 ? pthread_rwlock_rdlock : pthread_rwlock_wrlock)(&read_write_locks[at]);
        else if (chance < 4)
            pthread_mutex_lock(&locks[at]);
        else if (is_read_write(at) || chance > 4 || pthread_mutex_trylock(&locks[at]) != 0)
            continue;
        taken[count++] = at;
        work(random);
    }
    if (count == 1 && !is_read_write(taken[0]) && rand_r(random) % 4 == 0)
        wait_a_little(&locks[taken[0]]);
    if (rand_r(random) % 4 == 0)
        pthread_cond_broadcast(&changed);
    while (count > 0) {
        int which = rand_r(random) % count;
        let_go(taken[which]);
        taken[which] = taken[--count];
        work(random);
    }
}

static void *run(void *number)
{
    unsigned random = seed * 64 + (int)(long)number;
    for (int at = 0; at < steps; at++)
        step(&random);
    return 0;
}

int main(int words, char **word)
{
    pthread_t threads[MOST];
    if (words < 5)
        return 2;
    seed = atoi(word[1]), steps = atoi(word[3]);
    int count = atoi(word[2]), milliseconds = atoi(word[4]);
    if (count > MOST)
        return 2;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef ROBUST
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
#endif
    for (int at = 0; at < LOCKS; at++) {
        pthread_mutex_init(&locks[at], &attributes);
        pthread_rwlock_init(&read_write_locks[at], 0);
    }
    for (long at = 0; at < count; at++)
        pthread_create(&threads[at], 0, run, (void *)at);
    if (milliseconds > 0) {
        usleep(milliseconds * 1000);
        kill(getpid(), SIGKILL);
    }
    for (int at = 0; at < count; at++)
        pthread_join(threads[at], 0);
    return 0;
}
