# needs python3
python3 -c '
import multiprocessing as m,os
def f(x): return x*x
if __name__=="__main__":
    with m.Pool(4) as p: print(sum(p.map(f,range(1000))))
    m.set_start_method("spawn",force=True)
    q=m.Process(target=print,args=("spawned",)); q.start(); q.join(); print(q.exitcode)'
