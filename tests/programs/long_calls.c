// Functions that are entered when told to, and return when told to: frames that are open when ada comes and goes.
#include <stdio.h>
#include <string.h>

static char line[100];
static int step(const char *word) {
    while (fgets(line, sizeof line, stdin)) {
        printf("%s", line);
        fflush(stdout);
        if (strncmp(line, word, strlen(word)) == 0) return 1;
    }
    return 0;
}
__attribute__((noipa)) static int innermost(int n) { return step("up") ? n + 1 : 0; }
__attribute__((noipa)) static int nested(int depth) { return depth == 0 ? innermost(0) : nested(depth - 1) + 1; }

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    step("down");
    int sum = nested(10);
    step("down");
    sum += nested(20);
    printf("%d\n", sum);
    return sum;
}
