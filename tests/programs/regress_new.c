/* Events are counted. With -DBAD each is also formatted for a log that nobody reads. */
#include <stdio.h>

static int counts[16];
__attribute__((unused)) static char line[256];

__attribute__((noipa)) void count_event(int kind)
{
    counts[kind % 16]++;
}

#ifdef BAD
__attribute__((noipa)) void format_field(int at, int value)
{
    snprintf(line + at, 32, "%08d %f", value, value / 3.0);
}

__attribute__((noipa)) void log_event(int kind)
{
    for (int field = 0; field < 8; field++)
        format_field(field * 24, kind + field);
}
#endif

__attribute__((noipa)) void handle_event(int kind)
{
    count_event(kind);
#ifdef BAD
    log_event(kind);
#endif
}

int main(void)
{
    for (int number = 0; number < 2000; number++)
        handle_event(number);
    return counts[3] == 0;
}
