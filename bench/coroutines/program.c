// Coroutines of swapcontext that make calls and take turns. Arguments: how many, how many switches there and back, how many
// calls between two switches. Says on stderr how long a call took, with switches and without, in nanoseconds.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

static ucontext_t home, *contexts;
static int current, calls;
static long sum;

__attribute__((noipa)) int leaf(int x) { return x + 1; }
__attribute__((noipa)) void work(void) {
    for (int i = 0; i < calls; i++) sum += leaf(i);
}

static void body(void) {
    for (;;) {
        work();
        swapcontext(&contexts[current], &home);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 4) return 1;
    int count = atoi(argv[1]), turns = atoi(argv[2]) / 2;
    calls = atoi(argv[3]);
    contexts = calloc(count, sizeof *contexts);
    for (int i = 0; i < count; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = malloc(32 << 10);
        contexts[i].uc_stack.ss_size = 32 << 10;
        makecontext(&contexts[i], body, 0);
    }
    for (current = 0; current < count; current++) swapcontext(&home, &contexts[current]);
    double begin = now();
    for (int i = 0; i < turns; i++) {
        current = i % count;
        swapcontext(&home, &contexts[current]);
    }
    double between = now();
    for (int i = 0; i < turns; i++) work();
    double end = now(), each = (double)turns * (calls + 1);
    fprintf(stderr, "%.2f %.2f\n", (between - begin) / each, (end - between) / each);
    return 0;
}
