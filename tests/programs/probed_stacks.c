/* Calls functions that ada probes, in different ways, each from a frame of its own in which a known number lies. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KNOWN 0x1122334455667788

static sem_t semaphore;

static int compare(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }
static void *routine(void *argument) { return argument; }

__attribute__((noipa)) void calls_qsort(void)
{
    volatile long known = KNOWN;
    int numbers[2] = {2, 1};
    qsort(numbers, 2, sizeof numbers[0], compare);
    (void)known;
}

__attribute__((noipa)) void calls_sem_post(void)
{
    volatile long known = KNOWN;
    sem_post(&semaphore);
    (void)known;
}

__attribute__((noipa)) void calls_pthread_create(pthread_t *thread)
{
    volatile long known = KNOWN;
    pthread_create(thread, 0, routine, 0);
    (void)known;
}

__attribute__((noipa)) void calls_getenv(void)
{
    volatile long known = KNOWN;
    getenv("PATH");
    (void)known;
}

__attribute__((noipa)) void calls_prctl(void)
{
    volatile long known = KNOWN;
    prctl(PR_GET_DUMPABLE);
    (void)known;
}

__attribute__((noipa)) void calls_syscall(void)
{
    volatile long known = KNOWN;
    syscall(SYS_gettid);
    (void)known;
}

int main(void)
{
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    calls_qsort();
    calls_sem_post();
    calls_pthread_create(&thread);
    calls_getenv();
    calls_prctl();
    calls_syscall();
    pthread_join(thread, 0);
    puts("done");
    return 0;
}
