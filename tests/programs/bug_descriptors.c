// One in three settings is empty, and who reads it forgets to close it. Two others do right: one closes in another function, one by fclose.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static int read_setting(int number) {
    int file = open(number % 3 ? "/etc/passwd" : "/dev/null", O_RDONLY);
    char text[16];
    ssize_t length = read(file, text, sizeof text);
    if (length <= 0)
        return 0;
    close(file);
    return 1;
}

__attribute__((noinline)) static int open_log(void) { return open("/dev/null", O_WRONLY); }

__attribute__((noinline)) static void write_log(int file) {
    FILE *stream = fdopen(file, "w");
    fputs("a line\n", stream);
    fclose(stream);
}

__attribute__((noinline)) static void *keep(int bytes) { return malloc(bytes); }

__attribute__((noinline)) static char *remember(int number) {
    char *kept = keep(100 + number % 2);
    kept[0] = number;
    return kept;
}

int main(void) {
    int empty = 0, kept = 0;
    for (int number = 0; number < 150; number++) {
        empty += !read_setting(number);
        write_log(open_log());
        char *note = remember(number);
        if (number % 5)
            free(note);
        else
            kept += 100 + number % 2;
    }
    printf("left open %d, bytes kept %d\n", empty, kept);
}
