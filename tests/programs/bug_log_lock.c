/* Workers compute side by side, but each line of the log is written to the disk with the log's lock held. */
#include <pthread.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;

/* Stands for fsync on a slow disk. */
__attribute__((noipa)) void flush_log(void)
{
    struct timespec pause = { 0, 2000000 };
    nanosleep(&pause, NULL);
}

__attribute__((noipa)) void log_line(const char *text)
{
    pthread_mutex_lock(&log_lock);
    sum += strlen(text);
    flush_log();
    pthread_mutex_unlock(&log_lock);
}

__attribute__((noipa)) long price_order(int order)
{
    volatile long price = 0;
    for (int step = 0; step < 20000; step++)
        price += step ^ order;
    return price;
}

__attribute__((noipa)) void *take_orders(void *unused)
{
    for (int order = 0; order < 40; order++) {
        sum += price_order(order);
        log_line("order taken");
    }
    return unused;
}

int main(void)
{
    pthread_t workers[4];
    for (int at = 0; at < 4; at++)
        pthread_create(&workers[at], NULL, take_orders, NULL);
    for (int at = 0; at < 4; at++)
        pthread_join(workers[at], NULL);
    return 0;
}
