/* Six threads serve requests, and hold one lock for all of each. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;

__attribute__((noipa)) void update_index(int steps)
{
    for (volatile int step = 0; step < steps; step++)
        sum += step;
}

__attribute__((noipa)) void handle_request(void)
{
    pthread_mutex_lock(&lock);
    update_index(60000);
    pthread_mutex_unlock(&lock);
}

__attribute__((noipa)) void *serve(void *unused)
{
    for (int request = 0; request < 60; request++)
        handle_request();
    return unused;
}

int main(void)
{
    pthread_t threads[6];
    for (int at = 0; at < 6; at++)
        pthread_create(&threads[at], NULL, serve, NULL);
    for (int at = 0; at < 6; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
