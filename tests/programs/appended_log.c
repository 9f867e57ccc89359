// Appends lines to a file that it opens and closes each time: the buffers, which printf makes and fclose frees, are no leak. With an
// argument it does not close the files, which is one.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int closes;

__attribute__((noipa)) void append(int number) {
    FILE *file = fopen("/dev/null", "a");
    if (!file) exit(1);
    fprintf(file, "%d\n", number);
    if (closes) fclose(file);
}

int main(int count, char **arguments) {
    (void)arguments;
    closes = count == 1;
    for (int number = 0; number < 600; number++) append(number);
    return 0;
}
