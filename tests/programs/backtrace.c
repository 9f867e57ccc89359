// A stack that is walked from the inside: the frames are as deep as ever, and return afterwards.
#include <execinfo.h>
#include <stdio.h>

static int base;
__attribute__((noipa)) int walk(void) {
    void *addresses[100];
    return backtrace(addresses, 100);
}
__attribute__((noipa)) int descend(int n) {
    int frames = n == 0 ? walk() : descend(n - 1);
    __asm__ volatile("" ::: "memory");
    return frames;
}

int main(void) {
    base = walk();
    printf("%d %d\n", descend(5) - base, descend(20) - base);
    return descend(0) - base;
}
