# needs gforth
gforth -e ': fib dup 2 < if drop 1 else dup 1- recurse swap 2 - recurse + then ; 20 fib . cr : t 0 @ ; :noname t ; catch . cr bye' 2>&1
