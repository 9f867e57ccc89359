/* Coroutines on stacks of one page, which they use up to the last few hundred bytes. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define COROUTINES 16
#define PAGE 4096
#define LEFT 448

void change(void **from, void *to);
__asm__(".text\n.globl change\n.type change, @function\nchange:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size change, . - change\n");

static void *outside, *inside[COROUTINES];
static char *lowest;
static int current, done, is_alive[COROUTINES];
static long sum;

__attribute__((noinline)) long leaf(int x)
{
    volatile long value = x;
    return value * 3;
}

__attribute__((noinline)) long descend(int depth)
{
    volatile char here = depth;
    if (&here < lowest + LEFT) {
        change(&inside[current], outside);
        return leaf(current);
    }
    return descend(depth + 1) + here + leaf(depth);
}

static void body(void)
{
    for (int round = 0; round < 4; round++)
        sum += descend(0);
    done++;
    is_alive[current] = 0;
    change(&inside[current], outside);
    abort();
}

int main(void)
{
    static char *pages[COROUTINES];
    for (int i = 0; i < COROUTINES; i++) {
        char *stack = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(stack, PAGE, PROT_NONE);
        uint64_t *top = (uint64_t *)(stack + 2 * PAGE - 16);
        *--top = 0;
        *--top = (uint64_t)body;
        for (int k = 0; k < 6; k++)
            *--top = 0;
        pages[i] = stack + PAGE;
        inside[i] = top;
        is_alive[i] = 1;
    }
    while (done < COROUTINES)
        for (int i = 0; i < COROUTINES; i++)
            if (is_alive[i]) {
                current = i;
                lowest = pages[i];
                change(&outside, inside[i]);
            }
    printf("%ld\n", sum);
    return 0;
}
