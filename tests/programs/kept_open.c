/* A loop of main, which is called once, opens what nobody closes, besides what it closes. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int read_one(int file) {
    char text[8];
    return (int)read(file, text, sizeof text);
}

int main(void) {
    int count = 0;
    for (int i = 0; i < 60; i++) {
        int closed = open("/etc/passwd", O_RDONLY);
        count += read_one(closed);
        close(closed);
        count += read_one(open("/etc/passwd", O_RDONLY));
    }
    printf("%d\n", count);
    return 0;
}
