// A timer interrupts calls of functions that change no register. So every handler has to find the registers as they were
// set, an address of the program's code, and one of two stack pointers, wherever the thread really is.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#ifndef SAMPLES
#define SAMPLES 3000
#endif
#ifndef PASSES
#define PASSES 0
#endif

asm(".text\n"
    ".globl spin, spin_again, spin_end, plain, saves, goes_on, relayed, relayed_end, padding_end, injected\n"
    ".type plain,@function\n"
    "plain: nop; nop; nop; nop; nop; nop; ret\n"
    ".size plain,.-plain\n"
    ".p2align 4\n"
    // Shares its exit with others.
    ".type saves,@function\n"
    "saves: push %rbx; push %rbp; nopl 0x1000(%rax); pop %rbp; pop %rbx; ret\n"
    ".size saves,.-saves\n"
    ".p2align 4\n"
    ".type goes_on,@function\n"
    "goes_on: nop; nop; nop; nop; nop; jmp plain\n"
    ".size goes_on,.-goes_on\n"
    ".p2align 4\n"
    // Its first exit has two bytes, and others jump behind it: the way to a stub leads through the padding.
    ".type relayed,@function\n"
    "relayed: nop; nop; nop; nop; nop; nop; jo 1f; jno 2f; 1: nop; ret; 2: nop; ret\n"
    ".size relayed,.-relayed\n"
    "relayed_end: .fill 16,1,0xcc\n"
    "padding_end: .p2align 4\n"
    // Called between any two instructions.
    ".type injected,@function\n"
    "injected: pushf; push %rax; push %rcx; call plain; pop %rcx; pop %rax; popf; ret\n"
    ".size injected,.-injected\n"
    ".p2align 4\n"
    ".type spin,@function\n"
    "spin: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; sub $8,%rsp\n"
    " mov %rsp,stack(%rip)\n"
    " mov $0x101,%rax; mov $0x102,%rbx; mov $0x103,%rcx; mov $0x104,%rdx; mov $0x105,%rsi; mov $0x106,%rdi; mov $0x107,%rbp\n"
    " mov $0x108,%r8; mov $0x109,%r9; mov $0x10a,%r10; mov $0x10b,%r11; mov $0x10c,%r12; mov $0x10d,%r13; mov $0x10e,%r14\n"
    " mov $0x10f,%r15\n"
    // All flags of arithmetic but zero and parity.
    " push $0x891; popf\n"
    " movl $1,is_set(%rip)\n"
    "spin_again: call plain; call saves; call goes_on; call relayed; call relayed; jmp spin_again\n"
    "spin_end: movl $0,is_set(%rip); add $8,%rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
    ".size spin,.-spin\n");
void spin(void), injected(void);
extern char spin_again[], spin_end[], plain[], relayed_end[], padding_end[], __executable_start[], etext[];
unsigned long stack;
// The registers are set.
volatile int is_set;

static volatile int samples, wrong;
static int how;
static greg_t r8 = 0x108;
static ucontext_t taken;
static sigjmp_buf start;
static char other_stack[65536] __attribute__((aligned(16)));

static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8,
                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static void look(const ucontext_t *context) {
    const greg_t *registers = context->uc_mcontext.gregs;
    int bad = 0;
    for (int n = 0; n < 15; n++)
        bad |= registers[order[n]] != (order[n] == REG_R8 ? r8 : 0x101 + n);
    unsigned long at = registers[REG_RIP], depth = stack - registers[REG_RSP];
    int in_loop = at >= (unsigned long)spin_again && at < (unsigned long)spin_end;
    int in_functions = at >= (unsigned long)plain && at < (unsigned long)spin;
    // Who has called `injected` is not recorded, and nobody is where calls pass. At an exit that it shares with others a function may be
    // shown as one of these.
    in_functions |= (how == 'i' || PASSES) && at >= (unsigned long)__executable_start && at < (unsigned long)etext;
    bad |= !(in_loop && depth == 0) && !(in_functions && depth >= 8 && depth <= 64);
    bad |= at >= (unsigned long)relayed_end && at < (unsigned long)padding_end;
    bad |= (registers[REG_EFL] & 0x8d5) != 0x891;
    if (bad && wrong++ < 3) {
        fprintf(stderr, "at %#lx (loop %p, functions %p), depth %ld, flags %#llx:", at, (void *)spin_again,
                (void *)plain, depth, registers[REG_EFL]);
        for (int n = 0; n < 15; n++)
            fprintf(stderr, " %llx", registers[order[n]]);
        fputs("\n", stderr);
    }
}

// Goes on with a copy of the context, by other means than returning from the handler. It does not bring all registers back.
static void resume(void) {
    setcontext(&taken);
}

static void handler(int signal, siginfo_t *information, void *arg) {
    ucontext_t *context = arg;
    greg_t *registers = context->uc_mcontext.gregs;
    unsigned long at = registers[REG_RIP];
    // In setcontext and siglongjmp, which have let signals in again.
    int is_leaving = (how == 'c' || how == 'l') && (at < (unsigned long)plain || at >= (unsigned long)spin_end);
    if (!is_set || samples >= SAMPLES || is_leaving)
        return;
    if (how != 'c')
        look(context);
    if (++samples >= SAMPLES) {
        registers[REG_RIP] = (greg_t)spin_end;
        registers[REG_RSP] = stack;
    } else if (how == 'c') {
        taken = *context;
        // setcontext looks for it there.
        taken.__fpregs_mem = *context->uc_mcontext.fpregs;
        sigaddset(&context->uc_sigmask, SIGALRM);
        registers[REG_RIP] = (greg_t)resume;
        registers[REG_RSP] = (greg_t)(other_stack + sizeof other_stack - 8);
    } else if (how == 'i' && samples % 2 && stack - registers[REG_RSP] <= 24) { // Not in `injected` once more.
        registers[REG_RSP] -= 8;
        *(greg_t *)registers[REG_RSP] = registers[REG_RIP];
        registers[REG_RIP] = (greg_t)injected;
    } else if (how == 'l' && samples % 4 == 0) {
        is_set = 0;
        siglongjmp(start, 1);
    } else if (how == 'r') {
        r8 ^= 0x300;
        registers[REG_R8] = r8;
    }
}

int main(int argc, char **argv) {
    how = argc > 1 ? argv[1][0] : 0;
    puts("begins");
    fflush(stdout);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, 0);
    sigsetjmp(start, 1);
    spin();
    setitimer(ITIMER_REAL, &never, 0);
    printf("%d samples, %d wrong\n", samples, wrong);
    return 0;
}
