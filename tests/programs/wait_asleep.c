/* A convoy: four threads want one lock, and each sleeps for two milliseconds when it has it, or waits for input that never comes if the
   argument is "poll". The first one goes on only when all others wait, as the kernel says. Prints the lock, then each thread's id in
   the order in which they had it. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define MILLISECONDS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int ids[THREADS], is_taken, all_wait, turn;
static int order[THREADS], polls, pipe_ends[2];

/* Whether a thread waits for the lock: the system call that it is in, and its first argument. */
static int waits_for_lock(int id)
{
    char path[64], text[128] = "", expected[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", id);
    snprintf(expected, sizeof expected, "202 %p ", (void *)&lock);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (!fgets(text, sizeof text, file))
        text[0] = 0;
    fclose(file);
    return strncmp(text, expected, strlen(expected)) == 0;
}

__attribute__((noipa)) void rest(void)
{
    struct pollfd nothing = { .fd = pipe_ends[0], .events = POLLIN };
    if (polls)
        poll(&nothing, 1, MILLISECONDS);
    else
        usleep(1000 * MILLISECONDS);
}

__attribute__((noipa)) void work_with_lock(int number)
{
    pthread_mutex_lock(&lock);
    order[turn++] = ids[number];
    if (number == 0) {
        is_taken = 1;
        while (!all_wait)
            sched_yield();
    }
    rest();
    pthread_mutex_unlock(&lock);
}

static void *serve(void *number)
{
    int own = (int)(long)number;
    ids[own] = gettid();
    while (own > 0 && !is_taken)
        usleep(100);
    work_with_lock(own);
    return 0;
}

int main(int words, char **word)
{
    pthread_t all[THREADS];
    polls = words > 1 && strcmp(word[1], "poll") == 0;
    if (pipe(pipe_ends) != 0)
        return 2;
    for (long at = 0; at < THREADS; at++)
        pthread_create(&all[at], 0, serve, (void *)at);
    for (int at = 1; at < THREADS; at++)
        while (!ids[at] || !waits_for_lock(ids[at]))
            usleep(100);
    all_wait = 1;
    for (int at = 0; at < THREADS; at++)
        pthread_join(all[at], 0);
    printf("%p", (void *)&lock);
    for (int at = 0; at < THREADS; at++)
        printf(" %d", order[at]);
    printf("\n");
    return 0;
}
