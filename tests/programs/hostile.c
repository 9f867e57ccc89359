// Calls all the time, and writes into ada's shared memory what it is told to, a line at a time:
//
//   poke OFFSET BYTES VALUE           a word of 4 or 8 bytes
//   keep OFFSET BYTES VALUE           the same, again and again from now on
//   random OFFSET BYTES SEED          so many bytes at random, again and again from now on
//
// Once the memory is there it answers with a line. It says "ready" at first, and ends with its input.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct order { char what[16]; unsigned long offset, bytes, value; };

static struct order kept[64];
static int kept_count;
static char *volatile memory;

__attribute__((noinline)) static int work(int n) { return n < 2 ? n : work(n - 1) + work(n - 2); }

static char *find_memory(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[600];
    unsigned long start, offset;
    char rights[8];
    char *found = 0;
    while (!found && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%*x %7s %lx", &start, rights, &offset) == 3 && offset == 0 && rights[1] == 'w' &&
            strstr(line, "/memfd:"))
            found = (char *)start;
    }
    fclose(maps);
    return found;
}

static void carry_out(struct order *order) {
    char *at = memory + order->offset;
    if (strcmp(order->what, "random") == 0) {
        for (unsigned long word = 0; word < 64; word++) {
            order->value ^= order->value << 13, order->value ^= order->value >> 7, order->value ^= order->value << 17;
            *(volatile unsigned *)(at + (order->value >> 20) % order->bytes / 4 * 4) = (unsigned)order->value;
        }
    } else if (order->bytes == 4) {
        *(volatile unsigned *)at = (unsigned)order->value;
    } else {
        *(volatile unsigned long *)at = order->value;
    }
}

static void *calls(void *unused) {
    (void)unused;
    for (;;) {
        work(12);
        int count = __atomic_load_n(&kept_count, __ATOMIC_ACQUIRE);
        for (int number = 0; number < count && memory; number++) carry_out(&kept[number]);
        usleep(200);
    }
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, calls, 0);
    puts("ready");
    fflush(stdout);
    char line[200];
    while (fgets(line, sizeof line, stdin)) {
        struct order order = {{0}, 0, 0, 0};
        if (sscanf(line, "%15s %lu %lu %lu", order.what, &order.offset, &order.bytes, &order.value) < 4) continue;
        for (int tries = 0; !(memory = find_memory()); tries++) {
            if (tries == 20000) return 1;
            usleep(1000);
        }
        if (strcmp(order.what, "poke") == 0) {
            carry_out(&order);
        } else {
            kept[kept_count] = order;
            __atomic_fetch_add(&kept_count, 1, __ATOMIC_RELEASE);
        }
        puts("done");
        fflush(stdout);
    }
    // ada has taken its memory away by now, or it never will.
    _exit(0);
}
