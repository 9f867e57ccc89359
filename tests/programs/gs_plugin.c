/* A library that keeps values of its own at the GS base of each thread that calls it. Compiled with -mfsgsbase. */
#include <immintrin.h>

static __thread long block[2];

static long second(void)
{
    long value;
    __asm__ volatile("mov %%gs:8, %0" : "=r"(value));
    return value;
}

__attribute__((constructor)) static void begin(void)
{
    block[1] = 7;
    _writegsbase_u64((unsigned long)block);
}

long kept(long value)
{
    block[1] = value;
    _writegsbase_u64((unsigned long)block);
    return second();
}
