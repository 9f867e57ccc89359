// A profiler of its own: each sample is walked in the handler, with libunwind or with what the argument says, and is right if
// main is found.
#define UNW_LOCAL_ONLY
#include <execinfo.h>
#include <libunwind.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

extern int main(int, char **);
static volatile int samples, good, by_libunwind;

static int is_main(unsigned long address) { return address - (unsigned long)main < 4096; }

static void sample(int number, siginfo_t *info, void *interrupted) {
    int found = 0;
    if (by_libunwind) {
        unw_cursor_t cursor;
        unw_init_local2(&cursor, interrupted, UNW_INIT_SIGNAL_FRAME);
        do {
            unw_word_t address;
            unw_get_reg(&cursor, UNW_REG_IP, &address);
            found |= is_main(address);
        } while (unw_step(&cursor) > 0);
    } else {
        void *addresses[100];
        int frames = backtrace(addresses, 100);
        for (int i = 0; i < frames; i++) found |= is_main((unsigned long)addresses[i]);
    }
    samples++;
    good += found;
    (void)number, (void)info;
}

__attribute__((noinline)) long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(int argc, char **argv) {
    by_libunwind = !strcmp(argv[argc - 1], "libunwind");
    void *first[1];
    backtrace(first, 1);
    struct sigaction action = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGPROF, &action, 0);
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &every, 0);
    long sum = 0;
    while (samples < 300) sum += fib(20);
    setitimer(ITIMER_PROF, &never, 0);
    printf("%d %s\n", sum % 6765 == 0, good == samples ? "all" : "not all");
    fprintf(stderr, "%d of %d\n", good, samples);
    return 0;
}
