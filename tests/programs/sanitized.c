/* Threads, a heap, signals and a child: for builds whose runtime wants to know and to check all of the address space. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int total;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t signals;

static void count(int signal)
{
    (void)signal;
    signals++;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void *work(void *unused)
{
    (void)unused;
    int *numbers = malloc(2000 * sizeof *numbers);
    for (int i = 0; i < 2000; i++)
        numbers[i] = i * 7919 % 10007;
    qsort(numbers, 2000, sizeof *numbers, compare);
    pthread_mutex_lock(&mutex);
    total += numbers[5];
    pthread_mutex_unlock(&mutex);
    free(numbers);
    return 0;
}

int main(void)
{
    signal(SIGUSR1, count);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 50; i++)
        raise(SIGUSR1);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    char *copy = strdup("hello"), line[16] = "";
    printf("%d %d %s\n", total, (int)signals, copy);
    free(copy);
    FILE *child = popen("echo child", "r");
    fgets(line, sizeof line, child);
    printf("%s", line);
    pclose(child);
    return 11;
}
