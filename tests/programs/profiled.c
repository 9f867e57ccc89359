// A profiler in the program: a timer interrupts it, and each sample unwinds the stack. All frames from the innermost one to
// main are the program's own, wherever the thread really is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

enum { SAMPLES = 2000, DEEPEST = 64 };

static volatile int is_running, samples, wrong;

static int is(void *address, const char *name) {
    Dl_info found;
    return dladdr(address, &found) && found.dli_sname && !strcmp(found.dli_sname, name);
}

// The handler, the way back from it, then fib as often as it likes, and main.
void handler(int signal) {
    if (!is_running)
        return;
    void *frames[DEEPEST];
    int count = backtrace(frames, DEEPEST), at = 2;
    while (at < count && is(frames[at], "fib"))
        at++;
    if (samples++ < SAMPLES && (at == count || !is(frames[at], "main"))) {
        if (wrong++ < 3)
            fprintf(stderr, "%d frames, %d of them known, then %p\n", count, at, at < count ? frames[at] : 0);
    }
}

__attribute__((noinline)) long fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void) {
    void *warm[4];
    backtrace(warm, 4);
    signal(SIGALRM, handler);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, 0);
    long sum = 0;
    is_running = 1;
    while (samples < SAMPLES)
        sum += fib(15) - 610;
    is_running = 0;
    setitimer(ITIMER_REAL, &never, 0);
    printf("%ld, wrong %d\n", sum, wrong);
}
