// Threads of the program's own making, which share one FS base.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, STACK = 1 << 18 };

static int alive[THREADS];
static long results[THREADS];

__attribute__((noinline)) long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static int body(void *argument) {
    long number = (long)argument;
    for (int round = 0; round < 50; round++) results[number] += fib(12 + number);
    syscall(SYS_exit, 0);
    return 0;
}

int main(void) {
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    for (long number = 0; number < THREADS; number++) {
        alive[number] = 1;
        char *stack = malloc(STACK);
        clone(body, stack + STACK, flags, (void *)number, NULL, NULL, &alive[number]);
    }
    for (int number = 0; number < THREADS; number++) {
        while (__atomic_load_n(&alive[number], __ATOMIC_SEQ_CST)) usleep(1000);
    }
    for (int number = 0; number < THREADS; number++) printf("%ld\n", results[number]);
}
