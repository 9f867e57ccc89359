/* The parent writes to a pipe that is full, and waits until one of the child's two threads has read all of it. Prints both processes, the
   two threads that read, and then who made room for each write that had to wait, in order. The argument says how often. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1024 };

static struct shared {
    int ids[2], readers[MOST];
    volatile int reads;
} *shared;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int turns, from, to, size;
static char *bytes;

__attribute__((noipa)) void give(void)
{
    if (write(to, bytes, size) != size)
        exit(3);
}

__attribute__((noipa)) void make_room(long own)
{
    shared->readers[shared->reads] = own;
    if (read(from, bytes + own * size, size) != size)
        exit(4);
    shared->reads++;
}

static void *reader(void *number)
{
    shared->ids[(long)number] = gettid();
    for (;;) {
        pthread_mutex_lock(&turn);
        if (shared->reads >= turns) {
            pthread_mutex_unlock(&turn);
            return 0;
        }
        usleep(2000);
        make_room((long)number);
        pthread_mutex_unlock(&turn);
        /* So that it is the other one's turn now and then. */
        usleep((long)number ? 300 : 2500);
    }
}

int main(int count, char **arguments)
{
    int ends[2];
    turns = count > 1 ? atoi(arguments[1]) : 10;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turns > MOST || pipe(ends) != 0)
        return 1;
    from = ends[0], to = ends[1], size = fcntl(to, F_GETPIPE_SZ);
    bytes = malloc(2 * size);
    pid_t child = fork();
    if (child == 0) {
        pthread_t threads[2];
        for (long at = 0; at < 2; at++)
            pthread_create(&threads[at], 0, reader, (void *)at);
        for (int at = 0; at < 2; at++)
            pthread_join(threads[at], 0);
        exit(0);
    }
    /* The first one finds room. */
    for (int at = 0; at <= turns; at++) {
        give();
        usleep(300);
    }
    waitpid(child, 0, 0);
    printf("%d %d %d %d\n", getpid(), child, shared->ids[0], shared->ids[1]);
    for (int at = 0; at < turns; at++)
        printf("%d ", shared->readers[at]);
    puts("");
    return 0;
}
