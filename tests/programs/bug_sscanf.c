/* A list of prices, read number by number. glibc's sscanf looks for the end of its whole text first, each time: the same
   mistake made a well-known game load for six minutes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef COUNT
#define COUNT 6000
#endif

__attribute__((noipa)) char *load_list(int count)
{
    char *text = malloc(count * 12 + 1), *end = text;
    for (int item = 0; item < count; item++)
        end += sprintf(end, "%d,", 100 + item * 7919 % 9900);
    return text;
}

__attribute__((noipa)) const char *next_price(const char *at, long *price)
{
#ifdef FIXED
    char *end;
    *price = strtol(at, &end, 10);
    return end + 1;
#else
    int length;
    if (sscanf(at, "%ld,%n", price, &length) != 1)
        return at + strlen(at);
    return at + length;
#endif
}

__attribute__((noipa)) long sum_prices(const char *text)
{
    long sum = 0, price;
    while (*text) {
        text = next_price(text, &price);
        sum += price;
    }
    return sum;
}

int main(void)
{
    char *text = load_list(COUNT);
    printf("sum: %ld\n", sum_prices(text));
    free(text);
    return 0;
}
