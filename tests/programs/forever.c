// Calls `step` so often as the first argument says, tells so, and then does what the second says: "wait" for ever, or
// "file": go on until the file that the third names is there, and say how the sums came out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noipa)) long step(long n) { __asm__ volatile("" : "+r"(n)); return n * 5 + 1; }
__attribute__((noipa)) void told(void) { puts("ready"); fflush(stdout); }

int main(int argc, char **argv) {
    long sum = 0, count = atol(argv[1]);
    for (long i = 0; i < count; i++) sum += step(i);
    told();
    if (argc > 3 && strcmp(argv[2], "file") == 0) {
        while (access(argv[3], F_OK) != 0) {
            long sum = 0;
            for (long i = 0; i < 1000; i++) sum += step(i);
            if (sum != 2498500) return 1;
            usleep(1000);
        }
        printf("%ld\n", sum);
        return 0;
    }
    for (;;) pause();
}
