// A known tree of calls, for the many ways of building a program.
#include <stdio.h>
#include <stdlib.h>

static volatile int sink;
__attribute__((noinline, noipa)) int leaf(int n) { sink += n; return sink * 3 + n; }
__attribute__((noinline, noipa)) int branch(int n) {
    if (n == 0) return leaf(n) + 1;
    return branch(n - 1) + leaf(n) + 2;
}
__attribute__((noinline, noipa)) int compare(const void *a, const void *b) {
    sink += 1;
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv) {
    int numbers[] = {3, 1, 2, (int)(argc * 0)};
    qsort(numbers, 4, sizeof *numbers, compare);
    int sum = branch(3) + branch(5);
    printf("%d %d %d\n", numbers[1], sum, argv[argc] == 0);
    return 11;
}
