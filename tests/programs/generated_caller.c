// Code that is generated at run time calls a function of the program, as a just-in-time compiler's does.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int sum;
__attribute__((noipa)) void leaf(int n) { sum += n; }
__attribute__((noipa)) void work(int n) {
    leaf(n);
    leaf(n);
}

// void calls(long count, void (*function)(int)) { do function(1); while (--count); }
static const unsigned char code[] = {
    0x53, 0x55, 0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xfb, 0x48, 0x89, 0xf5, 0xbf, 0x01, 0x00, 0x00,
    0x00, 0xff, 0xd5, 0x48, 0xff, 0xcb, 0x75, 0xf4, 0x48, 0x83, 0xc4, 0x08, 0x5d, 0x5b, 0xc3,
};

__attribute__((noipa)) void around(void (*calls)(long, void (*)(int))) { calls(100, work); }

int main(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    memcpy(page, code, sizeof code);
    around((void (*)(long, void (*)(int)))page);
    work(1);
    printf("%d\n", sum);
    return 0;
}
