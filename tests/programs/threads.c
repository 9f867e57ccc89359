// So many threads as the first argument says, all alive at once, each with its own number of calls.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static long sums[1024];
__attribute__((noipa)) long work(long n) { return n == 0 ? 1 : work(n - 1) + 1; }
__attribute__((noipa)) void *body(void *number) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 100; i++) sums[(long)number] += work((long)number % 10);
    pthread_barrier_wait(&barrier);
    return number;
}

int main(int argc, char **argv) {
    int count = atoi(argv[argc - 1]);
    pthread_t threads[1024];
    pthread_barrier_init(&barrier, 0, count);
    for (long i = 0; i < count; i++) pthread_create(&threads[i], 0, body, (void *)i);
    long sum = 0;
    for (long i = 0; i < count; i++) {
        pthread_join(threads[i], 0);
        sum += sums[i];
    }
    printf("%ld\n", sum);
    return 0;
}
