;;; lockstep.el --- Lockstep through eglot  -*- lexical-binding: t; -*-

(require 'eglot)

(define-derived-mode lockstep-cuda-mode c++-mode "CUDA")
(define-derived-mode lockstep-hlsl-mode c++-mode "HLSL")
(define-derived-mode lockstep-ptx-mode prog-mode "PTX"
  (setq-local comment-start "// "))
(define-derived-mode lockstep-musimd-mode lockstep-ptx-mode "µ-SIMD")
(define-derived-mode lockstep-ia64-mode lockstep-ptx-mode "IA-64")
(define-derived-mode lockstep-sc140-mode lockstep-ptx-mode "SC140"
  (setq-local comment-start "; "))

(add-to-list 'auto-mode-alist '("\\.cuh?\\'" . lockstep-cuda-mode))
(add-to-list 'auto-mode-alist '("\\.\\(hlsli?\\|fxh?\\|us[fh]\\|compute\\)\\'" . lockstep-hlsl-mode))
(add-to-list 'auto-mode-alist '("\\.ptx\\'" . lockstep-ptx-mode))
(add-to-list 'auto-mode-alist '("\\.musimd\\'" . lockstep-musimd-mode))
(add-to-list 'auto-mode-alist '("\\.ia64\\(\\.s\\)?\\'" . lockstep-ia64-mode))
(add-to-list 'auto-mode-alist '("\\.sc140\\(\\.asm\\)?\\'" . lockstep-sc140-mode))

(defcustom lockstep-server "lockstep"
  "The server's program."
  :type 'string
  :group 'eglot)

(defun lockstep-contact (&rest _)
  "How eglot starts the server."
  (list lockstep-server "serve" "--stdio"))

(dolist (entry '((lockstep-cuda-mode . "cuda-cpp") (lockstep-hlsl-mode . "hlsl")
                 (lockstep-ptx-mode . "ptx") (lockstep-musimd-mode . "musimd") (lockstep-ia64-mode . "ia64")
                 (lockstep-sc140-mode . "sc140")))
  (add-to-list 'eglot-server-programs (cons (list (car entry) :language-id (cdr entry)) #'lockstep-contact)))

(dolist (mode '(lockstep-cuda-mode-hook lockstep-hlsl-mode-hook lockstep-ptx-mode-hook))
  (add-hook mode #'eglot-ensure))

(defun lockstep-names-processor-p ()
  "Whether a lockstep.toml above the buffer's file names a processor, whose loops of C are shown."
  (let ((folder (and buffer-file-name (locate-dominating-file buffer-file-name "lockstep.toml"))))
    (and folder
         (with-temp-buffer
           (insert-file-contents (expand-file-name "lockstep.toml" folder))
           (re-search-forward "^[ \t]*processor[ \t]*=" nil t)))))

(defun lockstep-maybe-in-c ()
  "Take Lockstep for this buffer of C, in place of what other C has, where a processor is named."
  (when (lockstep-names-processor-p)
    (setq-local eglot-server-programs
                (cons `((,major-mode :language-id "c") . lockstep-contact) eglot-server-programs))
    (eglot-ensure)))

(dolist (mode '(c-mode-hook c-ts-mode-hook))
  (add-hook mode #'lockstep-maybe-in-c))

(provide 'lockstep)
;;; lockstep.el ends here
