/* People are sorted by name, and one of them has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct person {
    const char *name;
    int born;
};

__attribute__((noipa)) int compare_names(const void *left, const void *right)
{
    const struct person *a = left, *b = right;
    return strcmp(a->name, b->name);
}

__attribute__((noipa)) void load_people(struct person *people, int count)
{
    for (int at = 0; at < count; at++) {
        char *name = malloc(16);
        snprintf(name, 16, "n%d", (at * 7919) % 1000);
        people[at] = (struct person){ at == 617 ? NULL : name, 1900 + at % 100 };
    }
}

__attribute__((noipa)) void print_people(struct person *people, int count)
{
    qsort(people, count, sizeof *people, compare_names);
    for (int at = 0; at < count; at++)
        printf("%s %d\n", people[at].name, people[at].born);
}

int main(void)
{
    struct person *people = calloc(1000, sizeof *people);
    load_people(people, 1000);
    print_people(people, 1000);
    return 0;
}
