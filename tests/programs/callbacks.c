// Functions that are called back: by the call that was handed them, later, by a signal, and on another thread.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static int sum;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
__attribute__((noipa)) int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noipa)) void initialise(void) { sum += 1; }
__attribute__((noipa)) void handler(int number) { sum += number; }
__attribute__((noipa)) void destroy(void *value) { sum += *(int *)value; }
__attribute__((noipa)) void at_exit(void) { printf("%d\n", sum); }
__attribute__((noipa)) void *body(void *value) {
    pthread_setspecific(key, value);
    return 0;
}

int main(void) {
    int numbers[] = {1, 3, 5, 7, 9, 11, 13, 15}, wanted = 13, value = 100;
    atexit(at_exit);
    signal(SIGUSR1, handler);
    pthread_once(&once, initialise);
    pthread_once(&once, initialise);
    int *found = bsearch(&wanted, numbers, 8, sizeof *numbers, compare);
    sum += *found;
    raise(SIGUSR1);
    raise(SIGUSR1);
    pthread_key_create(&key, destroy);
    pthread_t thread;
    pthread_create(&thread, 0, body, &value);
    pthread_join(thread, 0);
    return 0;
}
