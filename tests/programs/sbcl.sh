# Steel Bank Common Lisp, which maps its heap at fixed addresses and handles faults in it, and calls malloc for C.
# label: long
# packages: sbcl
cat > program.lisp <<'LISP'
(defun work (seed)
  (let ((words (make-hash-table :test 'equal)))
    (dotimes (i 100000)
      (push i (gethash (format nil "w~d" (mod (* i seed) 9973)) words)))
    (loop for list being the hash-values of words sum (length list))))
(print (mapcar #'sb-thread:join-thread
               (loop for seed from 1 to 4 collect (let ((seed seed)) (sb-thread:make-thread (lambda () (work seed)))))))
(sb-ext:gc :full t)
(dotimes (i 2000)
  (let ((block (sb-alien:make-alien char (1+ (mod (* i 997) 70000)))))
    (setf (sb-alien:deref block 0) (mod i 100))
    (unless (= (sb-alien:deref block 0) (mod i 100)) (print "lost"))
    (sb-alien:free-alien block)))
(print (mod (expt 3 5000) 1000000007))
(print (length (with-output-to-string (out) (sb-ext:run-program "/usr/bin/seq" '("20000") :output out))))
(terpri)
LISP
sbcl --noinform --no-userinit --script program.lisp
