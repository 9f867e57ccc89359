// Faults at the first and the last instructions of functions, where hooks are. What a handler sees of them goes to stdout,
// as distances from the function, and so does what comes of going on there: again, behind the instruction, by a jump.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOIPA __attribute__((noipa))

// One that faults at its entry, one at its exit, one that traps at either, and one that runs out of stack.
int at_entry(int *p), at_exit_(int *p, int k), traps(int n);
__asm__(".text\n.p2align 4\n.globl at_entry\n.type at_entry,@function\nat_entry: .cfi_startproc\n"
        "mov (%rdi),%eax\nadd $1,%eax\nadd $2,%eax\nadd $3,%eax\nret\n.cfi_endproc\n.size at_entry,.-at_entry\n"
        ".p2align 4\n.globl at_exit_\n.type at_exit_,@function\nat_exit_: .cfi_startproc\n"
        "mov $1,%eax\ncmp $1,%esi\nje 1f\nmov (%rdi),%eax\n1: ret\n.cfi_endproc\n.size at_exit_,.-at_exit_\n"
        ".p2align 4\n.globl traps\n.type traps,@function\ntraps: .cfi_startproc\n"
        "ud2\nlea 7(%rdi),%eax\ntest %eax,%eax\njs 1f\nadd $1,%eax\nud2\n1: ret\n.cfi_endproc\n.size traps,.-traps\n");

static volatile int depth;
NOIPA int deep(int n) {
    depth = n;
    int below = deep(n + 1);
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

static char *functions[] = {(char *)at_entry, (char *)at_exit_, (char *)traps, (char *)deep};
static const char *names[] = {"at_entry", "at_exit", "traps", "deep", "elsewhere"};
static int *page;
static sigjmp_buf buffer;
static volatile int seen;
static enum { REPAIR, SKIP, JUMP } way;

NOIPA void show(ucontext_t *context) {
    long found = 4, distance = 64;
    for (int i = 0; i < 4; i++) {
        long from = (char *)context->uc_mcontext.gregs[REG_RIP] - functions[i];
        if (from >= 0 && from < distance) found = i, distance = from;
    }
    // Where in deep() there is no more room depends on what was on the stack before.
    if (found < 3) printf("%s+%ld ", names[found], distance);
    else printf("%s ", names[found]);
}

NOIPA void handler(int number, siginfo_t *information, void *context) {
    seen++;
    show(context);
    if (way == REPAIR) mprotect(page, 4096, PROT_READ | PROT_WRITE);
    else if (way == SKIP) ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    else siglongjmp(buffer, number);
}

// Goes on in another function, which returns in its place.
NOIPA void tail(int number, siginfo_t *information, void *context) { handler(number, information, context); }

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static char own_stack[1 << 16];
    stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    sigaltstack(&stack, 0);
    for (int round = 0; round < 3; round++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = round == 1 ? tail : handler;
        // Without SA_SIGINFO there is a context all the same, and no reason.
        action.sa_flags = SA_ONSTACK | (round == 2 ? 0 : SA_SIGINFO);
        int signals[] = {SIGSEGV, SIGILL};
        for (int i = 0; i < 2; i++) sigaction(signals[i], &action, 0);

        way = REPAIR;
        for (int i = 0; i < 3; i++) {
            mprotect(page, 4096, PROT_NONE);
            printf("%d ", at_entry(page));
            mprotect(page, 4096, PROT_NONE);
            printf("%d %d\n", at_exit_(page, 0), at_exit_(page, 1));
        }
        way = SKIP;
        for (int i = -20; i < 3; i += 5) printf("%d\n", traps(i));
        way = JUMP;
        mprotect(page, 4096, PROT_NONE);
        for (int i = 0; i < 3; i++)
            if (!sigsetjmp(buffer, 1)) printf("%d\n", at_entry(page));
            else printf("jumped\n");
        if (!sigsetjmp(buffer, 1)) printf("%d\n", deep(0));
        else printf("too deep: %d\n", depth > 1000);
        // Sent, and not a fault: nothing is to be put right.
        if (!sigsetjmp(buffer, 1)) raise(SIGSEGV);
        else printf("sent\n");
    }
    printf("%d\n", seen);
    return 0;
}
