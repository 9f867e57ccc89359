# needs sh
echo '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 22)) (newline) (collect) (display (call/1cc (lambda (k) (+ 1 (k 5)))))' > a.ss; $(command -v chezscheme || echo scheme) --script a.ss
