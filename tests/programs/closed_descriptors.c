// Closes all descriptors but the first three, its own and those that others have opened in it; then forks, and runs another
// program.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(void) {
    syscall(SYS_close_range, 3, ~0U, 0);
    printf("%ld\n", fib(15));
    fflush(stdout);
    if (fork() == 0) {
        fib(12);
        execl("/bin/echo", "echo", "child", NULL);
        _exit(1);
    }
    int status;
    wait(&status);
    printf("%d %ld\n", WEXITSTATUS(status), fib(10));
    return 0;
}
