;;; test.el --- Opens files through lockstep.el  -*- lexical-binding: t; -*-

;; LOCKSTEP_BINARY=target/release/lockstep emacs --batch -l editors/emacs/test.el
;; Wants the diagnostic and the hover of CUDA, a diagnostic of IA-64 assembly, the interval of a loop of C where a processor is
;; named and no server where none is, and the modes of the other languages. Waits for events, all together for 110 seconds.

(unless (require 'eglot nil t)
  (package-initialize)
  (require 'eglot))
(load (expand-file-name "lockstep.el" (file-name-directory load-file-name)))
(setq lockstep-server (expand-file-name (or (getenv "LOCKSTEP_BINARY") "lockstep"))
      eglot-sync-connect 60
      eglot-autoshutdown nil)

(defvar lockstep-test-until (+ (float-time) 110))
(defvar lockstep-test-passed 0)

(defun lockstep-test-wait (what done)
  "Let the editor work until DONE returns a value; WHAT names it."
  (let (value)
    (while (not (or (setq value (funcall done)) (> (float-time) lockstep-test-until)))
      (accept-process-output nil 0.05))
    (unless value
      (message "FAILED: no %s" what)
      (kill-emacs 1))
    (setq lockstep-test-passed (1+ lockstep-test-passed))
    (message "ok %s" what)
    value))

(defvar lockstep-test-folder (make-temp-file "lockstep" t))

(defun lockstep-test-open (name text)
  "Visit a new file NAME with TEXT."
  (let ((file (expand-file-name name lockstep-test-folder)))
    (make-directory (file-name-directory file) t)
    (write-region text nil file nil 'silent)
    (find-file file)
    ;; Without a terminal the hook that eglot waits for does not run by itself.
    (run-hooks 'post-command-hook)))

(defun lockstep-test-diagnostic (text)
  "Wait for a diagnostic that holds TEXT."
  (lockstep-test-wait "server" #'eglot-current-server)
  (lockstep-test-wait
   (format "diagnostic that says %s" text)
   (lambda ()
     (flymake-start)
     (seq-some (lambda (found) (string-match-p text (flymake-diagnostic-text found)))
               (flymake-diagnostics)))))

(lockstep-test-open "kernel.cu" "__global__ void k(float* out, const float* in, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    tile[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = tile[255 - threadIdx.x];
  }
}
")
(lockstep-test-wait "CUDA mode" (lambda () (eq major-mode 'lockstep-cuda-mode)))
(lockstep-test-diagnostic "syncthreads")
(goto-char (point-min))
(search-forward "int i")
(backward-char)
(let* ((hover (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams)))
       (text (plist-get (plist-get hover :contents) :value)))
  (lockstep-test-wait "hover that says affine" (lambda () (string-match-p "affine" (or text "")))))

(lockstep-test-open "short.ia64.s" "f:\n\tadds r8 = 1, r32\n\tadds r9 = 1, r8 ;;\n\tbr.ret.sptk.many b0 ;;\n")
(lockstep-test-wait "IA-64 mode" (lambda () (eq major-mode 'lockstep-ia64-mode)))
(lockstep-test-diagnostic "r8")

(lockstep-test-open "short.sc140.asm" "_f\n [\n    clr      d0\n rts\n")
(lockstep-test-wait "SC140 mode" (lambda () (eq major-mode 'lockstep-sc140-mode)))
(lockstep-test-diagnostic "no `]`")

(let ((loop "long sum(long n, const long *restrict a) {
  long s = 0;
  for (long i = 0; i < n; ++i)
    s += a[i];
  return s;
}
"))
  (lockstep-test-open "loop.c" loop)
  (lockstep-test-wait "C without a processor left alone"
                      (lambda () (not (or (eglot-current-server) (local-variable-p 'eglot-server-programs)))))
  (make-directory (expand-file-name "named" lockstep-test-folder))
  (write-region "processor = \"itanium2\"\n" nil (expand-file-name "named/lockstep.toml" lockstep-test-folder) nil 'silent)
  (lockstep-test-open "named/loop.c" loop)
  (lockstep-test-wait "server for C" #'eglot-current-server)
  (let ((lenses (jsonrpc-request (eglot-current-server) :textDocument/codeLens
                                 (list :textDocument (eglot--TextDocumentIdentifier)))))
    (lockstep-test-wait "interval of a loop of C" (lambda () (string-match-p "II [0-9]" (format "%S" lenses))))))

(dolist (pair '(("x.hlsl" . lockstep-hlsl-mode) ("x.ptx" . lockstep-ptx-mode) ("x.musimd" . lockstep-musimd-mode)))
  (lockstep-test-wait (car pair)
                      (lambda () (eq (assoc-default (car pair) auto-mode-alist #'string-match) (cdr pair)))))
(delete-directory lockstep-test-folder t)
(message "emacs: %s passed, 0 failed" lockstep-test-passed)
