// Recursion that ordinary shadow stacks have no room for: with signal handlers at all depths, some of them deep themselves, jumps out
// of it, a fork child, and threads. Says how often each function was called.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, INTERRUPTED = 40 };

static atomic_long handled, handled_deeply;
static jmp_buf out;

__attribute__((noipa)) static long down(long n) { return n == 0 ? 0 : down(n - 1) + 1; }
__attribute__((noipa)) static long wobble(long n) { return n == 0 ? 0 : wobble(n - 1) + down(3) - 2; }
__attribute__((noipa)) static long jumper(long n) {
    if (n == 0) longjmp(out, 1);
    return jumper(n - 1) + 1;
}

static void handler(int signal) { handled += 0 * signal + (down(50) == 50); }
static void deep_handler(int signal) { handled_deeply += 0 * signal + (down(40000) == 40000); }

static void every(long microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

static void *thread(void *levels) { return (void *)wobble((long)levels); }

// What the handler interrupts may be in the middle of anything.
static void *interrupted(void *none) {
    long calls = 0, before = handled_deeply;
    for (int i = 0; handled_deeply == before || i < 10; i++) calls += down(100 + i % 50) + 1;
    return (void *)(calls + (none != NULL));
}

int main(void) {
    signal(SIGPROF, handler);
    every(300);
    long wobbles = wobble(60000), jumps = 0;
    for (long n = 40000; n <= 60000; n += 5000) {
        if (!setjmp(out)) jumper(n);
        jumps += n + 1;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64L << 20);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], &attributes, thread, (void *)(34000 + i * 500));
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wobbles += (long)result;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(down(45000) == 45000 ? 7 : 1);
    int status;
    waitpid(child, &status, 0);
    every(0);
    signal(SIGPROF, deep_handler);
    every(4000);
    long downs = 0;
    for (int i = 0; i < INTERRUPTED; i++) {
        void *calls;
        pthread_create(&threads[0], NULL, interrupted, NULL);
        pthread_join(threads[0], &calls);
        downs += (long)calls;
    }
    every(0);
    long in_wobbles = wobbles * 4;
    fprintf(stderr, "wobble=%ld jumper=%ld handler=%ld deep_handler=%ld down=%ld\n", wobbles + 1 + THREADS, jumps,
            (long)handled, (long)handled_deeply,
            in_wobbles + downs + handled * 51 + handled_deeply * 40001 + 45001);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}
