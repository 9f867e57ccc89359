// A handler that is called in a known place, and a nested one on a stack of its own.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;
__attribute__((noipa)) int leaf(int n) { sink += n; return sink; }
__attribute__((noipa)) void nested(int number) { leaf(number); }
__attribute__((noipa)) void handler(int number) { leaf(number); raise(SIGUSR2); leaf(number); }
__attribute__((noipa)) int work(int n) { raise(SIGUSR1); return leaf(n); }

int main(void) {
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, 0);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, 0);
    action.sa_handler = nested;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, 0);
    int sum = work(1) + work(2);
    printf("%d\n", sum);
    return 0;
}
