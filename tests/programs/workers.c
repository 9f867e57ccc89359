// A server as many are: one process that listens and waits, and two that work. Ends when its input does.
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((noipa)) int serve(int request) { return request * 3 + 1; }

static void work(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int request = 0;; request++) {
        serve(request);
        usleep(500);
    }
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 8)) return 1;
    getsockname(listener, (struct sockaddr *)&address, &length);
    pid_t workers[2];
    for (int i = 0; i < 2; i++)
        if (!(workers[i] = fork())) work();
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {}
    for (int i = 0; i < 2; i++) kill(workers[i], SIGKILL);
    return 0;
}
