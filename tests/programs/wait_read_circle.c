/* Threads that read a lock, and one that wants to write it, until an alarm ends the program. What the argument says:

   circle   one thread reads the lock and wants a mutex that the writer has
   upgrade  the writer reads the lock itself
   other    as circle, and a second thread reads the lock, which lets go of it in an hour
   gone     as other, but the first reader lets go of the lock before it wants the mutex

   Prints the ids of the writer and of the first reader, and the lock's and the mutex's addresses. In the last two nothing is for ever. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *way;
static int reader_id;
static sem_t reads, writes;

static int is(const char *name)
{
    return strcmp(way, name) == 0;
}

__attribute__((noipa)) void begin_to_read(void)
{
    pthread_rwlock_rdlock(&lock);
}

__attribute__((noipa)) void want_mutex(void)
{
    pthread_mutex_lock(&mutex);
}

__attribute__((noipa)) void want_to_write(void)
{
    pthread_rwlock_wrlock(&lock);
}

static void *read_first(void *nothing)
{
    reader_id = gettid();
    begin_to_read();
    sem_post(&reads);
    sem_wait(&writes);
    /* By now the writer waits. */
    usleep(300000);
    if (is("gone"))
        pthread_rwlock_unlock(&lock);
    want_mutex();
    return nothing;
}

static void *read_for_long(void *nothing)
{
    begin_to_read();
    sem_post(&reads);
    sleep(3600);
    pthread_rwlock_unlock(&lock);
    return nothing;
}

static void *write_all(void *nothing)
{
    pthread_mutex_lock(&mutex);
    if (is("upgrade"))
        begin_to_read();
    printf("%d %d %p %p\n", gettid(), is("upgrade") ? gettid() : reader_id, (void *)&lock, (void *)&mutex);
    fflush(stdout);
    sem_post(&writes);
    want_to_write();
    return nothing;
}

static void begin(pthread_t *thread, void *(*routine)(void *), int posts)
{
    pthread_create(thread, 0, routine, 0);
    while (posts-- > 0)
        sem_wait(&reads);
}

int main(int words, char **word)
{
    pthread_t threads[3];
    way = words > 1 ? word[1] : "circle";
    sem_init(&reads, 0, 0);
    sem_init(&writes, 0, 0);
    alarm(2);
    if (!is("upgrade"))
        begin(&threads[0], read_first, 1);
    if (is("other") || is("gone"))
        begin(&threads[1], read_for_long, 1);
    begin(&threads[2], write_all, 0);
    pthread_join(threads[2], 0);
    return 0;
}
