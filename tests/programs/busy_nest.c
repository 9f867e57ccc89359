// Three threads that do nothing but call five functions within each other, faster than anything can be written.
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, CALLS = 300000 };
__attribute__((noipa)) long fifth(long n) { return n + 1; }
__attribute__((noipa)) long fourth(long n) { return fifth(n) + 1; }
__attribute__((noipa)) long third(long n) { return fourth(n) + 1; }
__attribute__((noipa)) long second(long n) { return third(n) + 1; }
__attribute__((noipa)) long first(long n) { return second(n) + 1; }
static void *body(void *unused) {
    long sum = 0;
    for (int i = 0; i < CALLS; i++) sum = first(sum);
    return (void *)sum;
}

int main(void) {
    pthread_t threads[THREADS];
    long sum = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, body, 0);
    for (int i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(threads[i], &part);
        sum += (long)part;
    }
    printf("%ld\n", sum);
    return 0;
}
