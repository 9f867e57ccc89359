// Calls whose frames are nearly a page each, so that what lies around a return address is often in two pages.
#include <stdio.h>

__attribute__((noipa)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }

__attribute__((noipa)) int wide(int depth) {
    volatile char room[3900];
    room[depth] = 1;
    int sum = leaf(depth) + room[depth];
    return depth == 0 ? sum : sum + wide(depth - 1);
}

int main(void) {
    long sum = 0;
    for (int i = 0; i < 2000; i++) sum += wide(100);
    printf("%ld\n", sum);
    return 0;
}
