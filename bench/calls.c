// What a traced call costs, beside what two reads of the clock cost at that moment.
//
//   gcc -O2 -rdynamic calls.c -o calls && ./calls [bursts] [calls per burst]
//
// Works in short bursts with a rest between them, so that a tracer that writes to disk never has to make it wait; each
// burst is measured between two floors, so that a machine whose speed changes changes both, and in processor time of the
// thread, so that others who use the machine do not count. Prints a line per burst: `burst FLOOR LEAF NESTED`, in
// nanoseconds per pair of clock reads and per call with its return; and at the end what memory it and its parent (the
// tracer, if there is one) hold, in KiB.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define OPAQUE(value) __asm__ volatile("" : "+r"(value))
#define TRACED __attribute__((noinline, noclone))

enum { NESTED = 20 };

static volatile uint64_t result;

TRACED uint64_t leaf(uint64_t seed) {
    OPAQUE(seed);
    return seed * 5 + 7;
}

TRACED uint64_t nested(uint64_t levels) {
    OPAQUE(levels);
    if (levels <= 1)
        return 1;
    uint64_t below = nested(levels - 1);
    OPAQUE(below);
    return below + 1;
}

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static double floor_cost(long count) {
    uint64_t seed = 1, clocks = 0;
    double start = nanoseconds();
    for (long i = 0; i < count; i++) {
        clocks += __rdtsc();
        seed = seed * 5 + 7;
        OPAQUE(seed);
        clocks ^= __rdtsc();
    }
    double cost = (nanoseconds() - start) / count;
    result = seed ^ clocks;
    return cost;
}

static double leaf_cost(long count) {
    uint64_t seed = 1;
    double start = nanoseconds();
    for (long i = 0; i < count; i++)
        seed = leaf(seed);
    double cost = (nanoseconds() - start) / count;
    result = seed;
    return cost;
}

static double nested_cost(long count) {
    uint64_t sum = 0;
    long rounds = count / NESTED + 1;
    double start = nanoseconds();
    for (long i = 0; i < rounds; i++)
        sum += nested(NESTED);
    double cost = (nanoseconds() - start) / (rounds * NESTED);
    result = sum;
    return cost;
}

static void print_memory(const char *whose, long process) {
    static const char *const fields[] = {"VmHWM", "RssAnon", "RssFile", "RssShmem"};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/status", process);
    FILE *status = fopen(path, "r");
    if (!status)
        return;
    printf("memory %s", whose);
    while (fgets(line, sizeof line, status))
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            size_t length = strlen(fields[i]);
            if (!strncmp(line, fields[i], length) && line[length] == ':')
                printf(" %s %ld", fields[i], atol(line + length + 1));
        }
    printf("\n");
    fclose(status);
}

int main(int argc, char **argv) {
    long bursts = argc > 1 ? atol(argv[1]) : 100;
    long count = argc > 2 ? atol(argv[2]) : 20000;
    const struct timespec rest = {.tv_nsec = 10000000};
    if (bursts < 1 || count < 1) {
        fprintf(stderr, "usage: calls [bursts] [calls per burst]\n");
        return 2;
    }
    for (long i = 0; i < bursts; i++) {
        nanosleep(&rest, NULL);
        double before = floor_cost(count);
        double leaves = leaf_cost(count);
        double after = floor_cost(count);
        nanosleep(&rest, NULL);
        double nests = nested_cost(count);
        printf("burst %.3f %.3f %.3f\n", (before + after) / 2, leaves, nests);
    }
    print_memory("self", getpid());
    print_memory("parent", getppid());
    return 0;
}
