// Calls functions that look at nothing with random addresses: null, small, unmapped, in the kernel, unaligned, at the end of mapped
// memory, around the program's constants, on its stack and behind the end of that, in memory that another thread maps and unmaps,
// without leave to read, in a text of 2 GB that never ends, and, in the second half of the calls, in a page that is missing and that a
// userfaultfd would have to bring, which nobody answers.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct node { const char *name; struct node *next; double weight; int kind; char tag[12]; };

#define KEPT __attribute__((noinline))
#define LOOKED_AT(value) __asm__ volatile("" : : "r"(value) : "memory")

static char *volatile moving;
static volatile int is_done;
static const char constant[] = "a constant of the program";

KEPT int text(const char *text) { LOOKED_AT(text); return 1; }
KEPT int node(const struct node *node, int n) { LOOKED_AT(node); LOOKED_AT(n); return 1; }
KEPT int number(const long *number, const char *name) { LOOKED_AT(number); LOOKED_AT(name); return 1; }
KEPT const char *result(uintptr_t address) { LOOKED_AT(address); return (const char *)address; }

static void *map_and_unmap(void *unused) {
    (void)unused;
    while (!is_done) {
        char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            exit(3);
        pages[0] = 'x';
        moving = pages;
        munmap(pages, 8192);
    }
    return NULL;
}

// A page that nobody will bring; as any other where that is not allowed.
static char *watched_page(void) {
    struct uffdio_api api = {.api = UFFD_API};
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register missing = {.range = {(uintptr_t)page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &missing) != 0)
        fputs("no userfaultfd\n", stderr);
    return page;
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 1000000, calls = 0;
    uint64_t seed = 88172645463325252;
    pthread_t thread;
    char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *watched = NULL;
    char *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *endless = mmap(NULL, 2UL << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (edge == MAP_FAILED || closed == MAP_FAILED || endless == MAP_FAILED || munmap(edge + 4096, 4096) != 0)
        return 3;
    for (int i = 0; i < 4096; i++)
        edge[i] = 'e';
    pthread_create(&thread, NULL, map_and_unmap, NULL);
    for (long i = 0; i < count; i++) {
        if (i == count / 2)
            watched = watched_page();
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uintptr_t kinds[] = {0, seed % 4096, seed, seed >> 17, seed | 0xffff800000000000, (uintptr_t)edge + 4090 + seed % 8,
                             (uintptr_t)moving + seed % 9000, (uintptr_t)closed + seed % 4096, (uintptr_t)endless + seed % (2UL << 30),
                             (uintptr_t)&seed, UINTPTR_MAX - seed % 64, (uintptr_t)constant - 12288 + seed % 24576,
                             (uintptr_t)__builtin_frame_address(0) - 4096 + seed % (1 << 20), watched == NULL ? 0 : (uintptr_t)watched + seed % 4096};
        uintptr_t address = kinds[seed % (sizeof kinds / sizeof *kinds)];
        switch (i % 4) {
        case 0: calls += text((const char *)address); break;
        case 1: calls += node((const struct node *)address, (int)i); break;
        case 2: calls += number((const long *)address, (const char *)(address ^ 0x30)); break;
        default: calls += result(address) == (const char *)address;
        }
    }
    is_done = 1;
    pthread_join(thread, NULL);
    printf("%ld calls\n", calls);
    return 0;
}
