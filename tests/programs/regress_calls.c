/* Rows are looked up by key. With -DBAD each lookup normalises the key again for every row that it compares. */
#include <string.h>

static char keys[64][16];
static volatile int sink;

__attribute__((noipa)) void normalise(char *key)
{
    for (int round = 0; round < 20; round++)
        for (int at = 0; key[at]; at++)
            key[at] |= 0x20;
}

__attribute__((noipa)) int find_row(const char *wanted)
{
    char key[16];
    strcpy(key, wanted);
    normalise(key);
    for (int row = 0; row < 64; row++) {
#ifdef BAD
        normalise(key);
#endif
        if (!strcmp(keys[row], key))
            return row;
    }
    return -1;
}

__attribute__((noipa)) void answer(int number)
{
    sink += find_row(keys[number % 64]);
}

int main(void)
{
    for (int row = 0; row < 64; row++)
        for (int at = 0; at < 12; at++)
            keys[row][at] = 'a' + (row + at) % 26;
    for (int number = 0; number < 2000; number++)
        answer(number);
    return sink == 0;
}
