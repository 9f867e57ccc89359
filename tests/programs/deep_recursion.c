// Recursion far beyond the room for caught returns, twice, and shallow calls before, between and after.
#include <stdio.h>

static volatile int sink;
__attribute__((noipa)) long deep(long n) { sink = (int)n; return n == 0 ? 0 : deep(n - 1) + 1; }
__attribute__((noipa)) long shallow(long n) { sink = 1; return deep(n) + 1; }

int main(void) {
    long sum = shallow(3) + deep(99999) + shallow(4) + deep(99999) + shallow(5);
    printf("%ld\n", sum);
    return 0;
}
