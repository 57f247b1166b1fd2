//! Messages over a pair of byte streams. One thread reads frames, one writes them, and one task between them calls the
//! service in the order of the wire; nothing here waits for a handler, so a notification is never stuck behind requests.
//!
//! A message that is no JSON is answered with an error and the next one is read; bytes between frames are passed over.
//! It ends at `exit` or when the input ends.

use futures::stream::{FuturesUnordered, StreamExt};
use futures::{FutureExt, SinkExt};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower::Service;
use tower_lsp::jsonrpc::{Request, Response};
use tower_lsp::{ClientSocket, ExitedError};

/// Larger messages are refused; the input is read past them.
const LARGEST_MESSAGE: usize = 512 << 20;

enum Incoming {
    Message(Vec<u8>),
    Malformed(String),
    End,
}

/// Serves until `exit` or the end of the input.
pub(super) async fn serve<S>(
    mut service: S,
    socket: ClientSocket,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    let (incoming, mut messages) = unbounded_channel();
    let (outgoing, to_write) = std::sync::mpsc::channel::<Vec<u8>>();
    std::thread::spawn(move || read_frames(input, &incoming));
    let writer = std::thread::spawn(move || write_frames(output, &to_write));
    let (mut requests, mut responses) = socket.split();
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            message = messages.recv() => {
                let message = match message {
                    Some(Incoming::Message(bytes)) => bytes,
                    Some(Incoming::Malformed(reason)) => {
                        tracing::warn!("malformed message: {reason}");
                        send(&outgoing, &failure(Value::Null, -32700, &reason));
                        continue;
                    }
                    Some(Incoming::End) | None => break,
                };
                match understand(&message) {
                    // The protocol library takes every `$/` method for a notification, which may be ignored.
                    Ok(Understood::Request(request))
                        if request.method().starts_with("$/") && request.id().is_some() =>
                    {
                        let id = request.id().map_or(Value::Null, |id| json!(id));
                        let reason = format!("Method not found: {}", request.method());
                        send(&outgoing, &failure(id, -32601, &reason));
                    }
                    Ok(Understood::Request(request)) => {
                        let exits = request.method() == "exit";
                        if futures::future::poll_fn(|cx| service.poll_ready(cx)).await.is_err() {
                            break;
                        }
                        let mut call = Box::pin(service.call(request));
                        match call.as_mut().now_or_never() {
                            Some(Ok(Some(response))) => send(&outgoing, &response),
                            Some(_) => {}
                            None => running.push(call),
                        }
                        if exits {
                            break;
                        }
                    }
                    Ok(Understood::Response(response)) => {
                        // Answers to requests that nobody waits for are dropped by the sink.
                        if responses.send(response).await.is_err() {
                            break;
                        }
                    }
                    Err(error) => send(&outgoing, &error),
                }
            }
            Some(outcome) = running.next() => {
                if let Ok(Some(response)) = outcome {
                    send(&outgoing, &response);
                }
            }
            Some(request) = requests.next() => send(&outgoing, &request),
        }
    }
    // Answers of cancelled requests are ready at once; nothing else is waited for.
    while let Some(Some(outcome)) = running.next().now_or_never() {
        if let Ok(Some(response)) = outcome {
            send(&outgoing, &response);
        }
    }
    drop(outgoing);
    let _ = tokio::task::spawn_blocking(move || writer.join()).await;
}

fn send(outgoing: &std::sync::mpsc::Sender<Vec<u8>>, message: &impl serde::Serialize) {
    match serde_json::to_vec(message) {
        // The writer is gone when the client has closed its end; the reader will notice, too.
        Ok(bytes) => {
            let _ = outgoing.send(bytes);
        }
        Err(error) => tracing::error!("a message could not be written: {error}"),
    }
}

enum Understood {
    Request(Request),
    Response(Response),
}

