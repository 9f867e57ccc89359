// A handler changes a register that the interrupted code does not use, again and again. The calls that it interrupts are
// made once each.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>

enum { CALLS = 100000 };

__attribute__((noinline)) long leaf(long a) {
    asm volatile("" ::: "memory");
    return a + 1;
}

__attribute__((noinline)) long middle(long a) {
    long b = leaf(a);
    asm volatile("" ::: "memory");
    return leaf(b) + 1;
}

static volatile int interrupted;

static void handler(int signal, siginfo_t *information, void *context) {
    interrupted++;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_R10] ^= 1;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, 0);
    long sum = 0;
    for (int call = 0; call < CALLS; call++)
        sum += middle(0);
    while (!interrupted)
        continue;
    setitimer(ITIMER_REAL, &never, 0);
    printf("%ld\n", sum);
}
