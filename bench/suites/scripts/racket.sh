# needs racket
racket -e '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (displayln (f 22)) (displayln (with-handlers ([exn:fail? (lambda (e) "caught")]) (car 1))) (for-each thread-wait (for/list ([i 20]) (thread (lambda () (sleep 0)))))'
