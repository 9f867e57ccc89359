/* Three threads hand one item to each other by semaphores, round and round, as often as the argument says. Each prints its id,
   and that of the one before it, which posts what it waits for. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STAGES 3
static int rounds = 100;

static sem_t filled[STAGES];
static int ids[STAGES];
static volatile long sum;

__attribute__((noipa)) void work(void)
{
    for (volatile int step = 0; step < 30000; step++)
        sum += step;
}

__attribute__((noipa)) void take(int stage)
{
    sem_wait(&filled[stage]);
}

__attribute__((noipa)) void give(int stage)
{
    sem_post(&filled[(stage + 1) % STAGES]);
}

static void *run(void *number)
{
    int stage = (int)(long)number;
    ids[stage] = gettid();
    for (int round = 0; round < rounds; round++) {
        take(stage);
        work();
        give(stage);
    }
    return 0;
}

int main(int words, char **word)
{
    pthread_t threads[STAGES];
    if (words > 1)
        rounds = atoi(word[1]);
    for (int at = 0; at < STAGES; at++)
        sem_init(&filled[at], 0, at == 0);
    for (long at = 0; at < STAGES; at++)
        pthread_create(&threads[at], 0, run, (void *)at);
    for (int at = 0; at < STAGES; at++)
        pthread_join(threads[at], 0);
    for (int at = 0; at < STAGES; at++)
        printf("%d %d\n", ids[at], ids[(at + STAGES - 1) % STAGES]);
    return 0;
}
