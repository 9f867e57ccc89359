/* Two threads take two locks in opposite orders, and wait for each other until an alarm ends the program. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile long balance;

__attribute__((noinline)) void book(long amount)
{
    balance += amount;
}

__attribute__((noinline)) void transfer_money(void)
{
    pthread_mutex_lock(&accounts);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&journal);
    book(1);
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&accounts);
}

__attribute__((noinline)) void write_journal(void)
{
    pthread_mutex_lock(&journal);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&accounts);
    book(2);
    pthread_mutex_unlock(&accounts);
    pthread_mutex_unlock(&journal);
}

static void *clerk(void *unused)
{
    (void)unused;
    for (int n = 0; n < 50; n++) {
        pthread_mutex_lock(&accounts);
        book(n);
        pthread_mutex_unlock(&accounts);
    }
    transfer_money();
    return 0;
}

static void *auditor(void *unused)
{
    (void)unused;
    write_journal();
    return 0;
}

int main(void)
{
    pthread_t first, second;
    pthread_barrier_init(&both, 0, 2);
    alarm(1);
    pthread_create(&first, 0, clerk, 0);
    pthread_create(&second, 0, auditor, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
