// Green threads that a timer's signal handler switches between: contexts are left anywhere, and continued later.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

enum { THREADS = 4 };

static ucontext_t contexts[THREADS], first;
static int current;
static volatile int done[THREADS];
static long results[THREADS];

static void preempt(int signal) {
    (void)signal;
    int left = current, next = current;
    do next = (next + 1) % THREADS;
    while (done[next] && next != left);
    if (next == left) return;
    current = next;
    swapcontext(&contexts[left], &contexts[next]);
}

__attribute__((noinline)) long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static void body(int number) {
    long sum = 0;
    for (int round = 0; round < 60; round++) sum += fib(16 + number);
    results[number] = sum;
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGVTALRM);
    sigprocmask(SIG_BLOCK, &timer, NULL);
    done[number] = 1;
    int running = 0;
    for (int other = 0; other < THREADS; other++) running += !done[other];
    if (running == 0) setcontext(&first);
    int next = number;
    do next = (next + 1) % THREADS;
    while (done[next]);
    current = next;
    setcontext(&contexts[next]);
}

int main(void) {
    static volatile int is_started;
    for (int number = 0; number < THREADS; number++) {
        getcontext(&contexts[number]);
        contexts[number].uc_stack.ss_sp = malloc(1 << 17);
        contexts[number].uc_stack.ss_size = 1 << 17;
        makecontext(&contexts[number], (void (*)(void))body, 1, number);
    }
    getcontext(&first);
    if (!is_started) {
        is_started = 1;
        struct sigaction action = {.sa_handler = preempt};
        sigaction(SIGVTALRM, &action, NULL);
        struct itimerval every = {{0, 2000}, {0, 2000}};
        setitimer(ITIMER_VIRTUAL, &every, NULL);
        setcontext(&contexts[0]);
    }
    struct itimerval never = {0};
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    for (int number = 0; number < THREADS; number++) printf("%ld\n", results[number]);
}
