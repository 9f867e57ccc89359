/* Memory is taken and given back through wrappers. One of the two callers keeps what it gets. */
#include <stdlib.h>

static void *kept[3000];

__attribute__((noipa)) void *xmalloc(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        abort();
    return memory;
}

__attribute__((noipa)) void xfree(void *memory)
{
    free(memory);
}

__attribute__((noipa)) void borrow(void)
{
    xfree(xmalloc(32));
}

__attribute__((noipa)) void hoard(int at)
{
    kept[at] = xmalloc(32);
}

int main(void)
{
    for (int at = 0; at < 3000; at++) {
        borrow();
        hoard(at);
    }
    return kept[7] == NULL;
}
