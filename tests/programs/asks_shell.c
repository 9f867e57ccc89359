// Has the shell run each line of its input, and says the first line of what that says.
#include <stdio.h>

int main(void) {
    char line[200], answer[200];
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        FILE *command = popen(line, "r");
        if (!command || !fgets(answer, sizeof answer, command)) return 1;
        pclose(command);
        fputs(answer, stdout);
        fflush(stdout);
    }
    return 0;
}
