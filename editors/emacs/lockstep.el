;;; lockstep.el --- Lockstep through eglot  -*- lexical-binding: t; -*-

(require 'eglot)

(define-derived-mode lockstep-cuda-mode c++-mode "CUDA")
(define-derived-mode lockstep-hlsl-mode c++-mode "HLSL")
(define-derived-mode lockstep-ptx-mode prog-mode "PTX"
  (setq-local comment-start "// "))

(add-to-list 'auto-mode-alist '("\\.cuh?\\'" . lockstep-cuda-mode))
(add-to-list 'auto-mode-alist '("\\.\\(hlsli?\\|fxh?\\|us[fh]\\)\\'" . lockstep-hlsl-mode))
(add-to-list 'auto-mode-alist '("\\.\\(ptx\\|musimd\\)\\'" . lockstep-ptx-mode))

(add-to-list 'eglot-server-programs
             '((lockstep-cuda-mode :language-id "cuda-cpp") . ("lockstep" "serve" "--stdio")))
(add-to-list 'eglot-server-programs
             '((lockstep-hlsl-mode :language-id "hlsl") . ("lockstep" "serve" "--stdio")))
(add-to-list 'eglot-server-programs
             '((lockstep-ptx-mode :language-id "ptx") . ("lockstep" "serve" "--stdio")))

(dolist (mode '(lockstep-cuda-mode-hook lockstep-hlsl-mode-hook lockstep-ptx-mode-hook))
  (add-hook mode #'eglot-ensure))

(provide 'lockstep)
;;; lockstep.el ends here
