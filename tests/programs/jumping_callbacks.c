// Callbacks that are jumped to, and callbacks that jump on: `work` takes at least a millisecond.
#include <stdio.h>
#include <unistd.h>

static volatile int sink;
__attribute__((noipa)) int work(int n) {
    usleep(1000);
    return n + sink;
}
__attribute__((noipa)) int jumped_to(int n) { return n + 1; }
__attribute__((noipa)) int jumps_on(int n) { return work(n + 1); }
__attribute__((noipa)) int apply_by_jump(int (*function)(int), int n) { return function(n + sink); }
__attribute__((noipa)) int apply(int (*function)(int), int n) { return function(n) + 1; }

int main(void) {
    printf("%d\n", apply_by_jump(jumped_to, 1) + apply(jumps_on, 2) + apply_by_jump(jumps_on, 3));
    return 0;
}
