/* Threads that say themselves how long they ran, by the kernel's count in /proc/thread-self/schedstat: KIND THREADS.
   Each prints its id, its time on a processor and its time ready to run, in nanoseconds, of the function `work`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *kind;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pipes[2];

static void schedstat(long times[2])
{
    char text[128] = "";
    /* The file has what was counted last: at a tick, or now. */
    sched_yield();
    int file = open("/proc/thread-self/schedstat", O_RDONLY);
    if (read(file, text, sizeof text - 1) < 0 || sscanf(text, "%ld %ld", &times[0], &times[1]) != 2)
        exit(2);
    close(file);
}

static void spin(long turns)
{
    for (volatile long turn = 0; turn < turns; turn++)
        ;
}

static void turn(int number)
{
    if (!strcmp(kind, "busy")) {
        spin(2000000);
    } else if (!strcmp(kind, "sleepy")) {
        spin(200000);
        usleep(500);
    } else if (!strcmp(kind, "locked")) {
        pthread_mutex_lock(&lock);
        spin(200000);
        pthread_mutex_unlock(&lock);
        spin(100000);
    } else if (!strcmp(kind, "piped")) {
        char byte = 0;
        spin(100000);
        if (write(pipes[number % 2], &byte, 1) != 1 || read(pipes[number % 2], &byte, 1) != 1)
            exit(2);
    } else if (!strcmp(kind, "faulting")) {
        size_t bytes = 4 << 20;
        char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(memory, 1, bytes);
        munmap(memory, bytes);
    } else {
        exit(2);
    }
}

__attribute__((noipa)) static void work(long took[2], int number)
{
    long begin[2], end[2];
    schedstat(begin);
    for (int at = 0; at < 300; at++)
        turn(number);
    schedstat(end);
    took[0] = end[0] - begin[0];
    took[1] = end[1] - begin[1];
}

static void *body(void *number)
{
    long took[2];
    work(took, (int)(long)number);
    printf("%d %ld %ld\n", gettid(), took[0], took[1]);
    return 0;
}

int main(int words, char **word)
{
    pthread_t all[64];
    int threads = words > 2 ? atoi(word[2]) : 4;
    kind = words > 1 ? word[1] : "busy";
    if (threads > 64 || socketpair(AF_UNIX, SOCK_STREAM, 0, pipes))
        return 2;
    for (int at = 0; at < threads; at++)
        pthread_create(&all[at], 0, body, (void *)(long)at);
    for (int at = 0; at < threads; at++)
        pthread_join(all[at], 0);
    return 0;
}
