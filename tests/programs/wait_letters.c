/* Datagrams without a connection: two threads of a child process send from a socket each, after a rest of their own, and the parent
   waits for each. The arguments are the kind and how often each thread sends: "udp" by sendto to recvfrom, "message" by sendmsg
   to recvmsg, "unix" between sockets with names, "auto" from sockets that never asked for an address, and "blind" to a parent that does not ask who
   has sent something.
   Prints both processes, the child's two threads, then who sent what the parent got, in its order: 0 or 1. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SENDERS = 2, MOST = 32768 };

union address {
    struct sockaddr any;
    struct sockaddr_in internet;
    struct sockaddr_un name;
};

static const char *kind;
static int turns, from;
static volatile int *ids;
static union address parent;
static socklen_t parent_length;

static int is(const char *name) { return strcmp(kind, name) == 0; }

/* A socket with an address of its own: a free port, or a name that is no path. */
static int bound(int number, union address *address, socklen_t *length)
{
    int unix_socket = is("unix");
    int made = socket(unix_socket ? AF_UNIX : AF_INET, SOCK_DGRAM, 0);
    memset(address, 0, sizeof *address);
    if (unix_socket) {
        address->name.sun_family = AF_UNIX;
        int count = snprintf(address->name.sun_path + 1, 64, "ada-letters-%d-%d", (int)getpid(), number);
        *length = offsetof(struct sockaddr_un, sun_path) + 1 + count;
    } else {
        address->internet.sin_family = AF_INET;
        address->internet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *length = sizeof address->internet;
    }
    if (number > 0 && is("auto"))
        return made;
    if (bind(made, &address->any, *length) != 0)
        exit(4);
    getsockname(made, &address->any, length);
    return made;
}

__attribute__((noipa)) int give(int to, int who)
{
    char byte = (char)who;
    if (is("message")) {
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_name = &parent, .msg_namelen = parent_length, .msg_iov = &part, .msg_iovlen = 1 };
        return sendmsg(to, &message, 0) == 1;
    }
    return sendto(to, &byte, 1, 0, &parent.any, parent_length) == 1;
}

static void *serve(void *number)
{
    int own = (int)(intptr_t)number;
    union address address;
    socklen_t length;
    unsigned random = own + 1;
    int to = bound(own + 1, &address, &length);
    ids[own] = gettid();
    for (int turn = 0; turn < turns; turn++) {
        usleep(300 + rand_r(&random) % 500);
        if (!give(to, own))
            exit(3);
    }
    usleep(20000);
    return 0;
}

static void child(void)
{
    pthread_t threads[SENDERS];
    usleep(20000);
    for (intptr_t who = 0; who < SENDERS; who++)
        pthread_create(&threads[who], 0, serve, (void *)who);
    for (int who = 0; who < SENDERS; who++)
        pthread_join(threads[who], 0);
    _exit(0);
}

/* Who sent what has come. */
__attribute__((noipa)) int await_letter(void)
{
    union address source;
    socklen_t length = sizeof source;
    char byte = -1;
    if (is("blind"))
        return recvfrom(from, &byte, 1, 0, 0, 0) == 1 ? byte : -1;
    if (is("message")) {
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_name = &source, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1 };
        return recvmsg(from, &message, 0) == 1 ? byte : -1;
    }
    return recvfrom(from, &byte, 1, 0, &source.any, &length) == 1 ? byte : -1;
}

int main(int words, char **word)
{
    static signed char got[MOST];
    if (words < 3)
        return 2;
    kind = word[1], turns = atoi(word[2]);
    if (turns * SENDERS > MOST)
        return 2;
    ids = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    from = bound(0, &parent, &parent_length);
    pid_t pid = fork();
    if (pid == 0)
        child();
    for (int at = 0; at < turns * SENDERS; at++)
        got[at] = (signed char)await_letter();
    waitpid(pid, 0, 0);
    printf("%d %d %d %d\n", getpid(), pid, ids[0], ids[1]);
    for (int at = 0; at < turns * SENDERS; at++)
        printf("%d%c", got[at], at + 1 < turns * SENDERS ? ' ' : '\n');
    return 0;
}
