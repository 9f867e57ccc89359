// Times calls with and without values, and two readings of the clock, in turn. Texts are read in three ways, by where they are.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#define KEPT __attribute__((noipa))

// The number of kinds is prime, so that each has a turn in each round.
enum { ROUNDS = 301, WARMING = 50, CALLS = 200, KINDS = 11 };

KEPT int nothing(void) { return 1; }
KEPT int integers(int a, long b) { return a + (int)b; }
KEPT int text(const char *text) { return text != NULL; }
KEPT double real(double a) { return 2 * a + 1; }
KEPT const char *label(int a) { return a < 0 ? "below" : "a text that has thirty-two bytes"; }
KEPT double both(const char *text, double a) { return text == NULL ? 0 : a; }
struct place { long line; int column; };
KEPT int at(const struct place *place) { return place != NULL; }

static int compare(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

int main(void) {
    static uint64_t took[KINDS][ROUNDS];
    const char *names[] = {"two rdtsc", "no values", "two integers", "32 bytes, constant", "32 bytes, stack", "32 bytes, heap",
                           "a double", "a text as result", "a structure, stack", "a structure, heap",
                           "double and constant"};
    struct place local = {7, 8}, *place = malloc(sizeof *place);
    *place = local;
    const char *constant = "a text that has thirty-two bytes";
    char stack[40], *heap = strdup(constant);
    strcpy(stack, constant);
    volatile uint64_t sink = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int turn = 0; turn < KINDS; turn++) {
            // Each comes behind each other one, in some round.
            int kind = (turn * (1 + round % (KINDS - 1)) + round) % KINDS;
            uint64_t begun = 0;
            for (int i = -WARMING; i < CALLS; i++) {
                // The kind before had the caches and the branch predictor for itself.
                if (i == 0)
                    begun = __rdtsc();
                switch (kind) {
                case 0: sink = __rdtsc(), sink = __rdtsc(); break;
                case 1: nothing(); break;
                case 2: integers(i, 7); break;
                case 3: text(constant); break;
                case 4: text(stack); break;
                case 5: text(heap); break;
                case 6: real(i); break;
                case 7: label(i); break;
                case 8: at(&local); break;
                case 9: at(place); break;
                default: both(constant, i);
                }
            }
            took[kind][round] = __rdtsc() - begun;
        }
    for (int kind = 0; kind < KINDS; kind++)
        qsort(took[kind], ROUNDS, sizeof **took, compare);
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t median = took[kind][ROUNDS / 2], best = took[kind][ROUNDS / 10];
        printf("%-20s median %7.1f ticks, %5.2f x; best tenth %7.1f ticks, %5.2f x\n", names[kind], (double)median / CALLS,
               (double)median / took[0][ROUNDS / 2], (double)best / CALLS, (double)best / took[0][ROUNDS / 10]);
    }
    free(heap), free(place);
    return 0;
}
