// A function that is slow once of forty times, for half a millisecond of a quarter of a second.
#include <stdio.h>
#include <time.h>

static volatile long sink;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}
__attribute__((noipa)) static void table_is_made(double seconds) {
    for (double end = now() + seconds; now() < end;) sink++;
}
__attribute__((noipa)) static void look_up(int number) {
    if (number == 7) table_is_made(0.0005);
    sink++;
}

int main(void) {
    for (int i = 0; i < 40; i++) look_up(i);
    table_is_made(0.25);
    printf("%d\n", sink > 0);
    return 0;
}
