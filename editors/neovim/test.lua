-- Headless test: nvim --headless -u NONE -c 'luafile editors/neovim/test.lua'
-- Opens a CUDA file through lockstep.lua and wants diagnostics and a hover within the time limit.
local here = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h")
local function fail(message)
  io.stderr:write("FAILED: " .. message .. "\n")
  vim.cmd("cquit 1")
end
vim.g.lockstep_server = os.getenv("LOCKSTEP_BINARY") or "lockstep"
local folder = vim.fn.tempname()
vim.fn.mkdir(folder, "p")
local file = folder .. "/kernel.cu"
vim.fn.writefile({
  "__global__ void k(float* out, const float* in, int n) {",
  "  __shared__ float tile[256];",
  "  int i = blockIdx.x * blockDim.x + threadIdx.x;",
  "  if (i < n) {",
  "    tile[threadIdx.x] = in[i];",
  "    __syncthreads();",
  "    out[i] = tile[255 - threadIdx.x];",
  "  }",
  "}",
}, file)
dofile(here .. "/lockstep.lua")
vim.cmd("edit " .. file)
vim.cmd("setfiletype cuda")
local function wait(what, done)
  if not vim.wait(20000, done, 50) then fail("no " .. what) end
  print("ok " .. what)
end
wait("divergent-barrier diagnostic", function()
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    if diagnostic.code == "divergent-barrier" or (diagnostic.user_data and diagnostic.user_data.lsp
      and diagnostic.user_data.lsp.code == "divergent-barrier") then return true end
  end
  return false
end)
local hover
vim.lsp.buf_request(0, "textDocument/hover", {
  textDocument = vim.lsp.util.make_text_document_params(),
  position = { line = 2, character = 6 },
}, function(_, result) hover = result end)
wait("hover", function() return hover ~= nil end)
if not vim.inspect(hover):lower():find("affine") then fail("the hover of `i` does not say affine: " .. vim.inspect(hover)) end
print("neovim: 2 passed, 0 failed")
vim.cmd("qall!")
