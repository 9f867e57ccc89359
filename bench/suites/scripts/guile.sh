# needs guile
guile -c '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 24)) (newline) (display (call/cc (lambda (k) (dynamic-wind (lambda () (display "in ")) (lambda () (k 42)) (lambda () (display "out ")))))) (newline)'
