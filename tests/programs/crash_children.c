// A hundred children that crash, several at a time.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int *nowhere = (int *)0x1230;

__attribute__((noipa)) void crash_now(void) { *nowhere = 1; }

int main(void) {
    int killed = 0, status;
    for (int round = 0; round < 10; round++) {
        for (int n = 0; n < 10; n++)
            if (!fork()) {
                crash_now();
                _exit(0);
            }
        while (wait(&status) > 0) killed += WIFSIGNALED(status) && WTERMSIG(status) == 11;
    }
    printf("%d\n", killed);
    return 0;
}
