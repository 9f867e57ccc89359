// As many processes as the first argument says, all alive at once, each with its own number of calls.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 2 + 1; }
__attribute__((noipa)) void be_one_of_many(long number, int here, int go) {
    volatile long sum = 0;
    for (long i = 0; i < 100 + number % 7; i++) sum += work(i);
    char byte = 0;
    if (write(here, &byte, 1) != 1 || read(go, &byte, 1) != 0) _exit(1);
    // Who has been quiet for long records on.
    for (long i = 0; i < 10; i++) sum += work(i);
    _exit(0);
}

int main(int argc, char **argv) {
    long count = atol(argv[argc - 1]), arrived = 0, well = 0;
    int here[2], go[2], status;
    char bytes[64];
    if (pipe(here) != 0 || pipe(go) != 0) return 2;
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) return 3;
        if (child == 0) {
            close(go[1]);
            be_one_of_many(i, here[1], go[0]);
        }
    }
    while (arrived < count) arrived += read(here[0], bytes, sizeof bytes);
    close(go[1]);
    while (wait(&status) > 0) well += status == 0;
    printf("%ld\n", well);
    return 0;
}
