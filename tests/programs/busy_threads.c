// Three threads that do nothing but call a function, faster than anything can be written.
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, CALLS = 2000000 };
__attribute__((noipa)) long leaf(long n) { return n + 1; }
static void *body(void *unused) {
    long sum = 0;
    for (int i = 0; i < CALLS; i++) sum = leaf(sum);
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
