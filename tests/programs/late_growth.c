/* Most of what happens is over before an array begins that is copied for each thing that is added to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned mixed;

__attribute__((noinline)) static void mix(unsigned value) {
    mixed = mixed * 31 + value;
}

__attribute__((noinline)) static int *add(int *all, int count) {
    int *larger = malloc(sizeof(int) * (count + 1));
    for (int i = 0; i < count; i++) {
        larger[i] = all[i] + (larger[i / 2 + 1 > i ? 0 : i / 2] & 0);
    }
    larger[count] = count;
    free(all);
    return larger;
}

int main(void) {
    int *all = 0;
    for (unsigned i = 0; i < 200000; i++) {
        mix(i);
    }
    for (int i = 0; i < 6000; i++) {
        all = add(all, i);
    }
    printf("%u %d\n", mixed, all[5999]);
    return 0;
}
