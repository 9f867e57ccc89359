/* Keeps values of its own at the GS base, in several threads. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static long second(void)
{
    long value;
    __asm__ volatile("mov %%gs:8, %0" : "=r"(value));
    return value;
}

__attribute__((noinline)) long fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void *work(void *number)
{
    long block[4] = {1, (long)number, 3}, sum = 0;
    syscall(SYS_arch_prctl, ARCH_SET_GS, block);
    for (int i = 0; i < 100; i++)
        sum += fib(8) + second();
    return (void *)sum;
}

int main(void)
{
    unsigned long base = 1;
    syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    printf("at first %lx\n", base);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, (void *)(i + 5));
    for (int i = 0; i < 3; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%ld\n", (long)sum);
    }
    printf("%ld\n", (long)work((void *)9));
    return 0;
}
