/* Waits for a ring of the kernel's to complete a timeout of five milliseconds, with system calls made by their numbers, as there is no
   function for them in the C library. Prints the thread's id and the ring's descriptor; "forbidden" where the kernel does not allow rings. */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ring;

__attribute__((noipa)) int await_completion(void)
{
    return syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, (void *)0, 0L);
}

int main(void)
{
    struct io_uring_params params;
    memset(&params, 0, sizeof params);
    ring = syscall(SYS_io_uring_setup, 4, &params);
    if (ring < 0) {
        printf("forbidden\n");
        return 0;
    }
    size_t size = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
    char *queue = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries = mmap(0, params.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (queue == MAP_FAILED || entries == MAP_FAILED)
        return 2;
    struct __kernel_timespec time = { .tv_nsec = 5000000 };
    memset(entries, 0, sizeof *entries);
    entries->opcode = IORING_OP_TIMEOUT;
    entries->fd = -1;
    entries->addr = (uintptr_t)&time;
    entries->len = 1;
    ((uint32_t *)(queue + params.sq_off.array))[0] = 0;
    __atomic_store_n((uint32_t *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (await_completion() != 1)
        return 3;
    printf("%d %d\n", gettid(), ring);
    return 0;
}
