/* The main thread waits for a worker's end with the lock that the worker needs to get there. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs_done;

__attribute__((noipa)) void publish_result(void)
{
    pthread_mutex_lock(&state_lock);
    jobs_done++;
    pthread_mutex_unlock(&state_lock);
}

__attribute__((noipa)) void *do_job(void *unused)
{
    usleep(20000);
    publish_result();
    return unused;
}

__attribute__((noipa)) void stop_worker(pthread_t worker)
{
    pthread_mutex_lock(&state_lock);
    pthread_join(worker, NULL);
    pthread_mutex_unlock(&state_lock);
}

int main(void)
{
    pthread_t worker;
    alarm(2);
    pthread_create(&worker, NULL, do_job, NULL);
    stop_worker(worker);
    return 0;
}
