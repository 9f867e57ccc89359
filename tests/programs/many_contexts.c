// As many contexts as the argument says, all of them suspended deep in calls at the same time, and continued in turn.
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { ROUNDS = 3, DEPTH = 8, STACK = 1 << 16 };

static ucontext_t home, *contexts;
static int current, ended;
static long sum;

__attribute__((noinline)) long work(int depth) {
    if (depth == 0) {
        swapcontext(&contexts[current], &home);
        return current;
    }
    return work(depth - 1) + depth;
}

static void body(void) {
    for (int round = 0; round < ROUNDS; round++) sum += work(DEPTH);
    ended++;
}

int main(int argc, char **argv) {
    int count = atoi(argv[argc - 1]);
    contexts = calloc(count, sizeof *contexts);
    for (int number = 0; number < count; number++) {
        getcontext(&contexts[number]);
        contexts[number].uc_stack.ss_sp = malloc(STACK);
        contexts[number].uc_stack.ss_size = STACK;
        contexts[number].uc_link = &home;
        makecontext(&contexts[number], body, 0);
    }
    // Once more than there are rounds: the last time a context comes to its end.
    for (int round = 0; round <= ROUNDS; round++) {
        for (current = 0; current < count; current++) swapcontext(&home, &contexts[current]);
    }
    printf("%ld %d\n", sum, ended);
    return 0;
}
