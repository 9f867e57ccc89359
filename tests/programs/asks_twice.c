// Asks for two lines, one after the other, and repeats them.
#include <stdio.h>

__attribute__((noipa)) static int repeat(const char *question) {
    char line[100];
    printf("%s?\n", question);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    printf("got %s", line);
    fflush(stdout);
    return 0;
}

int main(void) { return repeat("first") + repeat("second") == 0 ? 7 : 1; }
