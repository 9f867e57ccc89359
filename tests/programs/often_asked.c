// Asks for the same environment variable very often.
#include <stdlib.h>

__attribute__((noinline)) int ask(void) { return getenv("ADA_NOTHING") != NULL; }

int main(void) {
    int found = 0;
    for (int i = 0; i < 20000; i++)
        found += ask();
    return found;
}
