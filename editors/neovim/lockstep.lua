-- Lockstep for Neovim: starts the server for CUDA, HLSL, PTX and µ-SIMD files. Inlay hints need Neovim 0.10.
vim.filetype.add({
  extension = {
    cu = "cuda", cuh = "cuda", hlsl = "hlsl", hlsli = "hlsl", fx = "hlsl", fxh = "hlsl", usf = "hlsl", ush = "hlsl",
    ptx = "ptx", musimd = "musimd",
  },
})

local function root(file)
  local found = vim.fs and vim.fs.find({ "lockstep.toml", ".git" }, { upward = true, path = vim.fn.fnamemodify(file, ":h") })[1]
  return found and vim.fn.fnamemodify(found, ":h") or vim.fn.fnamemodify(file, ":p:h")
end

local function colours()
  if vim.fn.has("nvim-0.9") == 0 then return end
  local dark = vim.o.background == "dark"
  local groups = {
    uniform = dark and "#8fd6a8" or "#1b6e3c",
    affine = dark and "#7cc4f2" or "#0b5fa5",
    divergent = dark and "#f2a65a" or "#a34d00",
  }
  for modifier, colour in pairs(groups) do
    vim.api.nvim_set_hl(0, "@lsp.mod." .. modifier, { fg = colour, default = true })
  end
end

local clients = {}

local function start(args)
  local file = vim.api.nvim_buf_get_name(args.buf)
  local config = {
    name = "lockstep",
    cmd = { vim.g.lockstep_server or "lockstep", "serve", "--stdio" },
    root_dir = root(file),
    on_attach = function(_, buffer)
      if vim.lsp.inlay_hint and vim.fn.has("nvim-0.10") == 1 then
        vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
      end
    end,
  }
  if vim.lsp.start then
    vim.lsp.start(config, { bufnr = args.buf })
  else
    clients[config.root_dir] = clients[config.root_dir] or vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(args.buf, clients[config.root_dir])
  end
end

local group = vim.api.nvim_create_augroup("lockstep", { clear = true })
vim.api.nvim_create_autocmd("FileType", { group = group, pattern = { "cuda", "hlsl", "ptx", "musimd" }, callback = start })
vim.api.nvim_create_autocmd("ColorScheme", { group = group, callback = colours })
colours()
