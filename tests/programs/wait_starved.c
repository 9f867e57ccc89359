/* One thread asks for a read-write lock, and others that ask later get it first, again and again: the next one has asked before the last one lets
   go. The first argument says who starves: "writer" (the lock prefers those who read, as it does by default) or "reader" (it prefers those
   who write). The second is how often the others have it, of which the first time is before the one asks; the third how many
   microseconds each has it. Prints the lock, who starved, how often it was overtaken, and by whom. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_rwlock_t lock;
static sem_t turn[2], begun;
static int passes = 20, microseconds = 500, reads_starve;
static volatile int asked, taken, waiter_id, ids[2];
static int overtaken;

/* The flag of those who wait for the lock to go from readers to a writer, or back: set right before they sleep. */
static int somebody_waits(void) { return __atomic_load_n(&lock.__data.__wrphase_futex, __ATOMIC_SEQ_CST) & 2; }

static int writers_wait(void) { return __atomic_load_n(&lock.__data.__writers, __ATOMIC_SEQ_CST) > 0; }

static void await_the_one(void)
{
    sem_post(&begun);
    while (!somebody_waits())
        usleep(1000);
    usleep(20000);
    asked = 1;
}

__attribute__((noipa)) void look(int pass, int self)
{
    int is_later = asked;
    pthread_rwlock_rdlock(&lock);
    taken = pass;
    overtaken += is_later;
    if (pass == 0)
        await_the_one();
    usleep(microseconds);
    if (pass + 1 < passes) {
        sem_post(&turn[!self]);
        while (taken == pass)
            usleep(100);
    }
    pthread_rwlock_unlock(&lock);
}

__attribute__((noipa)) void change(int pass, int self)
{
    int is_later = asked;
    pthread_rwlock_wrlock(&lock);
    overtaken += is_later;
    if (pass == 0)
        await_the_one();
    if (pass + 1 < passes) {
        sem_post(&turn[!self]);
        while (!writers_wait())
            usleep(100);
    }
    usleep(microseconds);
    pthread_rwlock_unlock(&lock);
}

static void *others(void *number)
{
    int self = (int)(long)number;
    ids[self] = gettid();
    for (int pass = self; pass < passes; pass += 2) {
        sem_wait(&turn[self]);
        reads_starve ? change(pass, self) : look(pass, self);
    }
    return 0;
}

__attribute__((noipa)) void starve(void)
{
    reads_starve ? pthread_rwlock_rdlock(&lock) : pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
}

int main(int words, char **word)
{
    pthread_t threads[2];
    pthread_rwlockattr_t kind;
    if (words > 3)
        passes = atoi(word[2]), microseconds = atoi(word[3]);
    reads_starve = words > 1 && strcmp(word[1], "reader") == 0;
    pthread_rwlockattr_init(&kind);
    if (reads_starve)
        pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock, &kind);
    for (int at = 0; at < 2; at++)
        sem_init(&turn[at], 0, at == 0);
    sem_init(&begun, 0, 0);
    waiter_id = gettid();
    for (long at = 0; at < 2; at++)
        pthread_create(&threads[at], 0, others, (void *)at);
    sem_wait(&begun);
    starve();
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], 0);
    printf("%p %d %d %d %d\n", (void *)&lock, waiter_id, overtaken, ids[0], ids[1]);
    return 0;
}
