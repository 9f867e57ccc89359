/* Reads its own code: copies a function and runs the copy, sums one up, looks at stubs of imports as Mono does, and runs code
   that is fenced off with traps by other means than the processor, as valgrind does. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((noinline)) long copied(long x)
{
    long sum = 0;
    for (long i = 0; i < x; i++)
        sum += i * i;
    return sum;
}

__attribute__((noinline)) long behind(long x)
{
    return x + 77;
}

/* Two imports with their numbers behind them, and what they lead to. */
__asm__(".text\n.type import1, @function\nimport1: jmp *target(%rip)\n.long 0x51\n.size import1, . - import1\n"
        ".type import2, @function\nimport2: jmp *target(%rip)\n.long 0x52\n.size import2, . - import2\n"
        /* A function for others, with an unwind entry. */
        ".rept 256\nud2\n.endr\n"
        ".type guest, @function\nguest: .cfi_startproc\n.byte 0x48, 0x8d, 0x47, 0x05\nret\n.cfi_endproc\n.size guest, . - guest\n"
        ".type guest2, @function\nguest2: .cfi_startproc\n.byte 0x48, 0x8d, 0x47, 0x06\nret\n.cfi_endproc\n.size guest2, . - guest2\n"
        ".rept 256\nud2\n.endr\n");
extern long import1(long), import2(long), guest(long), guest2(long);
long (*target)(long) = behind;
static long (*imports[])(long) = {import1, import2};
static long (*guests[])(long) = {guest, guest2};

/* Knows one instruction, lea rax, [rdi + n], and the one after it. */
static long interpret(const unsigned char *code, long argument)
{
    long result = 0;
    for (;; code += 4) {
        if (*code == 0xc3)
            return result;
        if (code[0] != 0x48 || code[1] != 0x8d || code[2] != 0x47) {
            printf("no such instruction: %x %x %x\n", code[0], code[1], code[2]);
            return 0;
        }
        result = argument + code[3];
    }
}

int main(void)
{
    unsigned char *copy = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, (void *)copied, 64);
    long sum = 0;
    for (int i = 0; i < 100; i++)
        sum += ((long (*)(long))copy)(i);
    printf("%ld %ld\n", sum, behind(1));
    unsigned hash = 0;
    for (volatile unsigned char *p = (void *)main; p < (unsigned char *)main + 32; p++)
        hash = hash * 31 + *p;
    printf("%u\n", hash);
    for (int i = 0; i < 2; i++) {
        unsigned char *code = (unsigned char *)imports[i];
        int number;
        memcpy(&number, code + 6, 4);
        printf("%x %x %x %ld\n", code[0], code[1], number, imports[i](i));
        printf("%ld\n", interpret((unsigned char *)guests[i], 10));
    }
    return 0;
}
