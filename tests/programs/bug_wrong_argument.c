/* Records are read by number. lseek is given its last two arguments in the wrong order, and its answer is not looked at. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORD 64

__attribute__((noipa)) int make_file(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char record[RECORD] = { 0 };
    for (int number = 0; number < 100; number++) {
        record[0] = (char)number;
        if (write(file, record, RECORD) != RECORD)
            exit(2);
    }
    return file;
}

__attribute__((noipa)) int read_record(int file, int number)
{
    char record[RECORD];
    lseek(file, SEEK_SET, number * RECORD);
    if (read(file, record, RECORD) != RECORD)
        return -1;
    return record[0];
}

int main(void)
{
    char path[] = "/tmp/recordsXXXXXX";
    close(mkstemp(path));
    int file = make_file(path), wrong = 0;
    for (int number = 1; number < 20; number++)
        wrong += read_record(file, number) != number;
    unlink(path);
    printf("%d wrong\n", wrong);
    return 0;
}
