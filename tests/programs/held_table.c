/* No leak: a table is read, then used until the end, when nobody bothers to free it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    char key[16];
};

static struct entry *table[64];
static long hits;

__attribute__((noipa)) void put(int number)
{
    struct entry *entry = malloc(sizeof *entry);
    snprintf(entry->key, sizeof entry->key, "k%d", number);
    entry->next = table[number % 64];
    table[number % 64] = entry;
}

__attribute__((noipa)) int get(const char *key, int number)
{
    for (struct entry *entry = table[number % 64]; entry; entry = entry->next)
        if (strcmp(entry->key, key) == 0)
            return 1;
    return 0;
}

__attribute__((noipa)) char *make_key(int number)
{
    char *key = malloc(16);
    snprintf(key, 16, "k%d", number);
    return key;
}

__attribute__((noipa)) void use(int number)
{
    char *key = make_key(number);
    hits += get(key, number);
    free(key);
}

int main(void)
{
    for (int number = 0; number < 1500; number++)
        put(number);
    for (int number = 0; number < 5000; number++)
        use(number);
    return hits == 0;
}
