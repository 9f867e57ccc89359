// Calls that end in all ways: with results, in another function, by a jump, in a signal handler; and more of them open at a time
// than the agent remembers.
#include <setjmp.h>
#include <signal.h>

#define KEPT __attribute__((noipa))

static jmp_buf back;

KEPT int twice(int n) { return 2 * n; }
KEPT int goes_on(int n, int by) { return twice(n + by); }
KEPT int deep(int n) {
    int result = n == 0 ? 0 : deep(n - 1) + 1;
    __asm__ volatile("" : "+r"(result));
    return result;
}
KEPT int jumps(int n) {
    if (n == 7)
        longjmp(back, n);
    return n;
}
KEPT int counted(int signal, long by) { return signal + (int)by; }
KEPT void handler(int signal) { counted(signal, 1); }
KEPT int many(int a, int b, int c, int d, int e, int f, int g) { return a + b + c + d + e + f + g; }

int main(void) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    goes_on(20, 1);
    deep(40);
    if (setjmp(back) == 0)
        jumps(7);
    many(1, 2, 3, 4, 5, 6, 7);
    return 0;
}
