/* Lookups hit a small table, but for a few that search a long list from its beginning. */
#include <stdlib.h>

#define LONG 400000

static int *list;
static volatile long sink;

__attribute__((noinline)) int hit_table(int key)
{
    return key * 31;
}

__attribute__((noinline)) int search_list(int key)
{
    for (int round = 0; round < 8; round++)
        for (int at = 0; at < LONG; at++)
            if (list[at] == -key - round)
                sink += at;
    return key;
}

__attribute__((noinline)) int look_up(int key)
{
    return key % 500 == 499 ? search_list(key) : hit_table(key);
}

__attribute__((noinline)) void serve(int key)
{
    sink += look_up(key);
}

int main(void)
{
    list = calloc(LONG, sizeof *list);
    for (int key = 0; key < 3000; key++)
        serve(key);
    free(list);
    return 0;
}
