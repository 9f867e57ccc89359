// 3,000 signals at 10 kHz into a busy loop. First argument: "plain", "altstack", "jump" (siglongjmp out of every
// seventh), or "altjump" (both). How often what was called goes to stderr.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile int handled, jumps, is_armed;
// A round that was jumped out of is followed by one that is not, so that the end is reached however slow they are.
static volatile int finished, finished_at_jump = -1;
static volatile unsigned sum;
static sigjmp_buf buffer;
static int may_jump;
__attribute__((noipa)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n * 3 + 1; }
__attribute__((noipa)) int work(int n) { return leaf(n) + leaf(n + 1); }
__attribute__((noipa)) void handler(int number) {
    handled++;
    work(number);
    if (may_jump && is_armed && handled % 7 == 0 && finished != finished_at_jump) {
        finished_at_jump = finished;
        is_armed = 0;
        siglongjmp(buffer, 1);
    }
}
__attribute__((noipa)) void busy(void) {
    for (int i = 0; i < 2000; i++) sum += work(i);
}

int main(int argc, char **argv) {
    const char *mode = argv[argc - 1];
    may_jump = strstr(mode, "jump") != 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    if (strncmp(mode, "alt", 3) == 0) {
        stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
        sigaltstack(&stack, 0);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, 0);
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, 0);
    volatile int rounds = 0;
    while (handled < 3000) {
        if (sigsetjmp(buffer, 1)) jumps++;
        rounds++;
        is_armed = 1;
        busy();
        is_armed = 0;
        finished++;
    }
    setitimer(ITIMER_REAL, &never, 0);
    printf("done %d\n", !may_jump || jumps > 10);
    fprintf(stderr, "handled=%d jumps=%d rounds=%d\n", handled, jumps, rounds);
    return 0;
}
