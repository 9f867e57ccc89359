// Many calls, and now and then one that matters. Arguments: rounds, every how many of them a marked call comes, then
// perhaps "slow" or "signal"; or "wait" and a file: the marked call comes when the file is there.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int handled;

__attribute__((noipa)) int leaf(int n) { return n + 1; }
__attribute__((noipa)) int work(int n) { return leaf(n) + leaf(n + 1); }
__attribute__((noipa)) int marked(int n) { return leaf(n); }
__attribute__((noipa)) void nap(int milliseconds) {
    if (milliseconds) usleep(milliseconds * 1000);
}
__attribute__((noipa)) void on_signal(int signal) { handled += signal; }

static int rounds, every;

__attribute__((noipa)) void loop(void) {
    for (int n = 1; n <= rounds; n++) {
        work(n);
        if (every && n % every == 0) marked(n);
    }
}

static void *body(void *argument) {
    loop();
    return argument;
}

int main(int argc, char **argv) {
    const char *what = argc > 3 ? argv[3] : "";
    if (!strcmp(argv[1], "wait")) {
        printf("%d\n", getpid());
        fflush(stdout);
        while (access(argv[2], F_OK)) {
            work(1);
            usleep(1000);
        }
        return marked(7) != 8;
    }
    rounds = atoi(argv[1]);
    every = atoi(argv[2]);
    if (!strcmp(what, "threads")) {
        pthread_t threads[3];
        for (int n = 0; n < 3; n++) pthread_create(&threads[n], NULL, body, NULL);
        for (int n = 0; n < 3; n++) pthread_join(threads[n], NULL);
    } else {
        loop();
    }
    if (!strcmp(what, "slow")) {
        for (int n = 0; n < 10; n++) nap(0);
        nap(300);
        loop();
    }
    if (!strcmp(what, "signal")) {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    }
    if (!strcmp(what, "crash")) *(volatile int *)16 = 1;
    puts("done");
    return 0;
}
