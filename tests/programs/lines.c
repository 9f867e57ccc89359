/* Source lines: a test knows which function is on which line. */
static volatile int sink;

__attribute__((noinline)) int leaf(int n)
{
    sink += n;
    return sink;
}

__attribute__((noinline)) int
middle(int n)
{
    int first = leaf(n);
    return first + leaf(n + 1);
}

int main(void)
{
    return middle(3) > 100;
}
