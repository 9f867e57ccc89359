/* Reads the bytes of some of its own functions in a way that nobody can foresee: from /proc/self/mem. Hooks change them.

   The arguments say which functions matter, and what happens then: `alpha`, `beta`, both, or `hang` for a program that does not
   end if alpha has changed; `random` prints something else each time; `pair` minds only if both have changed. `sometimes FILE`
   minds alpha every other time, which it counts in the file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) int alpha(int x)
{
    __asm__ volatile("");
    return x * 3 + 1;
}

__attribute__((noinline)) int beta(int x)
{
    __asm__ volatile("");
    return x * 5 + 2;
}

/* The sum of a function's first bytes, as they are in memory. */
static unsigned sum(int (*function)(int))
{
    unsigned char bytes[8] = {0};
    unsigned result = 0;
    int memory = open("/proc/self/mem", O_RDONLY);
    if (memory < 0 || pread(memory, bytes, sizeof bytes, (off_t)function) != sizeof bytes)
        return 0;
    close(memory);
    for (unsigned i = 0; i < sizeof bytes; i++)
        result = result * 31 + bytes[i];
    return result;
}

/* What it is in the file: the linker has put the program's own code there. */
static unsigned sum_in_file(int (*function)(int))
{
    extern char __executable_start;
    unsigned char bytes[8] = {0};
    unsigned result = 0;
    int file = open("/proc/self/exe", O_RDONLY);
    if (file < 0 || pread(file, bytes, sizeof bytes, (char *)function - &__executable_start) != sizeof bytes)
        return 0;
    close(file);
    for (unsigned i = 0; i < sizeof bytes; i++)
        result = result * 31 + bytes[i];
    return result;
}

static int has_changed(int (*function)(int))
{
    return sum(function) != sum_in_file(function);
}

int main(int argc, char **argv)
{
    char line[100] = "";
    if (fgets(line, sizeof line, stdin))
        printf("read %s", line);
    printf("%d %d\n", alpha(argc), beta(argc));
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "alpha") && has_changed(alpha))
            printf("alpha has changed\n");
        if (!strcmp(argv[i], "beta") && has_changed(beta))
            return 7;
        if (!strcmp(argv[i], "pair") && has_changed(alpha) && has_changed(beta))
            return 8;
        if (!strcmp(argv[i], "hang") && has_changed(alpha))
            pause();
        if (!strcmp(argv[i], "sometimes") && i + 1 < argc) {
            int count = open(argv[i + 1], O_WRONLY | O_APPEND);
            if (write(count, "x", 1) == 1 && lseek(count, 0, SEEK_END) % 2 && has_changed(alpha))
                return 9;
        }
        if (!strcmp(argv[i], "random")) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            printf("%ld\n", now.tv_nsec);
        }
    }
    return 0;
}
