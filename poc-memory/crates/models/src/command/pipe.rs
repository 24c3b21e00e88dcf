//! Reads a program's output up to a limit.

use parking_lot::Mutex;
use poc_graph::cancellation::CancellationToken;
use std::io::Read;
use std::sync::Arc;

/// Which part of the output is kept.
#[derive(Clone, Copy)]
pub(super) enum OutputLimit {
    /// The first bytes, at most this many. More output is an overflow.
    Head(usize),
    /// The last bytes, at most this many.
    Tail(usize),
}

/// The output read so far.
pub(super) struct Pipe(Arc<Mutex<PipeBuffer>>);

#[derive(Default)]
struct PipeBuffer {
    bytes: Vec<u8>,
    overflow: bool,
    closed: bool,
}

impl Pipe {
    /// Starts a thread that reads until the pipe closes or overflows.
    pub(super) fn read(
        source: Option<impl Read + Send + 'static>,
        keep: OutputLimit,
        cancellation: CancellationToken,
    ) -> Pipe {
        let state = Arc::new(Mutex::new(PipeBuffer::default()));
        let theirs = state.clone();
        let work = move || {
            if let Some(mut source) = source {
                let mut chunk = [0; 8192];
                while let Ok(count @ 1..) = source.read(&mut chunk) {
                    if !theirs.lock().append(chunk.get(..count).unwrap_or_default(), keep) {
                        break;
                    }
                }
            }
            theirs.lock().closed = true;
            cancellation.wake();
        };
        if std::thread::Builder::new().name("model-output".into()).spawn(work).is_err() {
            state.lock().closed = true;
        }
        Pipe(state)
    }

    /// Whether there was more output than [`OutputLimit::Head`] allows.
    pub(super) fn overflowed(&self) -> bool {
        self.0.lock().overflow
    }

    /// Whether the thread has stopped reading.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().closed
    }

    /// The kept output, with invalid UTF-8 replaced.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().bytes).into_owned()
    }
}

impl PipeBuffer {
    /// Appends a chunk and drops what is not kept. Returns false after an overflow.
    fn append(&mut self, chunk: &[u8], keep: OutputLimit) -> bool {
        self.bytes.extend_from_slice(chunk);
        match keep {
            OutputLimit::Head(limit) if self.bytes.len() > limit => {
                self.bytes.truncate(limit);
                self.overflow = true;
                return false;
            }
            OutputLimit::Tail(limit) if self.bytes.len() > limit => {
                self.bytes.drain(..self.bytes.len() - limit);
            }
            _ => {}
        }
        true
    }
}
