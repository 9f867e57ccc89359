// Calls functions with known values in vector registers and on the stack.
#include <stdio.h>

__attribute__((noipa)) double scaled(double by, double what) { return by * what; }
__attribute__((noipa)) long above(long a, long b, long c, long d, long e, long f, long g, long h) {
    return a + b + c + d + e + f + g - h;
}

int main(void) {
    double product = scaled(1.5, 2.25);
    long sum = above(1, 2, 3, 4, 5, 6, 0x1122334455667788, 0x1122334455667700);
    printf("%.3f %ld\n", product, sum);
    return 0;
}
