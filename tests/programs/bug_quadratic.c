/* A page is put together word by word; each time the end of what is there is looked for from the beginning. */
#include <stdio.h>
#include <string.h>

static char page[400000];

__attribute__((noipa)) void append_word(char *text, const char *word)
{
    strcat(text, word);
}

__attribute__((noipa)) void render_row(int row)
{
    char cell[32];
    for (int column = 0; column < 8; column++) {
        snprintf(cell, sizeof cell, "<td>%d</td>", row * column);
        append_word(page, cell);
    }
}

__attribute__((noipa)) void render_page(int rows)
{
    page[0] = 0;
    for (int row = 0; row < rows; row++)
        render_row(row);
}

int main(void)
{
    render_page(2500);
    return page[0] != '<';
}
