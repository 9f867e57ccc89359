/* A process connects to a socket of its parent's whose queue is full, and waits until a thread there takes a connection from it. The arguments say by
   what ("unix" or "tcp") and how often. Prints the parent, that thread, and the process that connects; then how often it had to wait. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    sem_t is_full, has_connected, has_taken;
    volatile int server_thread;
};

static struct shared *shared;
static struct sockaddr_storage address;
static socklen_t length;
static int family, listener, rounds = 1;

__attribute__((noipa)) int connect_first(void)
{
    int made = socket(family, SOCK_STREAM, 0);
    return connect(made, (struct sockaddr *)&address, length) == 0 ? made : -1;
}

__attribute__((noipa)) int connect_waiting(void)
{
    int made = socket(family, SOCK_STREAM, 0);
    return connect(made, (struct sockaddr *)&address, length) == 0 ? made : -1;
}

__attribute__((noipa)) int make_room(void) { return accept(listener, 0, 0); }

__attribute__((noipa)) int take_other(void) { return accept(listener, 0, 0); }

static void *serve(void *unused)
{
    shared->server_thread = gettid();
    for (int round = 0; round < rounds; round++) {
        sem_wait(&shared->is_full);
        usleep(50000);
        int first = make_room();
        sem_wait(&shared->has_connected);
        int second = take_other();
        /* So that they can be looked at. */
        usleep(100000);
        close(first);
        close(second);
        sem_post(&shared->has_taken);
    }
    return unused;
}

static int run_client(void)
{
    for (int round = 0; round < rounds; round++) {
        int first = connect_first();
        sem_post(&shared->is_full);
        int second = connect_waiting();
        sem_post(&shared->has_connected);
        if (first < 0 || second < 0)
            return 1;
        sem_wait(&shared->has_taken);
        close(first);
        close(second);
    }
    return 0;
}

int main(int words, char **word)
{
    pthread_t server;
    int status;
    if (words < 3)
        return 2;
    rounds = atoi(word[2]);
    family = strcmp(word[1], "tcp") == 0 ? AF_INET : AF_UNIX;
    address.ss_family = family;
    if (family == AF_INET) {
        struct sockaddr_in *it = (struct sockaddr_in *)&address;
        it->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        length = sizeof *it;
    } else {
        /* A name without a file. */
        struct sockaddr_un *it = (struct sockaddr_un *)&address;
        length = sizeof(sa_family_t) + 1 + sprintf(it->sun_path + 1, "ada-connect-%d", getpid());
    }
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&shared->is_full, 1, 0);
    sem_init(&shared->has_connected, 1, 0);
    sem_init(&shared->has_taken, 1, 0);
    listener = socket(family, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 0) != 0)
        return 2;
    getsockname(listener, (struct sockaddr *)&address, &length);
    pid_t pid = fork();
    if (pid == 0)
        _exit(run_client());
    pthread_create(&server, 0, serve, 0);
    waitpid(pid, &status, 0);
    pthread_join(server, 0);
    printf("%d %d %d\n%d\n", getpid(), shared->server_thread, pid, rounds);
    return status != 0;
}
