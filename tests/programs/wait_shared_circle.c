/* So many processes as the second argument says take a lock each in memory that they share, then want the next one's, until their parent ends them. The
   first argument says how it goes: "circle"; "chain", where the last one wants nothing and lets go of its lock before it rests; or "alone",
   where they wait for a semaphore that the parent could post. Prints of each its id, and where in the memory what it holds and what it wants lies. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 8 };

struct shared {
    pthread_mutex_t locks[MOST];
    pthread_barrier_t all;
    sem_t post;
};

static struct shared *shared;
static int count = 2;

__attribute__((noipa)) void take_first(int own) { pthread_mutex_lock(&shared->locks[own]); }

__attribute__((noipa)) void take_next(int own) { pthread_mutex_lock(&shared->locks[(own + 1) % count]); }

__attribute__((noipa)) void await_post(void) { sem_wait(&shared->post); }

static void run(const char *how, int own)
{
    if (strcmp(how, "alone") == 0)
        await_post();
    take_first(own);
    pthread_barrier_wait(&shared->all);
    if (strcmp(how, "circle") != 0 && own == count - 1) {
        /* The one before it waits by now. */
        usleep(100000);
        pthread_mutex_unlock(&shared->locks[own]);
        pause();
    }
    take_next(own);
    pause();
}

int main(int words, char **word)
{
    pid_t children[MOST];
    pthread_mutexattr_t of_mutex;
    pthread_barrierattr_t of_barrier;
    if (words < 3)
        return 2;
    count = atoi(word[2]);
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&of_mutex);
    pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
    for (int at = 0; at < count; at++)
        pthread_mutex_init(&shared->locks[at], &of_mutex);
    pthread_barrierattr_init(&of_barrier);
    pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->all, &of_barrier, count);
    sem_init(&shared->post, 1, 0);
    for (int at = 0; at < count; at++)
        if ((children[at] = fork()) == 0)
            run(word[1], at);
    usleep(700000);
    for (int at = 0; at < count; at++) {
        kill(children[at], SIGKILL);
        waitpid(children[at], 0, 0);
        printf("%d %#lx %#lx\n", children[at], (char *)&shared->locks[at] - (char *)shared,
               (char *)&shared->locks[(at + 1) % count] - (char *)shared);
    }
    return 0;
}
