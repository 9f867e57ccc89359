"""Runs a program with Frida's Interceptor on its function `leaf`, with empty callbacks in C, until it ends.

    python frida_leaf.py PROGRAM [ARGUMENT…]

Native callbacks are the fastest that Frida has; empty ones record nothing.
"""
import sys
import threading

import frida

HOOK = """
const callbacks = new CModule(`
  #include <gum/guminterceptor.h>
  void onEnter(GumInvocationContext *context) {}
  void onLeave(GumInvocationContext *context) {}
`);
Interceptor.attach(Process.mainModule.getSymbolByName('leaf'), {
  onEnter: callbacks.onEnter,
  onLeave: callbacks.onLeave,
});
"""


def main() -> None:
    ended = threading.Event()
    process = frida.spawn(sys.argv[1:])
    session = frida.attach(process)
    session.on("detached", lambda *reason: ended.set())
    script = session.create_script(HOOK)
    script.on("message", lambda message, _: print(message, file=sys.stderr))
    script.load()
    frida.resume(process)
    ended.wait()


main()
