/* One function of each shape that discovery must tell apart. */
#include <stdio.h>

__attribute__((noinline)) static int leaf(int x) { return x * 3 + 1; }

__attribute__((noinline, cold)) static void complain(int x) { fprintf(stderr, "too large: %d\n", x); }

/* Saves registers, and so has several unwind rows. */
__attribute__((noinline)) int busy(int x) {
    int sum = 0;
    for (int i = 0; i < x; i++)
        sum += leaf(i) ^ leaf(sum);
    return sum;
}

/* Two names for one address. */
int alias_of_busy(int x) __attribute__((alias("busy")));
int __busy_internal(int x) __attribute__((weak, alias("busy")));

/* The compiler moves the unlikely half to `splits.cold`. */
__attribute__((noinline)) int splits(int x) {
    for (int i = 0; i < x; i++) {
        if (__builtin_expect(leaf(i) > 1000000, 0)) {
            complain(i);
            complain(i + x);
        }
    }
    return leaf(x) + 1;
}

/* Frame on rbp: the size of its locals is known only when it runs. */
__attribute__((noinline)) int grows(int n) {
    char room[n + 1];
    snprintf(room, n + 1, "%d", n);
    return room[0];
}

/* The loader calls `resolve_picked` to learn what `picked` is. */
static int picked_here(int x) { return x + 7; }
static int (*resolve_picked(void))(int) { return picked_here; }
int picked(int x) __attribute__((ifunc("resolve_picked")));

int main(int argc, char **argv) {
    (void)argv;
    return (busy(argc) + splits(argc) + grows(argc) + picked(argc) + alias_of_busy(argc)) & 127;
}
