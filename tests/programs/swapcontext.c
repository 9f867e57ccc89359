// Two coroutines that hand over to each other from inside their calls.
#include <stdio.h>
#include <ucontext.h>

static ucontext_t home, left, right;
static char left_stack[1 << 16], right_stack[1 << 16];
static int sum;
__attribute__((noipa)) int work(int n, ucontext_t *from, ucontext_t *to) {
    if (n == 0) {
        swapcontext(from, to);
        return 1;
    }
    return work(n - 1, from, to) + 1;
}
__attribute__((noipa)) void run_left(void) {
    for (int i = 0; i < 50; i++) sum += work(i % 10, &left, &right);
}
__attribute__((noipa)) void run_right(void) {
    for (int i = 0; i < 50; i++) sum += 2 * work(i % 7, &right, &left);
}
__attribute__((noipa)) int after(int n) { return n + sum; }

int main(void) {
    getcontext(&left);
    left.uc_stack.ss_sp = left_stack;
    left.uc_stack.ss_size = sizeof left_stack;
    left.uc_link = &home;
    makecontext(&left, run_left, 0);
    getcontext(&right);
    right.uc_stack.ss_sp = right_stack;
    right.uc_stack.ss_size = sizeof right_stack;
    right.uc_link = &left;
    makecontext(&right, run_right, 0);
    swapcontext(&home, &left);
    printf("%d\n", after(1));
    return 0;
}
