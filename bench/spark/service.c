// A service for bench/spark: handles requests, in two versions (-DVERSION=1 or 2). The second looks things up by walking a
// list. With "leak", what requests took is never given back.
// Usage: service SEED REQUESTS [leak]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 16
static uint32_t keys[ENTRIES];
static uint64_t state;
static volatile uint64_t sink;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

__attribute__((noinline)) int compare_keys(uint32_t left, uint32_t right) {
    sink += left;
    return left == right;
}

__attribute__((noinline)) int parse_request(char *text) {
    int sum = 0;
    for (char *at = text; *at; at++) sum += *at;
    return sum;
}

#if VERSION == 1
__attribute__((noinline)) int look_up(uint32_t key) { return compare_keys(keys[key % ENTRIES], key); }
#else
__attribute__((noinline)) int look_up(uint32_t key) {
    int found = 0;
    for (int entry = 0; entry < ENTRIES; entry++) found += compare_keys(keys[entry], key);
    for (int round = 0; round < 2000; round++) sink += round;
    return found;
}
#endif

__attribute__((noinline)) char *render(int value) {
    char *page = malloc(64);
    snprintf(page, 64, "value %d", value);
    return page;
}

__attribute__((noinline)) void handle_request(uint32_t key, int is_leaking) {
    char text[32];
    snprintf(text, sizeof text, "GET /%u", key);
    char *page = render(parse_request(text) + look_up(key));
    sink += (unsigned char)page[0];
    if (!is_leaking) free(page);
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    state = 88172645463325252ull ^ strtoull(arguments[1], 0, 10) << 20;
    for (int entry = 0; entry < ENTRIES; entry++) keys[entry] = entry;
    long requests = atol(arguments[2]);
    int is_leaking = count > 3 && strcmp(arguments[3], "leak") == 0;
    for (long request = 0; request < requests; request++) handle_request(next_random() % 100000, is_leaking);
    return 0;
}
