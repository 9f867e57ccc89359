// 10,000 threads, fifty at a time, that live for three calls.
#include <pthread.h>
#include <stdio.h>

__attribute__((noipa)) long leaf(long n) { __asm__ volatile("" : "+r"(n)); return n * n + 3; }
__attribute__((noipa)) long work(long n) { return leaf(n) + leaf(n + 1); }
__attribute__((noipa)) void *body(void *number) { return (void *)(work((long)number) + 1); }

int main(void) {
    long sum = 0;
    for (int round = 0; round < 200; round++) {
        pthread_t threads[50];
        for (long i = 0; i < 50; i++) pthread_create(&threads[i], 0, body, (void *)i);
        for (long i = 0; i < 50; i++) {
            void *result;
            pthread_join(threads[i], &result);
            sum += (long)result;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
