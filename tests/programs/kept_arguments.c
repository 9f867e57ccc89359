/* main and a signal handler call one function, which leaves what it gives where its argument points. The handler comes thousands of times,
   anywhere in the calls of main. Writes to the file in its argument what each call has left, in the order of the calls, as
   "plain 0" or "handle 1". */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define SIGNALS 3000
#define MOST 1000000

static volatile long handled, called;
static unsigned char by_handler[SIGNALS], by_main[MOST];

__attribute__((noipa)) void handle(int signal)
{
    pthread_key_t key;
    if (handled == SIGNALS || pthread_key_create(&key, 0))
        return;
    by_handler[handled++] = key;
    pthread_key_delete(key);
}

__attribute__((noipa)) void plain(void)
{
    pthread_key_t key;
    if (pthread_key_create(&key, 0))
        exit(1);
    by_main[called++] = key;
    pthread_key_delete(key);
}

int main(int words, char **word)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    sigaction(SIGALRM, &action, 0);
    struct itimerval time = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &time, 0);
    while (handled < SIGNALS && called < MOST)
        plain();
    setitimer(ITIMER_REAL, &never, 0);
    FILE *log = fopen(word[1], "w");
    for (long at = 0; at < handled; at++)
        fprintf(log, "handle %d\n", by_handler[at]);
    for (long at = 0; at < called; at++)
        fprintf(log, "plain %d\n", by_main[at]);
    return fclose(log);
}