fn understand(bytes: &[u8]) -> Result<Understood, Value> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| failure(Value::Null, -32700, &format!("parse error: {error}")))?;
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let invalid = |reason: &str| failure(id.clone(), -32600, reason);
    if value.get("method").is_some() {
        serde_json::from_value(value)
            .map(Understood::Request)
            .map_err(|_| invalid("invalid request"))
    } else if value.get("result").is_some() || value.get("error").is_some() {
        serde_json::from_value(value)
            .map(Understood::Response)
            .map_err(|_| invalid("invalid response"))
    } else {
        Err(invalid("neither a request nor a response"))
    }
}

fn failure(id: Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn read_frames(input: impl Read, incoming: &UnboundedSender<Incoming>) {
    let mut input = BufReader::with_capacity(1 << 16, input);
    loop {
        let message = match read_frame(&mut input) {
            Ok(Some(Ok(bytes))) => Incoming::Message(bytes),
            Ok(Some(Err(reason))) => Incoming::Malformed(reason),
            Ok(None) => Incoming::End,
            Err(error) => {
                tracing::warn!("reading failed: {error}");
                Incoming::End
            }
        };
        let ends = matches!(message, Incoming::End);
        if incoming.send(message).is_err() || ends {
            return;
        }
    }
}

/// One frame, or its error. Lines that are no header are passed over until a length is found.
fn read_frame(input: &mut impl BufRead) -> std::io::Result<Option<Result<Vec<u8>, String>>> {
    let mut length = None;
    let mut malformed = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        // A header line has no reason to be long; garbage without line ends is read in pieces.
        if input.by_ref().take(1 << 16).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() {
            match length {
                Some(_) => break,
                None => continue,
            }
        }
        match text.split_once(':') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("content-length") => {
                match value.trim().parse::<usize>() {
                    Ok(number) => length = Some(number),
                    Err(_) => malformed = Some(format!("bad Content-Length: {}", value.trim())),
                }
            }
            Some((name, _)) if name.trim().eq_ignore_ascii_case("content-type") => {}
            _ => {
                malformed.get_or_insert_with(|| "a line that is no header".to_owned());
            }
        }
        if length.is_none()
            && let Some(reason) = malformed.take()
        {
            return Ok(Some(Err(reason)));
        }
    }
    let length = length.unwrap_or(0);
    if length > LARGEST_MESSAGE {
        std::io::copy(
            &mut input.by_ref().take(length as u64),
            &mut std::io::sink(),
        )?;
        return Ok(Some(Err(format!(
            "a message of {length} bytes is too large"
        ))));
    }
    let mut body = Vec::new();
    // The length is the sender's claim: memory grows with what really arrives.
    let read = input.by_ref().take(length as u64).read_to_end(&mut body)?;
    if read < length {
        return Ok(None);
    }
    Ok(Some(Ok(body)))
}

fn write_frames(mut output: impl Write, messages: &std::sync::mpsc::Receiver<Vec<u8>>) {
    while let Ok(body) = messages.recv() {
        let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        frame.extend_from_slice(&body);
        if output
            .write_all(&frame)
            .and_then(|()| output.flush())
            .is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_between_frames_is_passed_over() {
        let mut input = std::io::Cursor::new(
            b"hello\r\nContent-Length: x\r\n\r\nContent-Type: a; charset=utf-8\r\ncontent-length: 2\r\n\r\n{}".to_vec(),
        );
        let mut outcomes = Vec::new();
        while let Ok(Some(frame)) = read_frame(&mut input) {
            outcomes.push(frame.ok());
        }
        assert_eq!(outcomes, [None, None, Some(b"{}".to_vec())]);
    }

    #[test]
    fn a_frame_that_ends_early_ends_the_input() {
        let mut input = std::io::Cursor::new(b"Content-Length: 10\r\n\r\nabc".to_vec());
        assert!(matches!(read_frame(&mut input), Ok(None)));
    }
}
