/* Threads stand in line for a lock. Each prints, for each of its turns: its id, the turn's number among its own, that among all, and how
   many turns had begun when it asked for the lock. So whoever had the lock while it waited had one of the turns from the one before
   that number to the one before its own, which is the one that let go of the lock last. The arguments are the threads, their turns,
   and for how many microseconds each has the lock: it sleeps meanwhile, so that the others come and wait. With a fourth one all
   begin together. PROTOCOL can be given to the compiler: the lock is one that hands the priority of those that wait on. So can BEFORE_PAGE:
   so many bytes of the lock lie in one page, and the rest in the next; and READ_WRITE: it is a read-write lock, and taken to write. TYPE is the mutex's, and one that is recursive is taken twice; ROBUST makes one that tells who
   has died with it, and TIMED asks for it with a time limit that never comes. SPIN makes it one that threads spin for. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 64

struct turn {
    int number, asked;
};

#ifdef BEFORE_PAGE
static struct {
    char before[4096 - BEFORE_PAGE];
    pthread_mutex_t lock;
} pages __attribute__((aligned(4096)));
#define lock pages.lock
#elif defined(SPIN)
static pthread_spinlock_t lock;
#elif defined(READ_WRITE)
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
#else
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
#ifdef SPIN
#define TAKE pthread_spin_lock
#define LET_GO pthread_spin_unlock
#elif defined(READ_WRITE)
#define TAKE pthread_rwlock_wrlock
#define LET_GO pthread_rwlock_unlock
#elif defined(TIMED)
static int take_in_time(pthread_mutex_t *it)
{
    struct timespec never;
    clock_gettime(CLOCK_REALTIME, &never);
    never.tv_sec += 1000;
    return pthread_mutex_timedlock(it, &never);
}
#define TAKE take_in_time
#define LET_GO pthread_mutex_unlock
#else
#define TAKE pthread_mutex_lock
#define LET_GO pthread_mutex_unlock
#endif
#ifdef TYPE
static const int is_recursive = TYPE == PTHREAD_MUTEX_RECURSIVE;
#else
static const int is_recursive = 0;
#endif
static volatile int begun;
static pthread_barrier_t start;
static int together;
static int threads = 4, turns = 50, microseconds = 200;

__attribute__((noipa)) void take_turn(struct turn *turn)
{
    turn->asked = begun;
    TAKE(&lock);
    turn->number = begun++;
    if (is_recursive)
        TAKE(&lock);
    usleep(microseconds);
    if (is_recursive)
        LET_GO(&lock);
    LET_GO(&lock);
}

static void *serve(void *turns_of_thread)
{
    struct turn *own = turns_of_thread;
    int id = gettid();
    if (together)
        pthread_barrier_wait(&start);
    for (int turn = 0; turn < turns; turn++) {
        take_turn(&own[turn]);
        /* Who asks again at once gets the lock before the one that was woken. */
        usleep(50);
    }
    /* All at once, so that printing makes nobody wait. */
    static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&printing);
    for (int turn = 0; turn < turns; turn++)
        printf("%d %d %d %d\n", id, turn, own[turn].number, own[turn].asked);
    pthread_mutex_unlock(&printing);
    return 0;
}

int main(int words, char **word)
{
    pthread_t all[MOST_THREADS];
    if (words > 3)
        threads = atoi(word[1]), turns = atoi(word[2]), microseconds = atoi(word[3]);
    together = words > 4;
    if (threads > MOST_THREADS)
        return 2;
#if defined(PROTOCOL) || defined(TYPE) || defined(ROBUST)
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef PROTOCOL
    pthread_mutexattr_setprotocol(&attributes, PROTOCOL);
#endif
#ifdef TYPE
    pthread_mutexattr_settype(&attributes, TYPE);
#endif
#ifdef ROBUST
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
#endif
    pthread_mutex_init(&lock, &attributes);
#endif
#ifdef SPIN
    pthread_spin_init(&lock, 0);
#endif
    pthread_barrier_init(&start, 0, threads);
    for (int at = 0; at < threads; at++)
        pthread_create(&all[at], 0, serve, calloc(turns, sizeof(struct turn)));
    for (int at = 0; at < threads; at++)
        pthread_join(all[at], 0);
    return 0;
}
