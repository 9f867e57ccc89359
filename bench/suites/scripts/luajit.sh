# needs luajit
luajit -e 'local s=0 for i=1,1e7 do s=s+i%7 end print(s) print(pcall(error,"x")) local co=coroutine.wrap(function() for i=1,1000 do coroutine.yield(i) end end) local t=0 for i=1,1000 do t=t+co() end print(t)'
