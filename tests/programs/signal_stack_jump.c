// Thousands of frames that a signal handler on a stack of its own leaves at one go, on the first thread's stack and on
// that of another: by siglongjmp, and with an argument by a jump that no function makes.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 30000
#define ROUNDS 3

static sigjmp_buf buffer;
static void *unnamed[5];
static int by_code;
static volatile int caught;

__attribute__((noipa)) void leave(void) {
    if (by_code) __builtin_longjmp(unnamed, 1);
    siglongjmp(buffer, 1);
}
static void handler(int signal) { (void)signal; leave(); }
__attribute__((noipa)) int deep(int n) {
    volatile char room[128];
    room[0] = (char)n;
    if (n == 1) raise(SIGUSR1);
    return deep(n - 1) + room[0];
}
__attribute__((noipa)) void after(void) { caught++; }

__attribute__((noipa)) void attempt_by_code(void) {
    if (__builtin_setjmp(unnamed) == 0) deep(DEPTH);
    after();
}
__attribute__((noipa)) void attempt(void) {
    if (sigsetjmp(buffer, 1) == 0) deep(DEPTH);
    after();
}
static void *attempts(void *stack) {
    stack_t signals = {.ss_sp = stack, .ss_size = 65536};
    sigaltstack(&signals, 0);
    for (int round = 0; round < ROUNDS; round++) by_code ? attempt_by_code() : attempt();
    return 0;
}

int main(int count, char **words) {
    (void)words;
    by_code = count > 1;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaction(SIGUSR1, &action, 0);
    attempts(malloc(65536));
    pthread_t thread;
    pthread_create(&thread, 0, attempts, malloc(65536));
    pthread_join(thread, 0);
    printf("%d\n", caught);
    return 0;
}
