// Ends by a fatal signal, as the first argument says; with a second argument, on a thread of its own.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *how;
static volatile int zero, one = 1;
static volatile int *nowhere = (int *)0x1230;

__attribute__((noipa)) int leaf(int n) { return n + 1; }

__attribute__((noipa)) int overflow(int n) {
    volatile char page[4096];
    page[0] = (char)n;
    return overflow(n + 1) + page[0];
}

// The first letter decides, so that nothing is called between this call and the crash.
__attribute__((noipa)) void crash_now(void) {
    switch (how[0]) {
    case 's': *nowhere = 1; break;
    case 'a': abort(); break;
    case 'r': raise(SIGSEGV); break;
    case 'k': kill(getpid(), SIGKILL); break;
    case 'f': zero = one / zero; break;
    case 'i': __builtin_trap(); break;
    case 't': __asm__ volatile("int3"); break;
    case 'o': overflow(1); break;
    }
}

__attribute__((noipa)) int middle(int n) {
    leaf(n);
    crash_now();
    return n;
}

static void *body(void *argument) {
    middle(2);
    return argument;
}

int main(int argc, char **argv) {
    how = argv[1];
    for (int n = 0; n < 100; n++) leaf(n);
    puts("ready");
    fflush(stdout);
    if (argc == 2) return middle(1);
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
    return 0;
}
