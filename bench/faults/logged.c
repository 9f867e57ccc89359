// Calls that log themselves: what happened, by the program's own clock, in a file that survives whatever ends it.
//
//   logged LOG SECONDS SEED
//
// Four threads call functions that call each other at random. The caller notes the time before and after each call, in
// a record of its own. Each level is a function of its own, so that two calls of one function never nest on a thread.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, RECORDS = 1 << 18, LEVELS = 6 };

struct record {
    uint32_t tid, level;
    uint64_t before, after; // 0: not yet
};

struct log {
    volatile uint64_t used;
    struct record records[RECORDS];
};

static struct log *logs;
static uint64_t end;

static inline __attribute__((always_inline)) uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

struct worker {
    struct log *log;
    uint32_t tid;
    uint64_t random;
};

static inline __attribute__((always_inline)) uint64_t next(struct worker *it) {
    it->random = it->random * 6364136223846793005u + 1442695040888963407u;
    return it->random >> 33;
}

static void level0(struct worker *it);
static void level1(struct worker *it);
static void level2(struct worker *it);
static void level3(struct worker *it);
static void level4(struct worker *it);
static void level5(struct worker *it);
static void (*const levels[LEVELS])(struct worker *) = {level0, level1, level2, level3, level4, level5};

static inline __attribute__((always_inline)) void call(struct worker *it, uint32_t level) {
    if (level >= LEVELS || it->log->used >= RECORDS) return;
    struct record *record = &it->log->records[it->log->used];
    *record = (struct record){it->tid, level, now(), 0};
    it->log->used++;
    levels[level](it);
    record->after = now();
}

#define LEVEL(n) \
    static __attribute__((noipa)) void level##n(struct worker *it) { \
        uint64_t calls = next(it) % 4; \
        for (uint64_t one = 0; one < calls; one++) call(it, n + 1); \
        if (next(it) % 512 == 0) usleep(200); \
    }
LEVEL(0)
LEVEL(1)
LEVEL(2)
LEVEL(3)
LEVEL(4)
LEVEL(5)

static void *work(void *argument) {
    struct worker *it = argument;
    it->tid = (uint32_t)syscall(SYS_gettid);
    while (now() < end) call(it, 0);
    if (it->random & 1) pthread_exit(NULL);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, THREADS * sizeof(struct log)) != 0) return 3;
    logs = mmap(NULL, THREADS * sizeof(struct log), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (logs == MAP_FAILED) return 3;
    end = now() + (uint64_t)(atof(argv[2]) * 1e9);
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++) {
        workers[n] = (struct worker){&logs[n], 0, strtoull(argv[3], NULL, 10) * 4 + (uint64_t)n};
        pthread_create(&threads[n], NULL, work, &workers[n]);
    }
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    puts("done");
    return 0;
}
