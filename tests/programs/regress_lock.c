/* Eight threads count, and another prints what they have counted. With -DBAD it does so with the lock held. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counts[64];
static char text[1 << 15];

__attribute__((noipa)) void print_counts(const long *from)
{
    char *to = text;
    for (int round = 0; round < 15; round++)
        for (int at = 0; at < 64; at++)
            to += sprintf(to, "%ld ", from[at]);
    /* The others have all the time that they need to run into it. */
    usleep(10000);
}

__attribute__((noipa)) void report(void)
{
    long copy[64];
    pthread_mutex_lock(&lock);
#ifdef BAD
    print_counts(counts);
#endif
    memcpy(copy, counts, sizeof copy);
    pthread_mutex_unlock(&lock);
#ifndef BAD
    print_counts(copy);
#endif
}

__attribute__((noipa)) void count(int kind)
{
    pthread_mutex_lock(&lock);
    counts[kind % 64]++;
    pthread_mutex_unlock(&lock);
}

__attribute__((noipa)) void *reporter(void *unused)
{
    for (int round = 0; round < 12; round++) {
        report();
        usleep(300);
    }
    return unused;
}

__attribute__((noipa)) void *counter(void *unused)
{
    for (int number = 0; number < 20; number++) {
        count(number);
        usleep(500);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[9];
    for (int at = 0; at < 9; at++)
        pthread_create(&threads[at], NULL, at ? counter : reporter, NULL);
    for (int at = 0; at < 9; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
