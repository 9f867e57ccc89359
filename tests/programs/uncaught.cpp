// An exception that nobody catches.
__attribute__((noipa)) int thrower(int n) { throw n; }
int main() { return thrower(4); }
