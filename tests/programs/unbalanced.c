// Takes more than it gives back: files and memory, but not folders and locks.
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *volatile kept[1000];

int main(void) {
    for (int i = 0; i < 20; i++) {
        FILE *file = fopen("/dev/null", "r");
        if (i < 2) fclose(file);
    }
    for (int i = 0; i < 20; i++) closedir(opendir("/"));
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        kept[i] = i % 2 ? strdup("kept") : malloc(10);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 100; i++) free(kept[i]);
    return 0;
}
