-- Headless test: nvim --headless -u NONE -c 'luafile editors/neovim/test.lua'
-- Opens files through lockstep.lua: CUDA with a diagnostic and a hover, IA-64 and SC140 assembly with diagnostics, and C, which the
-- server gets where a processor is named and nowhere else. Waits for events, all together for at most 110 seconds.
local here = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h")
local uv = vim.uv or vim.loop
local deadline = uv.now() + 110000
local passed = 0
local function fail(message)
  io.stderr:write("FAILED: " .. message .. "\n")
  vim.cmd("cquit 1")
end
local function ok(what)
  passed = passed + 1
  print("ok " .. what)
end
local function wait(what, done)
  if not vim.wait(math.max(deadline - uv.now(), 0), done, 50) then fail("no " .. what) end
  ok(what)
end

vim.g.lockstep_server = os.getenv("LOCKSTEP_BINARY") or "lockstep"
vim.cmd("filetype on")
dofile(here .. "/lockstep.lua")

local folder = vim.fn.tempname()
local function open(name, lines)
  local file = folder .. "/" .. name
  vim.fn.mkdir(vim.fn.fnamemodify(file, ":h"), "p")
  vim.fn.writefile(lines, file)
  vim.cmd("edit " .. file)
end
local function diagnostic(code)
  for _, found in ipairs(vim.diagnostic.get(0)) do
    local told = found.code or (found.user_data and found.user_data.lsp and found.user_data.lsp.code)
    if told == code then return true end
  end
  return false
end
local function request(method, parameters)
  local answer
  parameters.textDocument = vim.lsp.util.make_text_document_params()
  vim.lsp.buf_request(0, method, parameters, function(_, result) answer = result or false end)
  wait("answer to " .. method, function() return answer ~= nil end)
  return vim.inspect(answer)
end
local function clients()
  return vim.tbl_count(vim.lsp.get_clients and vim.lsp.get_clients({ bufnr = 0 }) or vim.lsp.buf_get_clients(0))
end

open("kernel.cu", {
  "__global__ void k(float* out, const float* in, int n) {",
  "  __shared__ float tile[256];",
  "  int i = blockIdx.x * blockDim.x + threadIdx.x;",
  "  if (i < n) {",
  "    tile[threadIdx.x] = in[i];",
  "    __syncthreads();",
  "    out[i] = tile[255 - threadIdx.x];",
  "  }",
  "}",
})
wait("divergent-barrier diagnostic", function() return diagnostic("divergent-barrier") end)
local hover = request("textDocument/hover", { position = { line = 2, character = 6 } })
if not hover:lower():find("affine") then fail("the hover of `i` does not say affine: " .. hover) end
ok("hover that says affine")

open("short.ia64.s", { "f:", "\tadds r8 = 1, r32", "\tadds r9 = 1, r8 ;;", "\tbr.ret.sptk.many b0 ;;" })
if vim.bo.filetype ~= "ia64" then fail("IA-64 assembly has the type " .. vim.bo.filetype) end
wait("group-dependency diagnostic", function() return diagnostic("group-dependency") end)

open("short.sc140.asm", { "_f", " [", "    clr      d0", " rts" })
if vim.bo.filetype ~= "sc140" then fail("SC140 assembly has the type " .. vim.bo.filetype) end
wait("syntax diagnostic", function() return diagnostic("syntax") end)

local loop = { "long sum(long n, const long *restrict a) {", "  long s = 0;", "  for (long i = 0; i < n; ++i)", "    s += a[i];", "  return s;", "}" }
-- The client of the other files in this folder would be attached at once.
open("loop.c", loop)
if clients() ~= 0 then fail("C without a processor is given to the server") end
ok("C without a processor is left alone")
vim.fn.mkdir(folder .. "/named", "p")
vim.fn.writefile({ 'processor = "itanium2"' }, folder .. "/named/lockstep.toml")
open("named/loop.c", loop)
wait("client for C", function() return clients() > 0 end)
local lens = request("textDocument/codeLens", {})
if not lens:find("II %d") then fail("no interval stands over the loop: " .. lens) end
ok("the interval of a loop of C")
print("neovim: " .. passed .. " passed, 0 failed")
vim.cmd("qall!")
