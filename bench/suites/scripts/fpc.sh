# needs fpc
cat > a.pas <<'P'
program a; {$mode objfpc} uses sysutils;
function f(n:integer):integer; begin if n<2 then f:=n else f:=f(n-1)+f(n-2) end;
var p:^integer; begin writeln(f(20)); p:=nil; try p^:=3; except on e:exception do writeln(e.classname) end; end.
P
fpc -O2 a.pas > log 2>&1; ./a
