/* Shapes have an area that is expensive to compute, and kept. With -DBAD nobody looks at what is kept. */
static double areas[8];
static volatile double sink;

__attribute__((noipa)) double compute_area(int shape)
{
    double sum = 0;
    for (volatile int step = 1; step < 4000; step++)
        sum += 1.0 / (shape + step);
    return sum;
}

#ifndef BAD
__attribute__((noipa)) int is_known(int shape)
{
    return areas[shape] != 0;
}
#endif

__attribute__((noipa)) double area_of(int shape)
{
#ifdef BAD
    areas[shape] = compute_area(shape);
#else
    if (!is_known(shape))
        areas[shape] = compute_area(shape);
#endif
    return areas[shape];
}

int main(void)
{
    for (int number = 0; number < 1000; number++)
        sink += area_of(number % 8);
    return 0;
}
