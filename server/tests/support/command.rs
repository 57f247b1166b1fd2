//! The built binary as a command, and directories for its files.

#![allow(dead_code, unreachable_pub)]

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A kernel with findings; its include is made beside it, or is missing.
pub const KERNEL: &str = r#"#include "shapes.cuh"
__global__ void scale(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int block = blockIdx.x;
    if (i < n) {
        out[i] = in[4 * i] * 2.0f;
    }
    for (int k = 0; k < threadIdx.x; ++k) {
        out[k] += block;
    }
}
"#;

pub fn lockstep(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(output), errors(output)))
}

/// A directory of its own for a test.
#[derive(Debug)]
pub struct Place(PathBuf);

impl Place {
    pub fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("lockstep-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Place(path)
    }
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a directory");
        }
        std::fs::write(&path, content).expect("written");
        path.display().to_string()
    }
    pub fn folder(&self) -> &std::path::Path {
        &self.0
    }
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
