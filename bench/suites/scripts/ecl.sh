# needs ecl
ecl --norc --eval '(progn (princ (handler-case (car 5) (error () "caught"))) (terpri) (dotimes (i 200000) (make-array 20)) (princ (length (loop for i below 1000 collect i))) (terpri) (ext:quit 0))'
