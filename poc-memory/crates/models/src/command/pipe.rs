//! A bounded reader of a program's output.

use parking_lot::Mutex;
use poc_agent::model::CancellationToken;
use std::io::Read;
use std::sync::Arc;

/// Which end of the output is kept.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// The first bytes; more of them than this is too much.
    Head(usize),
    /// The last bytes.
    Tail(usize),
}

/// Output as far as it has been read.
pub(super) struct Pipe(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    over: bool,
    closed: bool,
}

impl Pipe {
    /// Reads on a thread of its own until the pipe closes.
    pub(super) fn read(
        source: Option<impl Read + Send + 'static>,
        keep: End,
        cancellation: CancellationToken,
    ) -> Pipe {
        let state = Arc::new(Mutex::new(State::default()));
        let theirs = state.clone();
        let work = move || {
            if let Some(mut source) = source {
                let mut chunk = [0; 8192];
                while let Ok(count @ 1..) = source.read(&mut chunk) {
                    if !theirs.lock().take(chunk.get(..count).unwrap_or_default(), keep) {
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

    /// Whether there was more than may be kept.
    pub(super) fn is_over(&self) -> bool {
        self.0.lock().over
    }

    /// Whether the other end has closed.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().closed
    }

    /// What was kept; bytes that are no UTF-8 are replaced.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().bytes).into_owned()
    }
}

impl State {
    /// Keeps what may be kept; false when there is no point in reading on.
    fn take(&mut self, chunk: &[u8], keep: End) -> bool {
        self.bytes.extend_from_slice(chunk);
        match keep {
            End::Head(limit) if self.bytes.len() > limit => {
                self.bytes.truncate(limit);
                self.over = true;
                return false;
            }
            End::Tail(limit) if self.bytes.len() > limit => {
                self.bytes.drain(..self.bytes.len() - limit);
            }
            _ => {}
        }
        true
    }
}
