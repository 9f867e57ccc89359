/* Threads that end with a robust mutex. In each round one thread takes the mutex, two others come to wait for it, and then each lets go of it or ends without
   that: in which rounds the first one ends with it, and in which the one that has it next, the bits of the round's number say. The third one always lets go
   of it. A line for each round: the ids of the three in the order in which they had the mutex, each with 1 behind it if it ended with it, else 0. The argument is
   the number of rounds; with a second one, each of the three is a process. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    sem_t has_taken, may_go_on;
    int count;
    struct {
        int id, died;
    } order[3];
} *shared;
static int round_number, are_processes;

/* Gives back which one it is. */
__attribute__((noipa)) int take(void)
{
    if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&shared->lock);
    int at = shared->count++;
    shared->order[at].id = gettid();
    shared->order[at].died = at < 2 && (round_number >> at & 1);
    return at;
}

__attribute__((noipa)) void let_go(int at)
{
    if (!shared->order[at].died)
        pthread_mutex_unlock(&shared->lock);
}

static void *first(void *nothing)
{
    int at = take();
    sem_post(&shared->has_taken);
    sem_wait(&shared->may_go_on);
    let_go(at);
    return nothing;
}

static void *next(void *nothing)
{
    int at = take();
    usleep(are_processes ? 50000 : 200);
    let_go(at);
    return nothing;
}

static void begin(pthread_t *one, void *(*routine)(void *))
{
    if (!are_processes) {
        pthread_create(one, 0, routine, 0);
    } else if (fork() == 0) {
        routine(0);
        _exit(0);
    }
}

int main(int words, char **word)
{
    int rounds = words > 1 ? atoi(word[1]) : 8;
    are_processes = words > 2;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, (are_processes ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attributes, are_processes ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
    pthread_mutex_init(&shared->lock, &attributes);
    sem_init(&shared->has_taken, are_processes, 0);
    sem_init(&shared->may_go_on, are_processes, 0);
    for (round_number = 0; round_number < rounds; round_number++) {
        pthread_t all[3];
        shared->count = 0;
        begin(&all[0], first);
        sem_wait(&shared->has_taken);
        begin(&all[1], next);
        begin(&all[2], next);
        usleep(are_processes ? 100000 : 2000);
        sem_post(&shared->may_go_on);
        for (int at = 0; at < 3; at++)
            are_processes ? (void)wait(0) : (void)pthread_join(all[at], 0);
        for (int at = 0; at < 3; at++)
            printf("%d %d%c", shared->order[at].id, shared->order[at].died, at < 2 ? ' ' : '\n');
        fflush(stdout);
    }
    return 0;
}
