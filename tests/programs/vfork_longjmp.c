// longjmp to a setjmp whose call lies where a child of vfork, on its parent's stack, made its last one.
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf buffer;
__attribute__((noipa)) void jump(int status) { longjmp(buffer, status); }
__attribute__((noipa)) int status_of(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) + 1;
}
__attribute__((noipa)) int after_exec(void) {
    char *words[] = {"sh", "-c", "exit 6", 0}, *none[] = {0};
    pid_t child = vfork();
    if (child == 0) {
        execve("/bin/sh", words, none);
        _exit(1);
    }
    int status = setjmp(buffer);
    if (status == 0) jump(status_of(child));
    return status;
}
__attribute__((noipa)) int after_exit(void) {
    pid_t child = vfork();
    if (child == 0) _exit(3);
    int status = setjmp(buffer);
    if (status == 0) jump(status_of(child));
    return status;
}

int main(void) {
    int exec = after_exec(), exit = after_exit();
    printf("%d %d\n", exec, exit);
    return 0;
}
