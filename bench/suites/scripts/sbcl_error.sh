# needs sbcl
sbcl --noinform --non-interactive --eval '(handler-case (car 5) (type-error (e) (princ "caught") (terpri)))' --eval '(handler-case (labels ((f (n) (+ 1 (f n)))) (f 1)) (storage-condition () (princ "overflow") (terpri)))' --eval '(sb-thread:join-thread (sb-thread:make-thread (lambda () (dotimes (i 100000) (make-array 100)))))'
