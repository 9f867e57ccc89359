// A handler aborts on a stack that has room for one of the kernel's signal frames, and not for two.
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static void handler(int signal) {
    (void)signal;
    write(2, "gives up\n", 9);
    abort();
}

int main(void) {
    // The loader, too, saves vector registers where functions are called for the first time.
    size_t frame = getauxval(AT_MINSIGSTKSZ), size = 2 * frame - 256;
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    if (!stack.ss_sp || sigaltstack(&stack, 0) || sigaction(SIGSEGV, &action, 0)) return 1;
    *(volatile int *)8 = 1;
    return 2;
}
