/* Adds to counters of each processor in restartable sequences, which the kernel begins anew where it interrupts them. Prints how many
   additions are lost: none, unless the sequence runs elsewhere than its descriptor says. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/rseq.h>

#define THREADS 4
#define ADDITIONS 500000L

static struct { long value, room[7]; } counters[1024];

/* Gives 0 where it was interrupted, and nothing was added. */
__attribute__((noipa)) long add(struct rseq *rseq)
{
    long done = 0;
    __asm__ volatile(
        ".pushsection __rseq_cs, \"aw\"\n"
        ".balign 32\n"
        "9: .long 0, 0\n"
        ".quad 1f, 2f - 1f, 4f\n"
        ".popsection\n"
        "    lea 9b(%%rip), %%rax\n"
        "    mov %%rax, 8(%[rseq])\n"
        "1:  mov 4(%[rseq]), %%eax\n"
        "    shl $6, %%rax\n"
        "    mov (%[counters], %%rax), %%rdx\n"
        "    inc %%rdx\n"
        "    mov %%rdx, (%[counters], %%rax)\n"
        "2:  mov $1, %[done]\n"
        "    jmp 5f\n"
        "    .byte 0x0f, 0xb9, 0x3d\n"
        "    .long 0x53053053\n"
        "4:  nop\n"
        "5:\n"
        : [done] "+r"(done)
        : [rseq] "r"(rseq), [counters] "r"(counters)
        : "rax", "rdx", "memory", "cc");
    return done;
}

static void *work(void *nothing)
{
    struct rseq *rseq = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    for (long left = ADDITIONS; left; left -= add(rseq))
        ;
    return nothing;
}

int main(void)
{
    if (!__rseq_size) {
        puts("0 lost");
        return 0;
    }
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++)
        pthread_create(&threads[at], 0, work, 0);
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], 0);
    long sum = 0;
    for (int at = 0; at < 1024; at++)
        sum += counters[at].value;
    printf("%ld lost\n", THREADS * ADDITIONS - sum);
    return 0;
}
