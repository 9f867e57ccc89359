// Two coroutines that hand over to each other from inside their calls. First argument: where their stacks are, "static"
// or "mapped", each with a guard page below.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t home, left, right;
#define SIZE (1 << 16)
static char left_stack[SIZE], right_stack[SIZE];
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
static void give_stack(ucontext_t *context, char *stack, int is_mapped) {
    if (is_mapped) {
        stack = mmap(0, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(stack, 4096, PROT_NONE);
        stack += 4096;
    }
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = SIZE;
}
__attribute__((noipa)) int after(int n) { return n + sum; }

int main(int argc, char **argv) {
    int is_mapped = strcmp(argv[argc - 1], "mapped") == 0;
    getcontext(&left);
    give_stack(&left, left_stack, is_mapped);
    left.uc_link = &home;
    makecontext(&left, run_left, 0);
    getcontext(&right);
    give_stack(&right, right_stack, is_mapped);
    right.uc_link = &left;
    makecontext(&right, run_right, 0);
    swapcontext(&home, &left);
    printf("%d\n", after(1));
    return 0;
}
