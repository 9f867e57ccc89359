/* Two threads take two locks, one thread after the other, so that they never deadlock. The argument says how: "both" orders; the "same"
   order; both orders behind a third lock, a "gate". Whenever a lock is taken another thread comes to wait for it, so that it can be
   seen which one it is. Prints, for each of the two: its id, the lock that it took first, and the other. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOCKS 3

static pthread_mutex_t locks[LOCKS] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static sem_t invitations[2][LOCKS], turns[2], left;
static pthread_barrier_t start, end;
static int ids[2], is_same, has_gate;
enum { GATE = 2 };

struct visit {
    int number, lock;
};

__attribute__((noipa)) void visit(int number, int lock)
{
    sem_wait(&invitations[number][lock]);
    pthread_mutex_lock(&locks[lock]);
    pthread_mutex_unlock(&locks[lock]);
}

/* Takes a lock, and goes on when somebody waits for it: glibc's mutexes are 2 then. */
static void take(int number, int lock)
{
    pthread_mutex_lock(&locks[lock]);
    sem_post(&invitations[number][lock]);
    while (*(volatile int *)&locks[lock].__data.__lock != 2)
        usleep(100);
}

__attribute__((noipa)) void take_first(int number, int lock)
{
    take(number, lock);
}

__attribute__((noipa)) void take_second(int number, int lock)
{
    take(number, lock);
}

static int first_of(int number)
{
    return is_same ? 0 : number;
}

static void *run(void *argument)
{
    int number = (int)(long)argument, first = first_of(number);
    ids[number] = gettid();
    pthread_barrier_wait(&start);
    sem_wait(&turns[number]);
    if (has_gate)
        take(number, GATE);
    take_first(number, first);
    take_second(number, !first);
    pthread_mutex_unlock(&locks[!first]);
    pthread_mutex_unlock(&locks[first]);
    if (has_gate)
        pthread_mutex_unlock(&locks[GATE]);
    /* Who still waits for a lock would pass for one who has come to wait for the next one that has it. */
    for (int visitor = 0; visitor < (has_gate ? LOCKS : GATE); visitor++)
        sem_wait(&left);
    sem_post(&turns[!number]);
    pthread_barrier_wait(&end);
    return 0;
}

static void *come(void *visited)
{
    struct visit *what = visited;
    visit(what->number, what->lock);
    sem_post(&left);
    return 0;
}

int main(int words, char **word)
{
    pthread_t threads[2], visitors[2 * LOCKS];
    struct visit visits[2 * LOCKS];
    is_same = words > 1 && strcmp(word[1], "same") == 0;
    has_gate = words > 1 && strcmp(word[1], "gate") == 0;
    pthread_barrier_init(&start, 0, 2);
    pthread_barrier_init(&end, 0, 2);
    sem_init(&left, 0, 0);
    int count = 0;
    for (int number = 0; number < 2; number++) {
        sem_init(&turns[number], 0, number == 0);
        for (int lock = 0; lock < (has_gate ? LOCKS : GATE); lock++, count++) {
            sem_init(&invitations[number][lock], 0, 0);
            visits[count] = (struct visit){ number, lock };
            pthread_create(&visitors[count], 0, come, &visits[count]);
        }
    }
    for (long number = 0; number < 2; number++)
        pthread_create(&threads[number], 0, run, (void *)number);
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], 0);
    for (int at = 0; at < count; at++)
        pthread_join(visitors[at], 0);
    for (int number = 0; number < 2; number++)
        printf("%d %p %p\n", ids[number], (void *)&locks[first_of(number)], (void *)&locks[!first_of(number)]);
    return 0;
}
