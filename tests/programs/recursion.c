// Recursion: a chain, and a tree of calls.
#include <stdio.h>

__attribute__((noipa)) int chain(int n) { return n == 0 ? 0 : chain(n - 1) + 1; }
__attribute__((noipa)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(void) {
    printf("%d %d\n", chain(200), fib(15));
    return 0;
}
