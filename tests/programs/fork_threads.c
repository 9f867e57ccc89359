// Forks while four other threads are busy; each child makes calls of its own and ends.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int is_over;
__attribute__((noipa)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 7 + 1; }
__attribute__((noipa)) long in_child(long n) { return work(n) + work(n + 1); }
static void *busy(void *unused) {
    while (!is_over) {
        for (int i = 0; i < 100; i++) work(i);
        usleep(100);
    }
    return unused;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, busy, 0);
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) _exit((int)in_child(i) & 127);
        int status;
        waitpid(child, &status, 0);
        sum += WEXITSTATUS(status);
    }
    is_over = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("%d\n", sum);
    return 0;
}
