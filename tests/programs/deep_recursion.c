// Recursion as deep as it is told, on a stack that has room for it, twice, and shallow calls before, between and after.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int sink;
__attribute__((noipa)) long deep(long n) { sink = (int)n; return n == 0 ? 0 : deep(n - 1) + 1; }
__attribute__((noipa)) long shallow(long n) { sink = 1; return deep(n) + 1; }

static void *run(void *levels) {
    long n = (long)levels - 1;
    printf("%ld\n", shallow(3) + deep(n) + shallow(4) + deep(n) + shallow(5));
    return NULL;
}

int main(int count, char **arguments) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256L << 20);
    pthread_t thread;
    pthread_create(&thread, &attributes, run, (void *)(count > 1 ? atol(arguments[1]) : 100000));
    pthread_join(thread, NULL);
    return 0;
}
