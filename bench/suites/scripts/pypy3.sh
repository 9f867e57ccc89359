# needs pypy3
pypy3 -c '
import threading,gc
def f(n): return n if n<2 else f(n-1)+f(n-2)
print(f(24)); gc.collect()
r=[]
ts=[threading.Thread(target=lambda: r.append(sum(range(100000)))) for _ in range(8)]
[t.start() for t in ts];[t.join() for t in ts];print(r[0],len(r))
try: f("a")
except TypeError: print("te")
def d(n): return d(n+1)+1
try: d(0)
except RecursionError: print("re")'
