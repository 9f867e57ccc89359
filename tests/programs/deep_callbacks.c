// Recursion that hands a function on at each level, and calls it at each.
#include <pthread.h>
#include <stdio.h>

enum { LEVELS = 60000 };
static volatile long sink;

__attribute__((noipa)) static void visit(long level) { sink += level; }
__attribute__((noipa)) static void walk(void (*callback)(long), long level) {
    if (level < LEVELS) walk(callback, level + 1);
    callback(level);
    sink++;
}
static void *run(void *none) {
    walk(visit, 1);
    return none;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64L << 20);
    pthread_t thread;
    pthread_create(&thread, &attributes, run, NULL);
    pthread_join(thread, NULL);
    printf("%ld\n", sink);
    return 0;
}
