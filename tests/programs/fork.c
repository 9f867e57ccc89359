// Five children, each with an exit code of its own; what they call is theirs.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) int in_child(int n) { __asm__ volatile("" : "+r"(n)); return n * 2 + 1; }
__attribute__((noipa)) int in_parent(int n) { __asm__ volatile("" : "+r"(n)); return n * 3 + 1; }

int main(void) {
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) _exit(in_child(i));
        int status;
        waitpid(child, &status, 0);
        printf("%d %d\n", WEXITSTATUS(status), in_parent(i));
        fflush(stdout);
    }
    return 6;
}
