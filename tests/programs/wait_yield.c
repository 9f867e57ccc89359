/* Threads look for a flag again and again, and give up their turns in between: one directly, one by a function that does no more. A third
   one works, and is polite; a fourth one looks and calls something else in between. Prints the ids of the four, in this order. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static volatile int flags[4], ids[4];
static volatile long sum;

__attribute__((noipa)) int relax(void) { return sched_yield(); }

__attribute__((noipa)) void look_around(void) { sum++; }

__attribute__((noipa)) void await_flag(void)
{
    while (!flags[0])
        sched_yield();
}

__attribute__((noipa)) void await_through_other(void)
{
    while (!flags[1])
        sum += relax();
}

__attribute__((noipa)) void work_politely(void)
{
    for (int part = 0; part < 50; part++) {
        for (volatile int step = 0; step < 5000000; step++)
            ;
        sched_yield();
    }
}

__attribute__((noipa)) void look_and_call(void)
{
    while (!flags[3]) {
        look_around();
        sched_yield();
    }
}

static void *run(void *number)
{
    void (*const all[])(void) = { await_flag, await_through_other, work_politely, look_and_call };
    ids[(long)number] = gettid();
    all[(long)number]();
    return 0;
}

int main(void)
{
    /* One after the other, so that they do not take the processors from each other. */
    for (long at = 0; at < 4; at++) {
        pthread_t thread;
        pthread_create(&thread, 0, run, (void *)at);
        usleep(20000);
        flags[at] = 1;
        pthread_join(thread, 0);
    }
    printf("%d %d %d %d\n", ids[0], ids[1], ids[2], ids[3]);
    return 0;
}
