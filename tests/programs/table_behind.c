/* Two functions that only their symbols tell of, and behind the second a table whose bytes read as a jump to the first one. GHC puts such
   tables in front of its functions. Prints the table. */
#include <stdio.h>

__asm__(".text\n"
        ".p2align 4\n"
        ".globl first\n"
        ".type first, @function\n"
        "first:\n"
        "    lea 1(%rdi), %rax\n"
        "    imul %rax, %rax\n"
        "    ret\n"
        ".size first, . - first\n"
        ".p2align 4\n"
        ".globl second\n"
        ".type second, @function\n"
        "second:\n"
        "    lea 1(%rdi), %rdi\n"
        "    .byte 0xe9\n"
        "    .long first - 3f\n"
        "3:\n"
        ".size second, . - second\n"
        ".p2align 3\n"
        ".globl table\n"
        "table:\n"
        "    .byte 0x71, first - 1f\n"
        "1:  .byte 0x70, table - 2f\n"
        "2:  .byte 0, 0, 0, 0\n"
        ".p2align 4\n"
        ".globl third\n"
        ".type third, @function\n"
        "third:\n"
        "    lea 3(%rdi), %rax\n"
        "    imul %rax, %rax\n"
        "    ret\n"
        ".size third, . - third\n");

long first(long), second(long), third(long);
extern const unsigned char table[8];

int main(void)
{
    printf("%ld %ld %ld\n", first(1), second(1), third(1));
    for (int at = 0; at < 8; at++)
        printf("%02x ", table[at]);
    puts("");
    return 0;
}
