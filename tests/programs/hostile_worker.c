// A master that calls, loads a library and calls again, and a worker that has given up its rights. The worker writes over everything
// of a memfd that it can make writable, and at random over the memory that it shares with others, before and while its
// master works. What it runs itself is gone then, so that it only makes system calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

struct part { char *start, *end; int is_rings; };
static struct part parts[256];
static int part_count;

__attribute__((noinline)) static int work(int n) { return n < 2 ? n : work(n - 1) + work(n - 2); }

static inline long system_call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

static void find_parts(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[600], rights[8];
    unsigned long start, end;
    while (part_count < 256 && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && strstr(line, "/memfd:"))
            parts[part_count++] = (struct part){(char *)start, (char *)end, rights[1] == 'w'};
    }
    fclose(maps);
}

static void destroy(int said) {
    unsigned long random = 88172645463325252UL;
    for (int number = 0; number < part_count; number++) {
        struct part part = parts[number];
        if (part.is_rings) continue;
        if (system_call(SYS_mprotect, (long)part.start, part.end - part.start, PROT_READ | PROT_WRITE | PROT_EXEC)) continue;
        for (char *at = part.start; at < part.end; at++) *(volatile char *)at = (char)0xcc;
    }
    for (int round = 0;; round++) {
        for (int number = 0; number < part_count; number++) {
            struct part part = parts[number];
            if (!part.is_rings) continue;
            for (int words = 0; words < 64; words++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                ((volatile unsigned *)part.start)[(random >> 20) % 0x10000] = (unsigned)random;
            }
        }
        if (round == 20) system_call(SYS_write, said, (long)"x", 1);
        struct { long seconds, nanoseconds; } time = {0, 1000000};
        system_call(SYS_nanosleep, (long)&time, 0, 0);
    }
}

int main(void) {
    int said[2];
    long sum = work(15);
    if (pipe(said)) return 2;
    pid_t worker = fork();
    if (worker == 0) {
        find_parts();
        if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)) _exit(3);
        // Alone there is nothing to write to, and nothing that would be hurt.
        destroy(said[1]);
    }
    char byte;
    if (worker < 0 || read(said[0], &byte, 1) != 1) return 4;
    for (int round = 0; round < 200; round++) sum += work(15);
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    for (int round = 0; round < 200; round++) sum += work(15);
    kill(worker, SIGKILL);
    waitpid(worker, 0, 0);
    printf("%ld %s\n", sum, library ? "loaded" : "not loaded");
    return 0;
}
