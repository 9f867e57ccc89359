/* Readers wait for a writer, and the writer for readers. Prints the writer's id, the lock, and how often readers found the
   writer inside. The arguments are how often it writes, and for how many
   microseconds readers rest: without that the writer starves. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile int is_writing, is_over, writer_id;
static int rounds = 50, rest;
static volatile long sum;

__attribute__((noipa)) void work(int steps)
{
    for (volatile int step = 0; step < steps; step++)
        sum += step;
}

__attribute__((noipa)) void change(void)
{
    pthread_rwlock_wrlock(&lock);
    is_writing = 1;
    /* So that readers come meanwhile. */
    usleep(1000);
    is_writing = 0;
    pthread_rwlock_unlock(&lock);
}

__attribute__((noipa)) long look(void)
{
    long met = is_writing;
    pthread_rwlock_rdlock(&lock);
    work(20000);
    pthread_rwlock_unlock(&lock);
    return met;
}

static void *writer(void *unused)
{
    writer_id = gettid();
    for (int round = 0; round < rounds; round++) {
        change();
        usleep(500);
    }
    is_over = 1;
    return unused;
}

static void *reader(void *unused)
{
    (void)unused;
    long met = 0;
    while (!is_over) {
        met += look();
        if (rest)
            usleep(rest);
    }
    return (void *)met;
}

int main(int words, char **word)
{
    pthread_t threads[3];
    void *met[3];
    if (words > 1)
        rounds = atoi(word[1]);
    if (words > 2)
        rest = atoi(word[2]);
    for (int at = 0; at < 3; at++)
        pthread_create(&threads[at], 0, at == 0 ? writer : reader, 0);
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], &met[at]);
    printf("%d %p %ld\n", writer_id, (void *)&lock, (long)met[1] + (long)met[2]);
    return 0;
}
