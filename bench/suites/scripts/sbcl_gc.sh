# needs sbcl
sbcl --noinform --non-interactive --eval '(let ((l nil)) (dotimes (i 3000000) (push (list i i) l) (when (> (length (the list (if (cdr l) (list 1) l))) 3) (setf l nil))) (sb-ext:gc :full t) (print (length l)) (terpri))'
