// Calls as asked, on as many threads as asked: "tick CALLS THREADS", "hold" (reads the next line within a call),
// "fork CALLS" (a child makes them). Says "done" after each line.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Thread_local unsigned long ticks;

__attribute__((noinline, noclone)) unsigned long tick(unsigned long by) {
    __asm__ volatile("");
    return ticks += by;
}

// Takes the carry flag from its caller, as hand-written code may.
unsigned long carried(unsigned long value);
__asm__(".text\n.globl carried\n.type carried, @function\ncarried:\n.cfi_startproc\n"
        "mov %rdi, %rax\nadc $0, %rax\nnop\nret\n.cfi_endproc\n.size carried, .-carried\n");

__attribute__((noinline, noclone)) static unsigned long call_carried(unsigned long value) {
    unsigned long result;
    __asm__ volatile("mov %1, %%rdi\nsub $128, %%rsp\nstc\ncall carried\nlea 128(%%rsp), %%rsp\nmov %%rax, %0"
                     : "=r"(result)
                     : "r"(value)
                     : "rax", "rdi", "cc", "memory");
    return result;
}

static void *work(void *argument) {
    unsigned long calls = (unsigned long)argument, sum = 0;
    for (unsigned long i = 0; i < calls; i++) sum += tick(1) & 1;
    return (void *)sum;
}

__attribute__((noinline, noclone)) int hold(char *line, int size) {
    printf("held\n");
    fflush(stdout);
    return fgets(line, size, stdin) != NULL;
}

int main(void) {
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        unsigned long calls = 0, threads = 1;
        if (sscanf(line, "tick %lu %lu", &calls, &threads) == 2) {
            pthread_t ids[64];
            for (unsigned long i = 0; i < threads; i++) pthread_create(&ids[i], NULL, work, (void *)calls);
            for (unsigned long i = 0; i < threads; i++) pthread_join(ids[i], NULL);
        } else if (sscanf(line, "fork %lu", &calls) == 1) {
            pid_t child = fork();
            if (child == 0) {
                work((void *)calls);
                _exit(0);
            }
            work((void *)calls);
            waitpid(child, NULL, 0);
        } else if (sscanf(line, "carry %lu", &calls) == 1) {
            for (unsigned long i = 0; i < calls; i++)
                if (call_carried(i) != i + 1) printf("lost the carry\n");
        } else if (strncmp(line, "hold", 4) == 0) {
            hold(line, sizeof line);
        }
        printf("done\n");
        fflush(stdout);
    }
    return 0;
}
