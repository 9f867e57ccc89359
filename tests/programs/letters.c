// A library whose read-only memory ends with its constants, which no zero ends.
#define SIXTEEN(x) x x x x x x x x x x x x x x x x
#define LETTERS SIXTEEN(SIXTEEN("abcdefghijklmnop"))

// As many as two pages have, without room for a zero.
static const char letters[8192] __attribute__((aligned(4096))) = LETTERS LETTERS;

const char *letters_of_library(void) { return letters; }
