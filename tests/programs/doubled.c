// Calls whose result is known from the argument, among so many others that events are lost.
#include <stdlib.h>

static volatile unsigned noise;

__attribute__((noipa)) void step(void)
{
    noise++;
}

__attribute__((noipa)) int doubled(int number)
{
    for (int i = number % 97; i >= 0; i--)
        step();
    return 2 * number;
}

int main(int count, char **arguments)
{
    int calls = count > 1 ? atoi(arguments[1]) : 100000;
    unsigned sum = 0;
    for (int i = 0; i < calls; i++)
        sum += doubled(i);
    return sum == 0;
}
