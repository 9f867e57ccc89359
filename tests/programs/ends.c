// Children that end in every way, each with "pid parent exit|signal number" on a line of its own.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) void in_child(void) { __asm__ volatile(""); }

static void tell(pid_t pid, pid_t parent, int status) {
    if (WIFSIGNALED(status)) printf("%d %d signal %d\n", pid, parent, WTERMSIG(status));
    else printf("%d %d exit %d\n", pid, parent, WEXITSTATUS(status));
    fflush(stdout);
}

static pid_t child(int how) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    in_child();
    switch (how) {
    case 0: _exit(7);
    case 1: exit(300);
    // Long enough for the recorder to hear of them: these leave no word behind.
    case 2: usleep(50000); raise(SIGKILL); break;
    case 3: *(volatile int *)8 = 1; break;
    case 4: abort();
    case 5: execl("/bin/sh", "sh", "-c", "exit 5", (char *)0); break;
    case 6: execl("/bin/sh", "sh", "-c", "kill -TERM $$", (char *)0); break;
    case 7: usleep(50000); syscall(SYS_exit_group, 9); break;
    case 8: {
        pid_t grandchild = fork();
        if (grandchild == 0) { in_child(); usleep(50000); _exit(21); }
        int status;
        waitpid(grandchild, &status, 0);
        tell(grandchild, getpid(), status);
        _exit(22);
    }
    }
    _exit(99);
}

int main(void) {
    for (int how = 0; how <= 8; how++) {
        int status;
        pid_t pid = child(how);
        waitpid(pid, &status, 0);
        tell(pid, getpid(), status);
    }
    // One that lives on when this one has ended.
    pid_t pid = fork();
    if (pid == 0) { in_child(); usleep(200000); _exit(23); }
    printf("%d %d exit 23\n", pid, getpid());
    return 0;
}
