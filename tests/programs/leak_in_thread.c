/* Jobs are handed to a worker, which frees them, and keeps the text that it makes of each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    int number;
    struct job *next;
};

static struct job *jobs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long letters;

__attribute__((noipa)) struct job *make_job(int number)
{
    struct job *job = malloc(sizeof *job);
    job->number = number;
    return job;
}

__attribute__((noipa)) char *render(int number)
{
    char *text = malloc(64);
    snprintf(text, 64, "job %d", number);
    return text;
}

__attribute__((noipa)) void handle(struct job *job)
{
    letters += strlen(render(job->number));
    free(job);
}

static void *work(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        struct job *job = jobs;
        if (job)
            jobs = job->next;
        pthread_mutex_unlock(&lock);
        if (!job)
            return unused;
        handle(job);
    }
}

int main(void)
{
    pthread_t worker;
    for (int number = 0; number < 400; number++) {
        struct job *job = make_job(number);
        job->next = jobs;
        jobs = job;
    }
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, NULL);
    return letters == 0;
}
