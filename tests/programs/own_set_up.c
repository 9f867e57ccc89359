// Says, for each line that it reads, what it has set up: the actions of all signals, what is blocked, and its GS base. With an
// argument, it uses the GS base itself.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

static void handler(int signal) { (void)signal; }
static void with_context(int signal, siginfo_t *info, void *context) { (void)signal, (void)info, (void)context; }

static void say(void) {
    unsigned long blocked = 0, gs = 0;
    for (int signal = 1; signal <= 64; signal++) {
        struct kernel_action action = {0};
        if (syscall(SYS_rt_sigaction, signal, 0, &action, 8) == 0) {
            printf("%d %p %lx %p %lx, ", signal, action.handler, action.flags, action.restorer, action.mask);
        }
    }
    syscall(SYS_rt_sigprocmask, 0, 0, &blocked, 8);
    syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
    printf("blocked %lx, GS %lx\n", blocked, gs);
    fflush(stdout);
}

int main(int count, char **arguments) {
    (void)arguments;
    struct sigaction action = {.sa_sigaction = with_context, .sa_flags = SA_SIGINFO | SA_NODEFER};
    signal(SIGUSR1, handler);
    signal(SIGSEGV, handler);
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGTRAP, &action, 0);
    sigaction(SIGALRM, &action, 0);
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_BLOCK, &some, 0);
    if (count > 1) syscall(SYS_arch_prctl, ARCH_SET_GS, 0x1234560000);
    char line[100];
    while (fgets(line, sizeof line, stdin)) say();
    return 0;
}
