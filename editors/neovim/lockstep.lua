-- Lockstep for Neovim: starts the server for CUDA, HLSL, PTX, µ-SIMD, IA-64 and SC140 assembly, and for C where a lockstep.toml above
-- the file names a `processor`. Inlay hints need Neovim 0.10.
local extensions = {
  cu = "cuda", cuh = "cuda", hlsl = "hlsl", hlsli = "hlsl", fx = "hlsl", fxh = "hlsl", usf = "hlsl", ush = "hlsl", compute = "hlsl",
  ptx = "ptx", musimd = "musimd", ia64 = "ia64", sc140 = "sc140",
}
local group = vim.api.nvim_create_augroup("lockstep", { clear = true })
if vim.fn.has("nvim-0.8") == 1 then
  -- Before Neovim's own pattern for assembly.
  vim.filetype.add({ extension = extensions, pattern = {
    [".*%.ia64%.s"] = { "ia64", { priority = 10 } }, [".*%.sc140%.asm"] = { "sc140", { priority = 10 } },
  } })
else
  extensions["ia64.s"] = "ia64"
  extensions["sc140.asm"] = "sc140"
  for extension, language in pairs(extensions) do
    vim.api.nvim_create_autocmd({ "BufNewFile", "BufRead" }, {
      group = group, pattern = "*." .. extension, command = "setlocal filetype=" .. language,
    })
  end
end

local uv = vim.uv or vim.loop

-- The nearest of some names beside a file or above it.
local function above(file, names)
  local folder = vim.fn.fnamemodify(file, ":p:h")
  while true do
    for _, name in ipairs(names) do
      if uv.fs_stat(folder .. "/" .. name) then return folder .. "/" .. name end
    end
    local parent = vim.fn.fnamemodify(folder, ":h")
    if parent == folder then return nil end
    folder = parent
  end
end

local function root(file)
  return vim.fn.fnamemodify(above(file, { "lockstep.toml", ".git" }) or vim.fn.fnamemodify(file, ":p"), ":h")
end

-- Loops of C are shown for a processor, and only to those who ask for one.
local function names_processor(file)
  local settings = above(file, { "lockstep.toml" })
  for _, line in ipairs(settings and vim.fn.readfile(settings) or {}) do
    if line:match("^%s*processor%s*=") then return true end
  end
  return false
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
  if args.match == "c" and not names_processor(file) then return end
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

vim.api.nvim_create_autocmd("FileType", { group = group, pattern = { "cuda", "hlsl", "ptx", "musimd", "ia64", "sc140", "c" }, callback = start })
vim.api.nvim_create_autocmd("ColorScheme", { group = group, callback = colours })
colours()
