// Threads of the C11 library, one of which leaves by thrd_exit.
#include <stdio.h>
#include <threads.h>

__attribute__((noipa)) int leave(int n) {
    if (n > 0) thrd_exit(n);
    return 0;
}
__attribute__((noipa)) int c11_body(void *number) { return leave((int)(long)number) + 3; }

int main(void) {
    thrd_t threads[2];
    int results[2];
    for (long i = 0; i < 2; i++) {
        thrd_create(&threads[i], c11_body, (void *)(i * 5));
        thrd_join(threads[i], &results[i]);
    }
    printf("%d %d\n", results[0], results[1]);
    return 0;
}
