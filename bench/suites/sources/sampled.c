// Runs under gperftools' profiler, and counts what it has found: samples in the file it writes are lists of addresses.
#include <gperftools/profiler.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

extern int main(void);

// Each record: how often, how many addresses, and these, from the innermost on. The header is one of three words.
static void count(const char *name) {
    FILE *file = fopen(name, "rb");
    unsigned long head[5], record[2];
    int samples = 0, good = 0;
    if (!file || fread(head, sizeof head, 1, file) != 1) exit(1);
    while (fread(record, sizeof record, 1, file) == 1 && record[0] > 0) {
        int found = 0;
        for (unsigned long i = 0; i < record[1]; i++) {
            unsigned long address;
            if (fread(&address, sizeof address, 1, file) != 1) exit(1);
            found |= address - (unsigned long)main < 4096;
        }
        samples += record[0];
        good += found ? record[0] : 0;
    }
    fclose(file);
    printf("%s samples, %s with main\n", samples > 50 ? "many" : "few", good == samples ? "all" : "not all");
    fprintf(stderr, "%d of %d\n", good, samples);
}

int main(void) {
    struct ProfilerState state;
    ProfilerStart("profile");
    long sum = 0;
    do {
        for (int i = 0; i < 100; i++) sum += fib(20);
        ProfilerGetCurrentState(&state);
    } while (state.samples_gathered < 100);
    ProfilerStop();
    printf("%d\n", sum % 6765 == 0);
    count("profile");
    return 0;
}
