/* Asks for memory at fixed addresses, low and high, as sanitizers, collectors and emulators do, and for none twice. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

#define MIB (1UL << 20)

static int is_free(unsigned long address)
{
    void *at = mmap((void *)address, MIB, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    return at == (void *)address;
}

int main(void)
{
    /* Where programs and loaders are by themselves is left out. */
    for (unsigned long terabyte = 1; terabyte < 0x54; terabyte++)
        if (!is_free(terabyte << 40))
            printf("%#lx is taken\n", terabyte << 40);
    for (unsigned long terabyte = 0x57; terabyte < 0x7e; terabyte++)
        if (!is_free(terabyte << 40))
            printf("%#lx is taken\n", terabyte << 40);
    static const unsigned long others[] = {0x10000, 0x7fff8000, 0xc000000000, 0x10007fff8000, 0x7ff000000};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        printf("%#lx %d\n", others[i], is_free(others[i]));
    void *large = mmap(0, 1UL << 45, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("32 TiB %d\n", large != MAP_FAILED);
    return 0;
}
