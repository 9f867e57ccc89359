/* Functions that end in a call through a table: of functions, of structures, within another object, and with a stack frame that is
   gone by then. `cases` has a switch beside it, whose table leads back into the function. Compiled with -foptimize-sibling-calls. */
#include <stdio.h>

struct file {
    int kind;
    long size;
    struct methods *methods;
};
struct methods {
    void *unused;
    long (*read)(struct file *file, long count);
    long (*all[3])(struct file *file, long count);
};

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

static volatile long sink;
APART static long one(struct file *file, long count) { return file->size + count; }
APART static long two(struct file *file, long count) { return file->size - count; }
APART static long three(struct file *file, long count) { return file->size ^ count; }
APART static void note(long count) { sink += count; }

struct methods methods[3] = {{0, one, {one, two, three}}, {0, two, {two, three, one}}, {0, three, {three, one, two}}};
long (*plain[3])(struct file *, long) = {one, two, three};

APART long by_function(struct file *file, long count) { return plain[file->kind](file, count); }
APART long by_structure(struct file *file, long count) { return methods[file->kind].read(file, count); }
APART long by_object(struct file *file, long count) { return file->methods->all[file->kind](file, count); }
APART long with_frame(struct file *file, long count)
{
    note(count);
    note(file->size);
    return methods[file->kind].read(file, count);
}
APART long cases(struct file *file, long count)
{
    switch (count % 8) {
    case 0: sink += 3; break;
    case 1: sink ^= 5; break;
    case 2: sink -= 7; break;
    case 3: sink *= 3; break;
    case 4: sink += 11; break;
    case 5: sink ^= 13; break;
    case 6: return sink;
    }
    return count;
}
/* Each case ends in such a call, after the frame is gone. */
APART long by_case(struct file *file, long count, long number)
{
    note(count);
    switch (count % 6) {
    case 0: return methods[number].read(file, count);
    case 1: return methods[number].all[0](file, count + 1);
    case 2: return methods[number].all[1](file, count + 2);
    case 3: return methods[number].all[2](file, count + 3);
    case 4: return methods[2 - number].read(file, count + 4);
    default: return methods[2 - number].all[0](file, count + 5);
    }
}

int main(void)
{
    long sum = 0;
    for (int count = 0; count < 300; count++) {
        struct file file = {count % 3, 1000, &methods[count % 3]};
        sum = sum * 31 + by_function(&file, count) + by_structure(&file, count) + by_object(&file, count);
        sum += with_frame(&file, count) + cases(&file, count) + by_case(&file, count, count % 3);
    }
    printf("%ld %ld\n", sum, sink);
    return 0;
}
