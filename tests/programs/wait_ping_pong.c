/* Two threads hand a ball to each other by two condition variables. Each prints its id, the other's, and how often it waited. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned[2] = { PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };
static int turn, ids[2], rounds = 100;

__attribute__((noipa)) int wait_for_ball(int own)
{
    int waits = 0;
    pthread_mutex_lock(&lock);
    for (; turn != own; waits++)
        pthread_cond_wait(&turned[own], &lock);
    pthread_mutex_unlock(&lock);
    return waits;
}

__attribute__((noipa)) void hand_over(int own)
{
    pthread_mutex_lock(&lock);
    turn = !own;
    pthread_cond_signal(&turned[!own]);
    pthread_mutex_unlock(&lock);
}

static void *play(void *number)
{
    int own = (int)(long)number, waits = 0;
    ids[own] = gettid();
    for (int round = 0; round < rounds; round++) {
        waits += wait_for_ball(own);
        hand_over(own);
    }
    return (void *)(long)waits;
}

int main(int words, char **word)
{
    pthread_t players[2];
    void *waits[2];
    if (words > 1)
        rounds = atoi(word[1]);
    for (long at = 0; at < 2; at++)
        pthread_create(&players[at], 0, play, (void *)at);
    for (int at = 0; at < 2; at++)
        pthread_join(players[at], &waits[at]);
    for (int at = 0; at < 2; at++)
        printf("%d %d %ld\n", ids[at], ids[!at], (long)waits[at]);
    return 0;
}
