//! A client for tests and measurements: the built binary over real pipes.

#![allow(dead_code, unreachable_pub, missing_debug_implementations)]

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Client {
    pub process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Notifications and requests of the server that were not asked for yet.
    pub others: VecDeque<Value>,
    answers: Vec<Value>,
    next: i64,
    /// True if requests of the server are answered.
    pub answers_requests: bool,
    pub server_requests: usize,
}

impl Client {
    pub fn spawn(binary: impl AsRef<Path>, arguments: &[&str]) -> Client {
        let mut process = Command::new(binary.as_ref())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let input = process.stdin.take();
        let output = process.stdout.take().expect("stdout is piped");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::with_capacity(1 << 20, output);
            while let Some(message) = read_message(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Client {
            process,
            input,
            messages,
            others: VecDeque::new(),
            answers: Vec::new(),
            next: 1,
            answers_requests: true,
            server_requests: 0,
        }
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(bytes);
            let _ = input.flush();
        }
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and does not wait.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for the answer of a request: the whole message.
    pub fn answer(&mut self, id: i64) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer["id"] == id) {
                return self.answers.swap_remove(at);
            }
            assert!(self.receive(deadline), "no answer to request {id}");
        }
    }

    /// The result of a request.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let mut answer = self.answer(id);
        assert!(
            answer.get("error").is_none(),
            "{method}: {}",
            answer["error"]
        );
        answer["result"].take()
    }

    /// Waits for a notification of a kind that fits.
    pub fn wait_for(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self
                .others
                .iter()
                .position(|it| it["method"] == method && fits(&it["params"]))
            {
                return self.others.remove(at).unwrap_or_default()["params"].take();
            }
            assert!(self.receive(deadline), "no {method}");
        }
    }

    /// Takes messages that arrive for some time.
    pub fn drain(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        while self.receive(deadline) {}
    }

    fn receive(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.messages.recv_timeout(left) {
            Ok(message) => {
                if message.get("method").is_none() {
                    self.answers.push(message);
                } else {
                    if message.get("id").is_some() {
                        self.server_requests += 1;
                        if self.answers_requests {
                            let reply =
                                json!({ "jsonrpc": "2.0", "id": message["id"], "result": null });
                            self.send(&reply);
                        }
                    }
                    self.others.push_back(message);
                }
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Diagnostics are published at once.
    pub fn initialize(&mut self, capabilities: Value) -> Value {
        self.initialize_with(capabilities, json!({ "server": { "debounceMs": 0 } }))
    }

    pub fn initialize_with(&mut self, capabilities: Value, options: Value) -> Value {
        let result = self.request(
            "initialize",
            json!({ "processId": null, "rootUri": null, "capabilities": capabilities,
                    "initializationOptions": options }),
        );
        self.notify("initialized", json!({}));
        result
    }

    pub fn open(&mut self, uri: &str, language: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// An edit: range as (line, column, line, column), or the whole text.
    pub fn change(
        &mut self,
        uri: &str,
        version: i32,
        range: Option<(u32, u32, u32, u32)>,
        text: &str,
    ) {
        let mut change = json!({ "text": text });
        if let Some((from, column, to, end)) = range {
            change["range"] = json!({ "start": { "line": from, "character": column }, "end": { "line": to, "character": end } });
        }
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] }),
        );
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    pub fn shutdown(&mut self) -> Option<i32> {
        let id = self.ask("shutdown", Value::Null);
        let _ = self.answer(id);
        self.notify("exit", Value::Null);
        self.exit_code()
    }

    /// Waits for the process to end.
    pub fn exit_code(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.process.try_wait() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// Resident memory in KiB, where /proc tells.
    pub fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// Processor time of the server in seconds, in steps of a hundredth; `None`: the system doesn't tell.
    pub fn processor_time(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).ok()?;
        // Behind the name, which may hold spaces.
        let fields: Vec<&str> = status.rsplit(')').next()?.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
        Some((ticks(11)? + ticks(12)?) / 100.0)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read_message(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// A CUDA file of about `lines` lines: kernels of some thirty lines with loops, branches, shared memory, helpers.
pub fn generated(lines: usize) -> String {
    let mut text = String::from(
        "struct Particle { float x, y, z, w; };\n__device__ float square(float v) { return v * v; }\n\n",
    );
    let mut number = 0;
    while text.lines().count() + 34 <= lines {
        text.push_str(&format!(
            r"__global__ void kernel_{number}(float* out, const float* in, const Particle* particles, int n, int pitch) {{
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  int row = i / pitch;
  int column = i - row * pitch;
  float sum = 0.0f;
  float scale = in[0] * 2.0f;
  if (i < n) {{
    tile[threadIdx.x] = in[i];
  }} else {{
    tile[threadIdx.x] = 0.0f;
  }}
  __syncthreads();
  for (int k = 0; k < n; k += 4) {{
    float v = in[k * pitch + column];
    sum += square(v) * scale;
  }}
  for (int k = 0; k < lane; ++k) {{
    sum += tile[k * {stride} & 255];
  }}
  if (lane == 0) {{
    sum += particles[i].x;
  }}
  float limit = sum > 1.0f ? 1.0f : sum;
  while (sum > limit) {{
    sum *= 0.5f;
  }}
  int target = row * pitch + column;
  if (target < n) {{
    out[target] = sum + {number}.0f;
  }}
}}

",
            stride = number % 7 + 1,
        ));
        number += 1;
    }
    text
}
