// Has handlers of its own for fatal signals, and looks at what it finds in their places.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int *nowhere = (int *)0x1230;
static sigjmp_buf before;
static volatile int seen;
static struct sigaction old;

__attribute__((noipa)) void handler(int signal) {
    seen++;
    siglongjmp(before, signal);
}

// What crash reporters do: print, put back what was there, and let it happen again.
__attribute__((noipa)) void reporter(int signal, siginfo_t *information, void *context) {
    (void)context;
    char line[64];
    int length = snprintf(line, sizeof line, "signal %d at %p\n", signal, information->si_addr);
    write(1, line, length);
    sigaction(signal, &old, NULL);
}

static void show(const char *what, int signal) {
    struct sigaction current;
    memset(&current, 0xff, sizeof current);
    sigaction(signal, NULL, &current);
    printf("%s %d: %s, flags %x\n", what, signal, current.sa_handler == SIG_DFL ? "default" : "handler",
           current.sa_flags & 0x7fffffff & ~0x04000000);
}

__attribute__((noipa)) void fault(void) { *nowhere = 1; }

int main(int argc, char **argv) {
    for (int signal = 1; signal < 32; signal++) show("at first", signal);
    for (int round = 0; round < 3; round++)
        if (!sigsetjmp(before, 1)) {
            if (signal(SIGSEGV, handler) != (round ? handler : SIG_DFL)) puts("another handler than ours");
            fault();
        }
    show("own", SIGSEGV);
    printf("survived %d\n", seen);
    if (signal(SIGSEGV, SIG_DFL) != handler) puts("another handler than ours");
    show("default again", SIGSEGV);
    if (argc > 1) {
        struct sigaction action = {.sa_sigaction = reporter, .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &action, &old);
        printf("old: %d %x\n", old.sa_handler == SIG_DFL, old.sa_flags);
    }
    fflush(stdout);
    fault();
    return 0;
}
