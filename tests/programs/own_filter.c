/* Forbids itself all system calls but a few, and goes on calling functions. By the argument: the way to do so. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf out;

__attribute__((noinline)) long fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) void leave(int depth)
{
    if (depth == 0)
        longjmp(out, 1);
    leave(depth - 1);
}

static void forbid(int by_system_call, int allows_fork)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allows_fork ? SYS_clone : SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allows_fork ? SYS_wait4 : SYS_write, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int failed = by_system_call ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                                : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    if (failed)
        _exit(99);
}

/* Forbids what nobody but a tracer needs, and runs another program so. */
static void forbid_some(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sigaltstack, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(99);
}

static void say(const char *what, long number)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%s %ld\n", what, number);
    if (write(1, line, length) != length)
        _exit(98);
}

int main(int count, char **arguments)
{
    const char *way = count > 1 ? arguments[1] : "";
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0); /* are there filters? */
    if (!strcmp(way, "exec")) {
        forbid_some();
        execl("/proc/self/exe", "again", "again", (char *)0);
    }
    if (!strcmp(way, "strict"))
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else if (strcmp(way, "again"))
        forbid(!strcmp(way, "system call"), !strcmp(way, "fork"));
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        sum += fib(12);
        if (!setjmp(out))
            leave(20);
    }
    say("sum", sum);
    if (!strcmp(way, "fork")) {
        int child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), status = 0;
        if (child == 0) {
            say("child", fib(15));
            syscall(SYS_exit_group, 3);
        }
        syscall(SYS_wait4, child, &status, 0, 0);
        say("ended", WEXITSTATUS(status));
    }
    if (!strcmp(way, "crash"))
        *(volatile int *)0 = 1;
    if (!strcmp(way, "strict"))
        syscall(SYS_exit, 7);
    _exit(7);
}
