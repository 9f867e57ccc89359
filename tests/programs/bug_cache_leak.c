/* A cache of 64 entries: who is thrown out is freed, its name is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char *name;
    char *body;
};

static struct entry *cache[64];

__attribute__((noipa)) struct entry *new_entry(const char *name)
{
    struct entry *entry = malloc(sizeof *entry);
    entry->name = strdup(name);
    entry->body = malloc(256);
    return entry;
}

__attribute__((noipa)) void evict(int slot)
{
    if (!cache[slot])
        return;
    free(cache[slot]->body);
    free(cache[slot]);
    cache[slot] = NULL;
}

__attribute__((noipa)) void look_up(int key)
{
    char name[32];
    snprintf(name, sizeof name, "/page/%d", key);
    struct entry *found = cache[key % 64];
    if (found && strcmp(found->name, name) == 0)
        return;
    evict(key % 64);
    cache[key % 64] = new_entry(name);
}

int main(void)
{
    for (int key = 0; key < 4000; key++)
        look_up(key * 37 % 1000);
    for (int slot = 0; slot < 64; slot++)
        evict(slot);
    return 0;
}
