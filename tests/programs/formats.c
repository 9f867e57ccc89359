// Writes formatted texts.
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char text[80];
    snprintf(text, sizeof text, "%s: %d of %.1f%%, %c", "name", -7, 2.5, 'x');
    snprintf(text, sizeof text, "%lu %#x %s", 5UL, 255, "far");
    snprintf(text, sizeof text, "%d %d %d %d", 1, 2, 3, 4);
    snprintf(text, sizeof text, "%1$d %1$d", 1);
    snprintf(text, sizeof text, "plain");
    snprintf(text, sizeof text, "%s", "more than the twenty-four bytes that are kept of it");
    return 0;
}
