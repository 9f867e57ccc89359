/* Words go into a sorted array. With -DBAD there are eight times as many: all is called eight times as often, and each
   insertion moves eight times as much. */
#include <string.h>

#ifdef BAD
#define WORDS 8000
#else
#define WORDS 1000
#endif

struct word {
    unsigned key;
    char text[60];
};

static struct word words[WORDS];
static int count;
static unsigned seed = 7;

__attribute__((noipa)) unsigned next_word(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed;
}

__attribute__((noipa)) unsigned normalise(unsigned word)
{
    return word ^ word >> 16;
}

__attribute__((noipa)) int find_place(unsigned key)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (words[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__attribute__((noipa)) void insert(unsigned key)
{
    int place = find_place(key);
    for (int at = count; at > place; at--)
        words[at] = words[at - 1];
    words[place].key = key;
    count++;
}

int main(void)
{
    for (int number = 0; number < WORDS; number++)
        insert(normalise(next_word()));
    return 0;
}
