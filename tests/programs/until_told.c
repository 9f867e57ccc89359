// Calls a function again and again until SIGTERM says to end.
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t told;
static void end(int signal) { told = signal; }
__attribute__((noipa)) long step(long n) { return n + 1; }

int main(void) {
    signal(SIGTERM, end);
    for (long n = 0; !told; n = step(n)) {}
    puts("told to end");
    return 7;
}
