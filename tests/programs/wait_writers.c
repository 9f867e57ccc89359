/* A writer waits for readers, which let go one after the other. Prints the lock, and for each round the writer's id, whether all readers
   still had the lock when it asked and no two let go at once, and the readers' ids in the order in which they let go. The arguments are
   the rounds, and how many microseconds lie between two readers that let go. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { READERS = 3, MOST_ROUNDS = 20000 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t taken, over;
static int rounds = 20, microseconds = 3000;
static int order[MOST_ROUNDS][READERS];
static long began[MOST_ROUNDS][READERS], ended[MOST_ROUNDS][READERS];
static volatile int left[MOST_ROUNDS], had_all[MOST_ROUNDS], writer_id;

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

__attribute__((noipa)) void read_slowly(int round, int turn)
{
    pthread_rwlock_rdlock(&lock);
    pthread_barrier_wait(&taken);
    /* The last one to let go is another one each round. */
    usleep(microseconds * (1 + turn));
    int at = __sync_fetch_and_add(&left[round], 1);
    order[round][at] = gettid();
    began[round][at] = now();
    pthread_rwlock_unlock(&lock);
    ended[round][at] = now();
}

__attribute__((noipa)) void write_all(int round)
{
    pthread_rwlock_wrlock(&lock);
    had_all[round] &= left[round] == READERS;
    pthread_rwlock_unlock(&lock);
}

static void *reader(void *number)
{
    for (int round = 0; round < rounds; round++) {
        read_slowly(round, (int)((long)number + round) % READERS);
        pthread_barrier_wait(&over);
    }
    return 0;
}

int main(int words, char **word)
{
    pthread_t threads[READERS];
    if (words > 2)
        rounds = atoi(word[1]), microseconds = atoi(word[2]);
    if (rounds > MOST_ROUNDS)
        return 2;
    writer_id = gettid();
    pthread_barrier_init(&taken, 0, READERS + 1);
    pthread_barrier_init(&over, 0, READERS + 1);
    for (long at = 0; at < READERS; at++)
        pthread_create(&threads[at], 0, reader, (void *)at);
    for (int round = 0; round < rounds; round++) {
        pthread_barrier_wait(&taken);
        usleep(microseconds / 6);
        had_all[round] = left[round] == 0;
        write_all(round);
        pthread_barrier_wait(&over);
    }
    for (int at = 0; at < READERS; at++)
        pthread_join(threads[at], 0);
    for (int round = 0; round < rounds; round++) {
        for (int at = 1; at < READERS; at++)
            had_all[round] &= ended[round][at - 1] < began[round][at];
        printf("%p %d %d", (void *)&lock, writer_id, had_all[round]);
        for (int at = 0; at < READERS; at++)
            printf(" %d", order[round][at]);
        puts("");
    }
    return 0;
}
