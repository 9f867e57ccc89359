// Children run another program while they are sent a signal that means nothing to them, or that stops them and the one that
// lets them go on, again and again.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int signal = atoi(arguments[1]), wrong = 0;
    for (int round = 0; round < 6; round++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)0);
            _exit(1);
        }
        int status;
        while (waitpid(child, &status, WNOHANG) == 0) {
            kill(child, signal);
            if (signal == SIGSTOP) kill(child, SIGCONT);
            usleep(300);
        }
        wrong += status != 0;
    }
    printf("%d wrong\n", wrong);
    return wrong;
}
