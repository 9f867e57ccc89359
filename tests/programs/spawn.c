// Children by vfork, by posix_spawn, by system and by popen, each in the middle of calls.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
__attribute__((noipa)) int by_vfork(int code) {
    pid_t child = vfork();
    if (child == 0) _exit(code);
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
__attribute__((noipa)) int by_vfork_exec(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 9", (char *)0);
        _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
__attribute__((noipa)) int by_spawn(void) {
    char *words[] = {"sh", "-c", "exit 4", 0};
    pid_t child;
    if (posix_spawn(&child, "/bin/sh", 0, 0, words, environ)) return -1;
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
__attribute__((noipa)) int by_popen(void) {
    char line[64] = "";
    FILE *pipe = popen("echo hello", "r");
    if (!fgets(line, sizeof line, pipe)) return -1;
    fputs(line, stdout);
    return pclose(pipe);
}

int main(void) {
    printf("%d %d %d %d %d\n", by_vfork(3), by_vfork_exec(), by_spawn(), by_popen(), WEXITSTATUS(system("exit 5")));
    return 0;
}
