// The program ends deep inside, with functions still open, and an exit handler of its own runs.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noipa)) void at_exit(void) { puts("handler"); }
__attribute__((noipa)) int inner(int n) {
    if (n == 0) exit(42);
    return inner(n - 1) + 1;
}

int main(void) {
    atexit(at_exit);
    return inner(5);
}
