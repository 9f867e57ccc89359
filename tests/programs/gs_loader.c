/* Threads are busy while main loads the library in its argument, which uses the GS base. Then all of them use it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static long (*volatile kept)(long);

__attribute__((noipa)) long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static void *work(void *number)
{
    long sum = 0;
    while (!kept)
        fib(8);
    for (int i = 0; i < 1000; i++)
        sum += fib(8) * 0 + kept((long)number + i);
    return (void *)sum;
}

int main(int words, char **word)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    fib(20);
    void *library = dlopen(words > 1 ? word[1] : "", RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    long (*found)(long) = dlsym(library, "kept");
    printf("%ld\n", found(5) + fib(10));
    kept = found;
    for (int i = 0; i < 3; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%ld\n", (long)sum);
    }
    return 0;
}
