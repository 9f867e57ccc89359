/* Two processes that wait for each other by what they share. The argument says how: "semaphore" in memory without a name, "named" by
   sem_open, "mutex", "condition" or "barrier" that processes share. Both map the memory at different addresses. Beside it, each has a semaphore of its
   own at one and the same address, which a thread of its own posts: nobody else may be named for these.
   Prints both processes and the threads of both that post the semaphores of their own; then how often each waited for the other. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 30 };

struct shared {
    sem_t turns[2];
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_barrier_t barrier;
    int turn;
    int own[2];
};

static const char *kind;
static struct shared *shared;
static sem_t *turns[2];
static sem_t private_turn;
static int self;

static int is(const char *name) { return strcmp(kind, name) == 0; }

__attribute__((noipa)) void await_other(void)
{
    if (is("semaphore") || is("named")) {
        sem_wait(turns[self]);
    } else if (is("condition")) {
        pthread_mutex_lock(&shared->mutex);
        while (shared->turn != self)
            pthread_cond_wait(&shared->condition, &shared->mutex);
        pthread_mutex_unlock(&shared->mutex);
    } else if (is("barrier")) {
        pthread_barrier_wait(&shared->barrier);
    } else {
        pthread_mutex_lock(&shared->mutex);
    }
}

__attribute__((noipa)) void let_other(void)
{
    if (is("semaphore") || is("named")) {
        sem_post(turns[!self]);
    } else if (is("condition")) {
        pthread_mutex_lock(&shared->mutex);
        shared->turn = !self;
        pthread_cond_signal(&shared->condition);
        pthread_mutex_unlock(&shared->mutex);
    } else if (is("mutex")) {
        pthread_mutex_unlock(&shared->mutex);
    }
}

__attribute__((noipa)) void post_own(void) { sem_post(&private_turn); }

static void *serve(void *unused)
{
    shared->own[self] = gettid();
    for (int at = 0; at < TURNS; at++) {
        usleep(700);
        post_own();
    }
    return unused;
}

__attribute__((noipa)) void await_own(void) { sem_wait(&private_turn); }

static void *own_waits(void *unused)
{
    for (int at = 0; at < TURNS; at++)
        await_own();
    return unused;
}

static void run(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, serve, 0);
    pthread_create(&threads[1], 0, own_waits, 0);
    for (int at = 0; at < TURNS; at++) {
        await_other();
        usleep(is("mutex") ? 1500 : 500);
        let_other();
        if (is("mutex"))
            usleep(200);
    }
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], 0);
    usleep(50000);
}

static struct shared *map(int memory)
{
    return mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
}

int main(int words, char **word)
{
    pthread_mutexattr_t of_mutex;
    pthread_condattr_t of_condition;
    pthread_barrierattr_t of_barrier;
    if (words < 2)
        return 2;
    kind = word[1];
    int memory = memfd_create("shared", 0);
    if (ftruncate(memory, 65536) != 0)
        return 2;
    shared = map(memory);
    sem_init(&private_turn, 0, 0);
    for (int at = 0; at < 2; at++) {
        char name[64];
        snprintf(name, sizeof name, "/ada-%d-%d", (int)getpid(), at);
        sem_init(&shared->turns[at], 1, at == 0);
        turns[at] = &shared->turns[at];
        if (is("named")) {
            turns[at] = sem_open(name, O_CREAT | O_EXCL, 0600, at == 0);
            sem_unlink(name);
        }
    }
    pthread_mutexattr_init(&of_mutex);
    pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &of_mutex);
    pthread_condattr_init(&of_condition);
    pthread_condattr_setpshared(&of_condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->condition, &of_condition);
    pthread_barrierattr_init(&of_barrier);
    pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &of_barrier, 2);
    pid_t pid = fork();
    if (pid == 0) {
        /* Elsewhere than its parent. */
        struct shared *before = shared;
        mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        shared = map(memory);
        for (int at = 0; at < 2; at++)
            if (!is("named"))
                turns[at] = &shared->turns[at];
        munmap(before, sizeof *before);
        self = 1;
        run();
        _exit(0);
    }
    run();
    waitpid(pid, 0, 0);
    printf("%d %d %d %d\n", getpid(), pid, shared->own[0], shared->own[1]);
    printf("%d\n", TURNS);
    return 0;
}
