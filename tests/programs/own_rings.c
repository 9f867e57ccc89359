// A master of root and a worker with two threads that has given up its rights, both of which call and count what they call. The
// worker says whether it still sees anything of its master's in memory that both have mapped; with "scribble", it writes over all of
// that, and so over what it has recorded itself; with "forge", it says that its chunks are its master's.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct part { char *start, *end; unsigned long inode; };
static struct part rings;
static volatile int is_over;
static long thread_steps;

__attribute__((noipa)) long master_step(long n) { return n * 3 + 1; }
__attribute__((noipa)) long worker_step(long n) { return n * 5 + 1; }
__attribute__((noipa)) long thread_step(long n) { return n * 7 + 1; }

static inline long system_call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

// The first memfd that can be written to.
static struct part find_rings(void) {
    struct part found = {0};
    FILE *maps = fopen("/proc/thread-self/maps", "r");
    char line[600], rights[8];
    unsigned long start, end, inode;
    while (maps && !found.start && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, rights, &inode) == 4 && strstr(line, "/memfd:") && rights[1] == 'w')
            found = (struct part){(char *)start, (char *)end, inode};
    }
    if (maps) fclose(maps);
    return found;
}

static void *thread_main(void *unused) {
    while (!is_over) thread_steps += thread_step(1) == 8;
    return unused;
}

// Every chunk has the number of its process in its header, in its last KiB.
static int chunks_of(int process, struct part part) {
    int count = 0;
    for (char *chunk = part.start; chunk < part.end; chunk += 0x40000) count += *(int *)(chunk + 0x40000 - 1024) == process;
    return count;
}

__attribute__((noipa)) static int worker(int process, const char *deed, int said) {
    struct part before = find_rings();
    pthread_t thread;
    if (pthread_create(&thread, 0, thread_main, 0)) return 4;
    if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)) return 5;
    // Some calls in the old rings, and many in the new.
    long steps = 0;
    double until = now() + 10;
    do {
        rings = find_rings();
        for (int call = 0; call < 2000; call++) steps += worker_step(1) == 6;
    } while (before.start && rings.inode == before.inode && now() < until);
    for (int call = 0; call < 50000; call++) steps += worker_step(1) == 6;
    is_over = 1;
    pthread_join(thread, 0);
    const char *kind = !before.start ? "no" : rings.inode == before.inode ? "its master's" : "its own";
    char line[200];
    int seen = rings.start ? chunks_of(process, rings) : 0;
    int length = snprintf(line, sizeof line, "%s rings, %d of its master's chunks\n", kind, seen);
    if (write(said, line, length) != length) return 6;
    fprintf(stderr, "worker=%ld thread=%ld\n", steps, thread_steps);
    if (!strcmp(deed, "forge")) {
        double forged_until = now() + 0.2;
        while (now() < forged_until) {
            for (char *chunk = rings.start; chunk < rings.end; chunk += 0x40000) {
                int *owner = (int *)(chunk + 0x40000 - 1024);
                if (*owner == getpid()) *owner = process;
            }
            for (int call = 0; call < 2000; call++) worker_step(1);
        }
    }
    if (!strcmp(deed, "scribble") && rings.start) {
        for (int round = 0; round < 20; round++) {
            for (char *at = rings.start; at < rings.end; at += 8) *(volatile long *)at = -1;
            struct { long seconds, nanoseconds; } time = {0, 5000000};
            system_call(SYS_nanosleep, (long)&time, 0, 0);
        }
        system_call(SYS_exit_group, 0, 0, 0);
    }
    return 0;
}

int main(int count, char **arguments) {
    int said[2], process = getpid(), status;
    const char *deed = count > 1 ? arguments[1] : "";
    long steps = 0;
    for (int call = 0; call < 1000; call++) steps += master_step(1) == 4;
    if (pipe(said)) return 2;
    pid_t child = fork();
    if (child == 0) exit(worker(process, deed, said[1]));
    close(said[1]);
    // Until the worker has ended, so that it finds something to write over.
    while (waitpid(child, &status, WNOHANG) == 0) {
        for (int call = 0; call < 500; call++) steps += master_step(1) == 4;
        usleep(2000);
    }
    char line[200] = "";
    if (read(said[0], line, sizeof line - 1) <= 0) strcpy(line, "nothing\n");
    fprintf(stderr, "master=%ld\n", steps);
    fputs(line, stdout);
    return status != 0;
}
