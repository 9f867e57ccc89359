// pthread_exit five frames deep, with a cleanup handler, in ten threads one after the other.
#include <pthread.h>
#include <stdio.h>

static int cleaned;
__attribute__((noipa)) void cleanup(void *unused) { cleaned++; (void)unused; }
__attribute__((noipa)) long descend(long n) {
    if (n == 1) pthread_exit((void *)7);
    return descend(n - 1) + 1;
}
__attribute__((noipa)) void *body(void *unused) {
    pthread_cleanup_push(cleanup, unused);
    descend(5);
    pthread_cleanup_pop(0);
    return 0;
}

int main(void) {
    long sum = 0;
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, body, 0);
        pthread_join(thread, &result);
        sum += (long)result;
    }
    printf("%ld %d\n", sum, cleaned);
    return 0;
}
