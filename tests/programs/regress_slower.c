/* Blocks get a checksum. With -DBAD it is taken bit by bit. */
static unsigned char block[512];
static volatile unsigned sink;

__attribute__((noipa)) unsigned checksum(const unsigned char *bytes, int count)
{
    unsigned sum = 1;
#ifdef BAD
    for (int at = 0; at < count * 8; at++)
        for (volatile int again = 0; again < 4; again++)
            sum = (sum << 1 | sum >> 31) ^ (bytes[at / 8] >> (at % 8) & 1);
#else
    for (int at = 0; at < count; at++)
        sum = sum * 31 + bytes[at];
#endif
    return sum;
}

__attribute__((noipa)) void store(int number)
{
    block[number % 512] = number;
    sink += checksum(block, sizeof block);
}

int main(void)
{
    for (int number = 0; number < 1500; number++)
        store(number);
    return 0;
}
