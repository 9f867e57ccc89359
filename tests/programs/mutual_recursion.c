// Two functions that call each other, not by tail calls.
#include <stdio.h>

__attribute__((noipa)) int is_odd(int n);
__attribute__((noipa)) int is_even(int n) { return n == 0 ? 1 : !!is_odd(n - 1); }
__attribute__((noipa)) int is_odd(int n) { return n == 0 ? 0 : !!is_even(n - 1); }

int main(void) {
    return is_even(4);
}
