// Calls functions that fail by themselves on addresses where there is nothing, with many such addresses. Says how many failed so.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static char *volatile moving;
static volatile int is_done;

// Memory that comes and goes while others read it.
static void *map_and_unmap(void *unused) {
    (void)unused;
    while (!is_done) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            exit(3);
        page[0] = '/';
        moving = page;
        munmap(page, 4096);
    }
    return NULL;
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 1000, failed = 0;
    uint64_t seed = 88172645463325252;
    char *guarded = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    if (guarded == MAP_FAILED || mprotect(guarded + 4096, 4096, PROT_NONE) != 0)
        return 3;
    for (int i = 0; i < 4096; i++)
        guarded[i] = 'g';
    pthread_create(&thread, NULL, map_and_unmap, NULL);
    for (long i = 0; i < count; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint64_t address;
        switch (i % 6) {
        case 0: address = seed; break;                              // anywhere, mostly not canonical
        case 1: address = seed & 0x7fffffffffff; break;             // anywhere in user space
        case 2: address = seed & 0xffff; break;                     // near null
        case 3: address = (uint64_t)guarded + 4096 - seed % 64; break; // a text that runs into a guard page
        case 4: address = (uint64_t)moving; break;                  // unmapped meanwhile, perhaps
        default: address = 0xffffffff80000000 | (seed & 0xffffff);  // the kernel's
        }
        errno = 0;
        int result = i & 1 ? access((const char *)address, R_OK) : open((const char *)address, O_RDONLY);
        if (i % 7 == 0)
            result = connect(-1, (const struct sockaddr *)address, (socklen_t)(seed >> 33));
        failed += result < 0 && errno != 0;
    }
    is_done = 1;
    pthread_join(thread, NULL);
    printf("%ld of %ld failed\n", failed, count);
    return 0;
}
