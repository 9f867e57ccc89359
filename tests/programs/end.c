// Ends as the first argument says: an exit code, or a signal with a minus.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noipa)) int end(int how) {
    if (how < 0) kill(getpid(), -how);
    return how;
}

int main(int argc, char **argv) { return end(atoi(argv[argc - 1])); }
