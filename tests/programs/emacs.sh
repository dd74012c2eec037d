# Emacs in batch: buffers that grow and shrink, garbage collection, regular expressions, compilation, undo.
# label: long
# packages: emacs-nox
cat > program.el <<'LISP'
;;; program.el --- Text and lists  -*- lexical-binding: t -*-
(require 'cl-lib)
(require 'json)
(defun words (count)
  (cl-loop for i below count collect (format "w%d" (% (* i 7919) 1009))))
(with-temp-buffer
  (buffer-enable-undo)
  (dotimes (i 30) (goto-char (/ (point-max) 2)) (insert (mapconcat #'identity (words (* i 200)) " ")) (undo-boundary))
  (goto-char (point-min))
  (while (re-search-forward "\\(w\\)\\([0-9]+\\)" nil t) (replace-match "\\2\\1"))
  (message "%d %s" (buffer-size) (secure-hash 'sha256 (current-buffer)))
  (primitive-undo 5 buffer-undo-list)
  (message "%d" (buffer-size))
  (erase-buffer)
  (dotimes (i 3000) (insert (make-string (% (* i 37) 400) ?x) "\n"))
  (sort-lines nil (point-min) (point-max))
  (message "%s" (secure-hash 'sha256 (current-buffer))))
(let ((table (make-hash-table :test 'equal)))
  (dotimes (i 5) (dolist (word (words 20000)) (cl-incf (gethash word table 0))) (garbage-collect))
  (message "%d %d" (hash-table-count table) (length (json-read-from-string (json-encode table)))))
(let ((threads (cl-loop for i below 4 collect (let ((n i)) (make-thread (lambda () (length (words (* n 5000)))))))))
  (message "%S" (mapcar #'thread-join threads)))
(message "%s %s" (shell-command-to-string "seq 3 | tr '\\n' ' '") (expt 3 200))
LISP
emacs -Q --batch -f batch-byte-compile program.el > compile.log 2>&1
emacs -Q --batch -l program.elc 2>&1
