/* Stops its own threads, from a process that has the same memory, and computes while they stand still, as LeakSanitizer does.
   Each thread is on its way into a deep recursion meanwhile. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 1 << 18, ROUNDS = 50, DEPTH = 1500, FURTHER = 40 };

static volatile int descending, is_done;
static volatile long sum, stops;

__attribute__((noinline)) long descend(int depth) {
    volatile char room[4000];
    room[0] = 1;
    return depth == 0 ? 0 : descend(depth - 1) + room[0];
}

static void *go_down(void *unused) {
    descending = syscall(SYS_gettid);
    sum += descend(DEPTH);
    while (!is_done) sched_yield();
    return unused;
}

static int stop(void *unused) {
    int status, thread = descending;
    if (ptrace(PTRACE_ATTACH, thread, 0, 0) != 0) return 1;
    while (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) {
    }
    stops++;
    sum += descend(FURTHER);
    ptrace(PTRACE_DETACH, thread, 0, 0);
    return 0;
    (void)unused;
}

int main(void) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        char *stack = malloc(STACK);
        int status;
        is_done = descending = 0;
        pthread_create(&thread, 0, go_down, 0);
        while (!descending) sched_yield();
        int child = clone(stop, stack + STACK, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, 0);
        while (waitpid(child, &status, __WALL) != child) {
        }
        is_done = 1;
        pthread_join(thread, 0);
        free(stack);
    }
    printf("%ld %ld\n", stops, sum);
    return 0;
}
