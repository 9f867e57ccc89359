// Blocks by every door of Dispatch, from C.
#include <dispatch/dispatch.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int asyncs, crowds, groups, iterations, functions;

static void by_function(void *argument) { atomic_fetch_add(&functions, (int)(long)argument); }

int main(void) {
    dispatch_queue_t serial = dispatch_queue_create("org.example.serial", NULL);
    dispatch_queue_t crowd = dispatch_queue_create("org.example.crowd", DISPATCH_QUEUE_CONCURRENT);
    dispatch_semaphore_t told = dispatch_semaphore_create(0);
    __block int order = 0;

    for (int number = 0; number < 5; number++) {
        dispatch_async(serial, ^{
            atomic_fetch_add(&asyncs, number);
        });
    }
    dispatch_sync(serial, ^{
        order = 1;
    });
    for (int number = 0; number < 3; number++) {
        dispatch_async(crowd, ^{
            atomic_fetch_add(&crowds, number + 1);
        });
    }
    dispatch_barrier_async(crowd, ^{
        order += atomic_load(&crowds);
    });
    dispatch_barrier_sync(crowd, ^{
        order += 1;
    });

    dispatch_group_t group = dispatch_group_create();
    for (int number = 0; number < 4; number++) {
        dispatch_group_async(group, crowd, ^{
            atomic_fetch_add(&groups, 1);
        });
    }
    dispatch_group_notify(group, serial, ^{
        dispatch_semaphore_signal(told);
    });
    dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER);
    dispatch_group_wait(group, DISPATCH_TIME_FOREVER);

    dispatch_after(dispatch_time(DISPATCH_TIME_NOW, 20 * 1000 * 1000), serial, ^{
        dispatch_semaphore_signal(told);
    });
    dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER);

    dispatch_apply(8, crowd, ^(size_t index) {
        atomic_fetch_add(&iterations, (int)index);
    });

    dispatch_async(serial, ^{
        dispatch_async(crowd, ^{
            dispatch_semaphore_signal(told);
        });
    });
    dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER);
    dispatch_barrier_sync(crowd, ^{
        order += 1;
    });

    for (long number = 1; number <= 3; number++) {
        dispatch_async_f(serial, (void *)number, by_function);
    }
    dispatch_sync_f(serial, (void *)10, by_function);

    dispatch_group_t never = dispatch_group_create();
    dispatch_group_enter(never);
    dispatch_group_notify(never, serial, ^{
        order = -1;
    });
    dispatch_sync(serial, ^{
        order += 1;
    });
    printf("%d %d %d %d %d %d\n", asyncs, crowds, groups, iterations, functions, order);
    return 0;
}
