/* A list is read by position. With -DBAD it no longer remembers where it was, and starts from its head each time. */
#include <stdlib.h>

struct track {
    struct track *next;
    int seconds;
};

static struct track *head, *last_read;
static int last_position;
static volatile int sink;

__attribute__((noipa)) void push(int seconds)
{
    struct track *track = malloc(sizeof *track);
    *track = (struct track){head, seconds};
    head = track;
}

__attribute__((noipa)) struct track *next_of(struct track *track)
{
    return track->next;
}

__attribute__((noipa)) struct track *at_position(int position)
{
    struct track *track = last_read;
    int at = last_position;
#ifdef BAD
    track = NULL;
#endif
    if (!track || at > position) {
        track = head;
        at = 0;
    }
    for (; at < position; at++)
        track = next_of(track);
    last_read = track;
    last_position = position;
    return track;
}

__attribute__((noipa)) int total(int count)
{
    int sum = 0;
    for (int position = 0; position < count; position++)
        sum += at_position(position)->seconds;
    return sum;
}

int main(void)
{
    for (int number = 0; number < 600; number++)
        push(number);
    sink = total(600) + total(600);
    return 0;
}
