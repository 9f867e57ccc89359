# needs clisp
clisp -q -x '(let ((l nil)) (dotimes (i 200000) (push (list i) l) (when (= 0 (mod i 1000)) (setq l nil))) (gc) (princ (length l)) (handler-case (car 5) (error () (princ "caught"))) (labels ((f (n) (+ 1 (f n)))) (handler-case (f 1) (storage-condition () (princ "over")) (error () (princ "err")))))'
