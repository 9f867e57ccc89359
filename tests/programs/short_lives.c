// Children that are gone in no time, most before their first call, each with "pid parent exit|signal number" on a line of
// its own.
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(pid_t pid, int status) {
    if (WIFSIGNALED(status)) printf("%d %d signal %d\n", pid, getpid(), WTERMSIG(status));
    else printf("%d %d exit %d\n", pid, getpid(), WEXITSTATUS(status));
    fflush(stdout);
}

// No function of a library is called on either side.
static inline long call(long number, long first, long second) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(0) : "rcx", "r11", "memory");
    return result;
}

int main(void) {
    for (int n = 0; n < 20; n++) {
        pid_t pid = (pid_t)call(SYS_fork, 0, 0);
        if (pid == 0) {
            if (n % 2) call(SYS_exit_group, n, 0);
            for (;;) call(SYS_pause, 0, 0);
        }
        if (n % 2 == 0) call(SYS_kill, pid, n % 4 ? SIGTERM : SIGKILL);
        int status;
        waitpid(pid, &status, 0);
        tell(pid, status);
    }
    pid_t pid = vfork();
    if (pid == 0) _exit(33);
    int status;
    waitpid(pid, &status, 0);
    tell(pid, status);
    return 0;
}
