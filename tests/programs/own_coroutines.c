// Coroutines with a switch in assembly of their own. Arguments: how many, how often each goes on, and where their stacks are:
// "mapped", each with a guard page below, "side", one right beside the other, or "small", the same with 4 KB each. Before that
// a signal is handled on a stack of its own, which lies below theirs.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Leaves with the stack pointer in *from, and goes on with the one in to.
void go_on_with(void **from, void *to);
__asm__(".text\n.globl go_on_with\n.type go_on_with, @function\ngo_on_with:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size go_on_with, .-go_on_with\n");

static void *home, **waiting;
static int count, rounds, current;
static long sum;
static char handlers_stack[64 << 10];
static volatile int handled;

__attribute__((noipa)) void leave(void) { go_on_with(&waiting[current], home); }

// Calls itself, and leaves from the innermost call.
__attribute__((noipa)) int descend(int n) {
    if (n == 0) {
        leave();
        return 1;
    }
    return descend(n - 1) + 1;
}

__attribute__((noipa)) void body(void) {
    int number = current;
    for (int round = 0; round < rounds; round++) sum += descend((number + round) % 5);
    for (;;) leave();
}

static void handle(int signal) { handled = signal; }

int main(int argc, char **argv) {
    if (argc < 4) return 1;
    sigaltstack(&(stack_t){.ss_sp = handlers_stack, .ss_size = sizeof handlers_stack}, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle, .sa_flags = SA_ONSTACK}, NULL);
    raise(SIGUSR1);
    count = atoi(argv[1]), rounds = atoi(argv[2]);
    int is_mapped = strcmp(argv[3], "mapped") == 0, size = strcmp(argv[3], "small") == 0 ? 4096 : 64 << 10;
    waiting = calloc(count, sizeof *waiting);
    char *stacks = mmap(0, (size_t)count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int number = 0; number < count; number++) {
        char *stack = stacks + (size_t)number * size;
        if (is_mapped) mprotect(stack, 4096, PROT_NONE);
        void **top = (void **)(stack + size);
        *--top = 0;
        *--top = (void *)body;
        waiting[number] = memset(top - 6, 0, 6 * sizeof *top);
    }
    for (int round = 0; round <= rounds; round++)
        for (current = 0; current < count; current++) go_on_with(&home, waiting[current]);
    printf("%ld %d\n", sum, handled);
    return 0;
}
