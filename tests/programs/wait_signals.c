/* A thread waits for signals: first the main thread sends them to it, then a child process to the whole process. At last the main
   thread interrupts its sleep. Prints the process, the child, the main thread, the one that waits, and how many signals each sent. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EACH = 10 };

static volatile int got, waiter_id, is_over;
static sigset_t set;

__attribute__((noipa)) void await_signal(void)
{
    int signal;
    if (sigwait(&set, &signal) != 0)
        exit(3);
}

static void nothing(int signal) { (void)signal; }

__attribute__((noipa)) void sleep_long(void)
{
    struct timespec time = { .tv_sec = 60 };
    if (nanosleep(&time, 0) == 0)
        exit(4);
}

__attribute__((noipa)) void interrupt(pthread_t thread)
{
    pthread_kill(thread, SIGUSR2);
}

static void *waiter(void *unused)
{
    waiter_id = gettid();
    for (int at = 0; at < 2 * EACH; at++) {
        await_signal();
        got++;
    }
    sleep_long();
    is_over = 1;
    return unused;
}

/* Signals of one kind that nobody has taken yet are one. */
static void until(int count)
{
    while (got < count)
        usleep(200);
}

int main(void)
{
    pthread_t thread;
    struct sigaction action = { .sa_handler = nothing };
    sigaction(SIGUSR2, &action, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&thread, 0, waiter, 0);
    for (int at = 0; at < EACH; at++) {
        usleep(2000);
        pthread_kill(thread, SIGUSR1);
        until(at + 1);
    }
    pid_t child = fork();
    if (child == 0) {
        for (int at = 0; at < EACH; at++) {
            usleep(20000);
            kill(getppid(), SIGUSR1);
        }
        exit(0);
    }
    waitpid(child, 0, 0);
    until(2 * EACH);
    while (!is_over) {
        usleep(5000);
        interrupt(thread);
    }
    pthread_join(thread, 0);
    printf("%d %d %d %d %d\n", getpid(), child, getpid(), waiter_id, EACH);
    return 0;
}
