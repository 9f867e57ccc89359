/* A server that waits by epoll, and a client process that asks it something over the loopback device, each time after a rest of two
   milliseconds, and waits for the answer. Prints the server's process and the client's, and the number of questions. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUESTIONS = 20 };

__attribute__((noipa)) int await_request(int poll)
{
    struct epoll_event event;
    return epoll_wait(poll, &event, 1, -1) == 1 ? event.data.fd : -1;
}

__attribute__((noipa)) int await_answer(int server)
{
    char answer;
    return read(server, &answer, 1) == 1;
}

static int ask(struct sockaddr_in *address)
{
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)address, sizeof *address) != 0)
        return 3;
    for (int question = 0; question < QUESTIONS; question++) {
        usleep(2000);
        if (write(server, "?", 1) != 1 || !await_answer(server))
            return 4;
    }
    return 0;
}

static int serve(int listener)
{
    int poll = epoll_create1(0), client = accept(listener, 0, 0);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = client };
    epoll_ctl(poll, EPOLL_CTL_ADD, client, &event);
    char question;
    int answered = 0;
    while (read(await_request(poll), &question, 1) == 1) {
        if (write(client, "!", 1) != 1)
            return -1;
        answered++;
    }
    return answered;
}

int main(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), status = 0;
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0)
        return 2;
    getsockname(listener, (struct sockaddr *)&address, &length);
    pid_t client = fork();
    if (client == 0)
        _exit(ask(&address));
    int answered = serve(listener);
    waitpid(client, &status, 0);
    printf("%d %d %d\n", getpid(), client, answered);
    return status != 0;
}
