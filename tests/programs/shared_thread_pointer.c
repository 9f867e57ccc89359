/* Threads that are made without a thread pointer of their own: by clone, by syscall, or by the instruction. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 4
#define STACK (1 << 18)
#define FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID)

static volatile int alive[THREADS];
static long results[THREADS];

__attribute__((noinline)) long fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline, used)) int work(void *number)
{
    long i = (long)number;
    for (int k = 0; k < 50; k++)
        results[i] += fib(10 + i);
    __asm__ volatile("syscall" ::"a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
    return 0;
}

/* Goes to work with the number at the new stack's end. */
__attribute__((noinline)) long start(char *stack, volatile int *alive)
{
    long made;
    register long cleared __asm__("r10") = (long)alive;
    __asm__ volatile("syscall\n test %%eax, %%eax\n jnz 1f\n xor %%ebp, %%ebp\n pop %%rdi\n call work\n ud2\n1:"
                     : "=a"(made)
                     : "a"(SYS_clone), "D"(FLAGS), "S"(stack), "d"(0), "r"(cleared)
                     : "rcx", "r11", "memory");
    return made;
}

int main(int count, char **arguments)
{
    int by_instruction = count > 1 && !strcmp(arguments[1], "instruction");
    for (long i = 0; i < THREADS; i++) {
        char *stack = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        alive[i] = 1;
        if (by_instruction) {
            long *top = (long *)(stack + STACK - 64);
            *top = i;
            start((char *)top, &alive[i]);
        } else {
            clone(work, stack + STACK, FLAGS, (void *)i, 0, 0, &alive[i]);
        }
        results[i] += 0 * fib(9);
    }
    for (int i = 0; i < THREADS; i++)
        while (alive[i])
            syscall(SYS_sched_yield);
    for (int i = 0; i < THREADS; i++)
        printf("%ld\n", results[i]);
    return 0;
}
