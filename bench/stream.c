// Calls without end, at a steady rate: what a tracer has to bring to disk.
//
//   gcc -O2 stream.c -o stream && ./stream SECONDS [calls per second; 0: as many as it can]
//
// Prints `stream CALLS SECONDS`. The schedule is kept with inline reads of the TSC, so that waiting makes no calls.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

enum { BATCH = 64 };

static volatile uint64_t result;

__attribute__((noinline, noclone)) uint64_t step(uint64_t seed) {
    OPAQUE(seed);
    return seed * 5 + 7;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

// The median of several readings: whoever is put aside between two clocks reads nonsense.
static double ticks_per_second(void) {
    enum { READINGS = 9 };
    double readings[READINGS];
    for (int i = 0; i < READINGS; i++) {
        double start = seconds(), now;
        uint64_t first = __rdtsc();
        do
            now = seconds();
        while (now - start < 0.005);
        readings[i] = (__rdtsc() - first) / (now - start);
    }
    qsort(readings, READINGS, sizeof *readings, ascending);
    return readings[READINGS / 2];
}

int main(int argc, char **argv) {
    double length = argc > 1 ? atof(argv[1]) : 0, rate = argc > 2 ? atof(argv[2]) : 0;
    if (length <= 0 || rate < 0) {
        fprintf(stderr, "usage: stream SECONDS [calls per second]\n");
        return 2;
    }
    double ticks = ticks_per_second();
    uint64_t seed = 1, calls = 0;
    double start = seconds();
    uint64_t first = __rdtsc(), end = first + (uint64_t)(length * ticks);
    while (__rdtsc() < end) {
        for (int i = 0; i < BATCH; i++)
            seed = step(seed);
        calls += BATCH;
        if (rate > 0)
            for (uint64_t due = first + (uint64_t)(calls / rate * ticks); __rdtsc() < due;)
                ;
    }
    result = seed;
    printf("stream %llu %.6f\n", (unsigned long long)calls, seconds() - start);
    return 0;
}
