//! What sim-pipe and its starter say to each other: a length and a body, with descriptors beside.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// More than any request holds: output, report, failure, rules, one kept.
const MAX_FDS: usize = 8;
/// A length beyond this is a broken stream, not a message.
const MAX_BODY: u64 = 1 << 30;

/// The first message: what is the same for all requests.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// The process id of sim-pipe.
    pub(crate) parent: i32,
    /// A root of its own for every process, or none.
    pub(crate) root: Option<RootView>,
}

/// A path on the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostPath(#[serde(with = "sim_store::path_bytes")] pub(crate) PathBuf);

impl std::ops::Deref for HostPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// What the root of a confined process shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RootView {
    /// Host paths without links in them, read-only, at the same place.
    pub(crate) read: Vec<HostPath>,
    /// Links, and where they lead.
    pub(crate) links: Vec<(HostPath, HostPath)>,
    /// Devices.
    pub(crate) devices: Vec<HostPath>,
    /// Folders of which each request names parts, with whether they are read-only.
    pub(crate) sources: Vec<(HostPath, bool)>,
}

/// One process to start. Descriptors, in this order: standard output and error, the supervisor's
/// report, failures before exec; then landlock rules and the kept one, where there are any.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    #[serde(with = "sim_store::path_bytes")]
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Working folder as the process sees it.
    #[serde(with = "sim_store::path_bytes")]
    pub(crate) cwd: PathBuf,
    /// Namespaces of its own, and what is mounted in them.
    pub(crate) place: Option<Place>,
    pub(crate) rules: bool,
    pub(crate) kept: bool,
}

/// Namespaces of one process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Whether it uses the host's network.
    pub(crate) network: bool,
    /// A folder for mount points, in memory.
    #[serde(with = "sim_store::path_bytes")]
    pub(crate) points: PathBuf,
    /// In this order. What is mounted on must be there, or lie in `points`.
    pub(crate) mounts: Vec<Mount>,
}

/// A part of one of the root's sources, put at a place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mount {
    /// Index in [`RootView::sources`].
    pub(crate) source: usize,
    /// Path below it; empty for all of it.
    #[serde(with = "sim_store::path_bytes")]
    pub(crate) part: PathBuf,
    #[serde(with = "sim_store::path_bytes")]
    pub(crate) to: PathBuf,
}

/// The process id, or the error number of the failed start.
pub(crate) type Started = Result<i32, i32>;

/// Sends a message.
pub(crate) fn send(
    mut socket: &UnixStream,
    message: &impl Serialize,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = postcard::to_allocvec(message).map_err(io::Error::other)?;
    let head = (body.len() as u64).to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors"));
    }
    // Eight bytes go into an empty buffer whole.
    sendmsg(socket, &[IoSlice::new(&head)], &mut beside, SendFlags::NOSIGNAL)?;
    socket.write_all(&body)
}

/// Receives a message; `None` at the end of the stream.
pub(crate) fn receive<T: DeserializeOwned>(
    mut socket: &UnixStream,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut head = [0u8; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let mut parts = [IoSliceMut::new(&mut head)];
        match recvmsg(socket.as_fd(), &mut parts, &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Ok(got) => break got.bytes,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    };
    if got == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    socket.read_exact(&mut head[got..])?;
    let len = u64::from_le_bytes(head);
    if len > MAX_BODY {
        return Err(io::Error::other(format!("a message of {len} bytes")));
    }
    let mut body = vec![0; len as usize];
    socket.read_exact(&mut body)?;
    let message = postcard::from_bytes(&body).map_err(io::Error::other)?;
    Ok(Some((message, fds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_message_and_its_descriptors_arrive() {
        let (a, b) = UnixStream::pair().expect("pair");
        let file = tempfile::tempfile().expect("tempfile");
        let long = "x".repeat(1 << 20);
        let sent: Vec<(OsString, String)> = vec![("\u{fe}".into(), long)];
        let expected = sent.clone();
        let sender = std::thread::spawn(move || send(&a, &sent, &[file.as_fd()]));
        let (got, fds) =
            receive::<Vec<(OsString, String)>>(&b).expect("received").expect("a message");
        assert_eq!(got, expected);
        assert_eq!(fds.len(), 1);
        assert!(fds[0].as_raw_fd() > 2);
        sender.join().expect("joined").expect("sent");
        assert!(receive::<u8>(&b).expect("read").is_none());
    }
}
