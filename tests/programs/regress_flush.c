/* Four threads write records. With -DBAD each record is followed by a pause, as a flush to a slow disk would be. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

__attribute__((noipa)) void pack_record(char *to, int number)
{
    memset(to, number, 64);
}

__attribute__((noipa)) void write_record(const char *record)
{
    char copy[64];
    memcpy(copy, record, sizeof copy);
#ifdef BAD
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
#endif
    __asm__ volatile("" ::"r"(copy) : "memory");
}

__attribute__((noipa)) void *writer(void *unused)
{
    char record[64];
    for (int number = 0; number < 100; number++) {
        pack_record(record, number);
        write_record(record);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    for (int at = 0; at < 4; at++)
        pthread_create(&threads[at], NULL, writer, NULL);
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
