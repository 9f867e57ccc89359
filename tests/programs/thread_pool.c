// A pool of four threads that run a hundred jobs, each with a context of its own.
#include <pthread.h>
#include <stdio.h>

struct job { void (*run)(void *); void *context; };
static struct job queue[128];
static int head, tail, is_closed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long results[100];

__attribute__((noipa)) void square(void *context) { *(long *)context *= *(long *)context; }
__attribute__((noipa)) void submit(void (*run)(void *), void *context) {
    pthread_mutex_lock(&mutex);
    queue[tail++] = (struct job){run, context};
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}
__attribute__((noipa)) void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (head == tail && !is_closed) pthread_cond_wait(&changed, &mutex);
        if (head == tail) break;
        struct job job = queue[head++];
        pthread_mutex_unlock(&mutex);
        job.run(job.context);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, worker, 0);
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        results[i] = i;
        submit(square, &results[i]);
    }
    pthread_mutex_lock(&mutex);
    is_closed = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < 100; i++) sum += results[i];
    printf("%ld\n", sum);
    return 0;
}
