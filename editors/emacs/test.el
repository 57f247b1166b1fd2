;;; test.el --- Opens a CUDA file through lockstep.el  -*- lexical-binding: t; -*-

;; LOCKSTEP_BINARY=target/release/lockstep emacs --batch -l editors/emacs/test.el
;; Wants the diagnostic, the hover of a variable and the modes of the other languages, within the time limit.

(unless (require 'eglot nil t)
  (package-initialize)
  (require 'eglot))
(load (expand-file-name "lockstep.el" (file-name-directory load-file-name)))
(setq lockstep-server (expand-file-name (or (getenv "LOCKSTEP_BINARY") "lockstep"))
      eglot-sync-connect 30
      eglot-autoshutdown nil)

(defun lockstep-test-wait (what done)
  "Let the editor work until DONE returns a value; WHAT names it."
  (let ((until (+ (float-time) 20)) value)
    (while (not (or (setq value (funcall done)) (> (float-time) until)))
      (accept-process-output nil 0.05))
    (unless value
      (message "FAILED: no %s" what)
      (kill-emacs 1))
    (message "ok %s" what)
    value))

(let ((file (make-temp-file "lockstep" nil ".cu")))
  (write-region "__global__ void k(float* out, const float* in, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    tile[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = tile[255 - threadIdx.x];
  }
}
" nil file)
  (find-file file)
  (lockstep-test-wait "CUDA mode" (lambda () (eq major-mode 'lockstep-cuda-mode)))
  ;; Without a terminal the hook that eglot waits for does not run by itself.
  (run-hooks 'post-command-hook)
  (lockstep-test-wait "server" #'eglot-current-server)
  (lockstep-test-wait
   "divergent-barrier diagnostic"
   (lambda ()
     (flymake-start)
     (seq-some (lambda (one) (string-match-p "syncthreads" (flymake-diagnostic-text one)))
               (flymake-diagnostics))))
  (goto-char (point-min))
  (search-forward "int i")
  (backward-char)
  (let* ((server (eglot-current-server))
         (hover (jsonrpc-request server :textDocument/hover (eglot--TextDocumentPositionParams)))
         (text (plist-get (plist-get hover :contents) :value)))
    (lockstep-test-wait "hover that says affine" (lambda () (string-match-p "affine" (or text ""))))
    (eglot-shutdown server))
  (dolist (pair '(("x.hlsl" . lockstep-hlsl-mode) ("x.ptx" . lockstep-ptx-mode) ("x.musimd" . lockstep-musimd-mode)))
    (lockstep-test-wait (car pair)
                        (lambda () (eq (assoc-default (car pair) auto-mode-alist #'string-match) (cdr pair)))))
  (delete-file file))
(message "emacs: 7 passed, 0 failed")
