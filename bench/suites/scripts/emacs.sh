# needs emacs
emacs --batch --eval '(let ((s 0)) (dotimes (i 200000) (setq s (+ s (length (make-string 10 ?a))))) (princ s) (terpri))'
