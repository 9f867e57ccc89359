/* A signal kills this program 800 ms after everything in it has begun to wait, or is about to. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *wait_for_ever(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&condition, &mutex);
    return nothing;
}

static void stand_still(void) {
    pthread_t thread;
    struct itimerval timer = {{0, 0}, {0, 800000}};
    pthread_create(&thread, 0, wait_for_ever, 0);
    setitimer(ITIMER_REAL, &timer, 0);
    pthread_join(thread, 0);
}

int main(int count, char **words) {
    (void)words;
    if (count > 1) {
        if (fork() == 0) {
            stand_still();
        }
        wait(0);
        return 0;
    }
    stand_still();
    return 0;
}
