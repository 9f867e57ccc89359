# needs ldc2
cat > a.d <<'P'
import std.stdio, core.thread, core.memory; class E: Exception { this(){super("e");} }
void main(){ int[][] k; foreach(i;0..100000){ k~=new int[20]; if(k.length>100) k=null;} GC.collect(); try throw new E; catch(E e) writeln("caught ",e.msg);
 auto f=new Fiber({ foreach(i;0..1000) Fiber.yield(); }); int n; while(f.state!=Fiber.State.TERM){f.call();n++;} writeln(n);
 Thread[] t; foreach(i;0..10){auto x=new Thread({foreach(j;0..10000) new int[10];}); x.start(); t~=x;} foreach(x;t) x.join(); writeln("done"); }
P
ldc2 -O2 a.d > log 2>&1; ./a
