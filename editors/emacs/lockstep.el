;;; lockstep.el --- Lockstep through eglot  -*- lexical-binding: t; -*-

(require 'eglot)

(define-derived-mode lockstep-cuda-mode c++-mode "CUDA")
(define-derived-mode lockstep-hlsl-mode c++-mode "HLSL")
(define-derived-mode lockstep-ptx-mode prog-mode "PTX"
  (setq-local comment-start "// "))
(define-derived-mode lockstep-musimd-mode lockstep-ptx-mode "µ-SIMD")

(add-to-list 'auto-mode-alist '("\\.cuh?\\'" . lockstep-cuda-mode))
(add-to-list 'auto-mode-alist '("\\.\\(hlsli?\\|fxh?\\|us[fh]\\)\\'" . lockstep-hlsl-mode))
(add-to-list 'auto-mode-alist '("\\.ptx\\'" . lockstep-ptx-mode))
(add-to-list 'auto-mode-alist '("\\.musimd\\'" . lockstep-musimd-mode))

(defcustom lockstep-server "lockstep"
  "The server's program."
  :type 'string
  :group 'eglot)

(dolist (entry '((lockstep-cuda-mode . "cuda-cpp") (lockstep-hlsl-mode . "hlsl")
                 (lockstep-ptx-mode . "ptx") (lockstep-musimd-mode . "musimd")))
  (add-to-list 'eglot-server-programs
               (cons (list (car entry) :language-id (cdr entry))
                     (lambda (&rest _) (list lockstep-server "serve" "--stdio")))))

(dolist (mode '(lockstep-cuda-mode-hook lockstep-hlsl-mode-hook lockstep-ptx-mode-hook))
  (add-hook mode #'eglot-ensure))

(provide 'lockstep)
;;; lockstep.el ends here
