// A library with a constructor and a destructor.
static volatile int sink;
__attribute__((noipa)) int plugin_leaf(int n) { sink += n; return n + 1; }
__attribute__((constructor, noipa)) void plugin_begins(void) { sink += plugin_leaf(1); }
__attribute__((destructor, noipa)) void plugin_ends(void) { sink += plugin_leaf(2); }
__attribute__((noipa)) int plugin_work(int n) { return plugin_leaf(n) + plugin_leaf(n + 1); }
