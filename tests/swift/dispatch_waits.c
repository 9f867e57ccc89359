// Waits for a queue, a group and a semaphore, each in a function of its own that is not jumped out of. Says on its error stream which threads waited and which ended the waits.
#define _GNU_SOURCE
#include <dispatch/dispatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int has_begun, slow_thread, group_thread, semaphore_thread;

__attribute__((noinline)) void wait_for_queue(dispatch_queue_t queue) {
    dispatch_sync(queue, ^{
        puts("its turn");
    });
    __asm__ volatile("");
}

__attribute__((noinline)) void wait_for_group(dispatch_group_t group) {
    dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
    __asm__ volatile("");
}

__attribute__((noinline)) void wait_for_semaphore(dispatch_semaphore_t semaphore) {
    dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER);
    __asm__ volatile("");
}

int main(void) {
    dispatch_queue_t slow = dispatch_queue_create("org.example.slow", NULL);
    dispatch_async(slow, ^{
        slow_thread = gettid();
        has_begun = 1;
        usleep(50 * 1000);
    });
    while (!has_begun)
        usleep(100);
    wait_for_queue(slow);

    dispatch_group_t group = dispatch_group_create();
    dispatch_group_async(group, slow, ^{
        usleep(20 * 1000);
        group_thread = gettid();
    });
    wait_for_group(group);

    dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
    dispatch_async(slow, ^{
        usleep(20 * 1000);
        semaphore_thread = gettid();
        dispatch_semaphore_signal(semaphore);
    });
    wait_for_semaphore(semaphore);
    fprintf(stderr, "%d %d %d %d\n", gettid(), slow_thread, group_thread, semaphore_thread);
    return 0;
}
