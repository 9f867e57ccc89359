// Two recursions: sort_range takes longer the more it is given, which is what recursion looks like; walk takes long at one of its leaves.
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 20000, DEPTH = 9, SLOW_LEAF = 300 };

static int values[COUNT];
static volatile long work;

__attribute__((noinline)) static void sort_range(int first, int end) {
    if (end - first < 2)
        return;
    int pivot = values[(first + end) / 2], low = first, high = end - 1;
    while (low <= high) {
        while (values[low] < pivot) low++;
        while (values[high] > pivot) high--;
        if (low <= high) {
            int kept = values[low];
            values[low++] = values[high];
            values[high--] = kept;
        }
    }
    sort_range(first, high + 1);
    sort_range(low, end);
}

static int leaves;

__attribute__((noinline)) static void walk(int depth) {
    if (!depth) {
        long steps = leaves++ == SLOW_LEAF ? 20000000 : 10;
        for (long i = 0; i < steps; i++) work += i;
        return;
    }
    walk(depth - 1);
    walk(depth - 1);
}

int main(void) {
    srand(1);
    for (int i = 0; i < COUNT; i++) values[i] = rand();
    sort_range(0, COUNT);
    walk(DEPTH);
    printf("%d\n", leaves);
}
