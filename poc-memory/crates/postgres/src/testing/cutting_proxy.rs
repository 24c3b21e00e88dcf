//! A proxy that cuts a connection at a message of the PostgreSQL protocol.

use super::{TestServer, address};
use parking_lot::Mutex;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tempfile::TempDir;

/// Where a connection is cut, relative to a message in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPoint {
    /// The message is lost.
    Before,
    /// Only the first half of the message arrives.
    Within,
    /// The message arrives, and nothing after it.
    After,
}

impl CutPoint {
    /// Every value.
    pub const ALL: [CutPoint; 3] = [CutPoint::Before, CutPoint::Within, CutPoint::After];
}

/// A message, counted from 1 over all connections and both directions, and where its connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub message: u64,
    pub point: CutPoint,
}

/// The number of messages so far, and the next cut.
#[derive(Default)]
struct CutPlan {
    messages: u64,
    cut: Option<Cut>,
}

impl CutPlan {
    /// Counts a message. Returns where its connection is cut, if it is.
    fn count(&mut self) -> Option<CutPoint> {
        self.messages += 1;
        let cut = self.cut.take_if(|cut| cut.message <= self.messages);
        cut.map(|cut| cut.point)
    }
}

/// Forwards connections to a server message by message, and cuts one of them. New connections are forwarded again.
pub struct CuttingProxy {
    folder: TempDir,
    plan: Arc<Mutex<CutPlan>>,
    is_ended: Arc<AtomicBool>,
}

/// The name that clients of PostgreSQL look for in a folder.
const SOCKET: &str = ".s.PGSQL.5432";

impl CuttingProxy {
    /// Starts forwarding to a server.
    pub fn start(server: &TestServer) -> CuttingProxy {
        let folder = poc_graph::testing::folder();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let (target, plan) = (server.socket(), Arc::new(Mutex::new(CutPlan::default())));
        let counted = plan.clone();
        // The threads end with the proxy, or with their connections.
        let is_ended = Arc::new(AtomicBool::new(false));
        let ends = is_ended.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(server) = UnixStream::connect(&target) else { continue };
                let (from_client, to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                forward(from_client, to_server, counted.clone(), true);
                forward(server, client, counted.clone(), false);
            }
        });
        CuttingProxy { folder, plan, is_ended }
    }

    /// The address of the server's database through the proxy, without TLS, which would hide the messages.
    pub fn address(&self) -> String {
        format!("{}?sslmode=disable", address(&[self.folder.path()]))
    }

    /// Starts to count messages at 0, and plans to cut one connection, or none with `None`. Cancels an earlier plan.
    pub fn plan(&self, cut: Option<Cut>) {
        *self.plan.lock() = CutPlan { messages: 0, cut };
    }

    /// The number of messages since the last plan.
    pub fn messages(&self) -> u64 {
        self.plan.lock().messages
    }

    /// Whether the planned cut has not been made yet.
    pub fn is_pending(&self) -> bool {
        self.plan.lock().cut.is_some()
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = UnixStream::connect(self.folder.path().join(SOCKET));
    }
}

/// Forwards the messages of one direction of a connection.
fn forward(mut from: UnixStream, mut to: UnixStream, plan: Arc<Mutex<CutPlan>>, is_client: bool) {
    thread::spawn(move || {
        let mut has_type = !is_client;
        while let Ok(message) = read_message(&mut from, has_type) {
            has_type = true;
            let point = plan.lock().count();
            let arriving = match point {
                None | Some(CutPoint::After) => message.len(),
                Some(CutPoint::Within) => message.len() / 2,
                Some(CutPoint::Before) => 0,
            };
            if to.write_all(&message[..arriving]).is_err() || point.is_some() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}

/// Reads a message: a byte with its type, which the first message of a client lacks, then its length, which includes
/// the four bytes of the length.
fn read_message(from: &mut UnixStream, has_type: bool) -> io::Result<Vec<u8>> {
    let before = usize::from(has_type);
    let mut message = vec![0; before + 4];
    from.read_exact(&mut message)?;
    let length = u32::from_be_bytes(message[before..].try_into().unwrap()) as usize;
    let head = message.len();
    message.resize(before + length, 0);
    from.read_exact(&mut message[head..])?;
    Ok(message)
}
