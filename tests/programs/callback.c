// A function of the program that libc calls, and libc functions that take many and odd arguments.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int comparisons;
__attribute__((noipa)) int compare(const void *a, const void *b) {
    comparisons++;
    return *(const int *)a - *(const int *)b;
}
struct big { long words[9]; };
__attribute__((noipa)) struct big make(long a, long b, long c, long d, long e, long f, long g, long h, double x) {
    struct big big = {{a, b, c, d, e, f, g, h, (long)x}};
    return big;
}
__attribute__((noipa)) double mix(double a, float b, long double c, int d, ...) {
    va_list list;
    va_start(list, d);
    double sum = a + b + (double)c;
    while (d--) sum += va_arg(list, double);
    va_end(list);
    return sum;
}
__attribute__((noipa)) long double extended(long double x) { return x * x + 1; }
__attribute__((noipa)) double _Complex complex_number(double x) { return x + 2.0i * x; }

int main(void) {
    int numbers[100];
    for (int i = 0; i < 100; i++) numbers[i] = i * 7919 % 101;
    qsort(numbers, 100, sizeof *numbers, compare);
    struct big big = make(1, 2, 3, 4, 5, 6, 7, 8, 9.5);
    double _Complex z = complex_number(1.5);
    printf("%d %d %ld %ld %g %Lg %g %g %.3f\n", numbers[0], numbers[99], big.words[7], big.words[8],
           mix(1, 2, 3, 3, 4.0, 5.0, 6.0), extended(3), __real__ z, __imag__ z, sin(numbers[50]));
    fprintf(stderr, "comparisons=%d\n", comparisons);
    return 0;
}
