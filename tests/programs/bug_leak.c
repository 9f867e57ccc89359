/* Requests are parsed, answered and freed; one in two also leaves an entry in a list that nobody empties. */
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    char name[24];
};

static struct entry *history;
static volatile int sink;

__attribute__((noinline)) char *parse_request(int number)
{
    char *request = malloc(64);
    memset(request, 'a' + number % 26, 63);
    request[63] = 0;
    return request;
}

__attribute__((noinline)) void answer_request(const char *request)
{
    char *answer = malloc(128);
    strcpy(answer, request);
    sink += answer[3];
    free(answer);
}

__attribute__((noinline)) void remember_request(const char *request)
{
    struct entry *entry = malloc(sizeof *entry);
    memcpy(entry->name, request, sizeof entry->name);
    entry->next = history;
    history = entry;
}

__attribute__((noinline)) void finish_request(char *request)
{
    free(request);
}

int main(void)
{
    for (int number = 0; number < 2000; number++) {
        char *request = parse_request(number);
        answer_request(request);
        if (number % 2)
            remember_request(request);
        finish_request(request);
    }
    return sink == 0;
}
