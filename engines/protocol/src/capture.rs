//! The capture file: every dynamic body's pose of world 0 at a fixed cadence, little-endian.
//!
//! ```text
//!  0  8 bytes  magic "SIMCAP01"
//!  8  u64      dynamic bodies in a frame, in scene order
//! 16  u64      frames; frame 0 is the start state
//! 24  u64      physics steps between two frames
//! 32  f64      length of a step, s
//! 40  frames × bodies × 7 × f32: position x, y, z (m), orientation w, x, y, z
//! ```
//!
//! Frame n shows the state after n times that many steps, so frames are equally far apart in
//! simulated time. Where the steps of the run are no multiple of it, the final state is in no
//! frame; gates and digest are of the final state all the same.

use crate::calibration::CapacityReport;
use serde::{Deserialize, Serialize};

/// What a capture run wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaptureReport {
    /// File in the output folder.
    pub file: String,
    /// Number of frames, the start state included.
    pub frames: u64,
    /// Dynamic bodies in each frame.
    pub bodies: u64,
    /// Physics steps between two frames.
    pub steps_per_frame: u64,
    /// Simulated time between two frames, s.
    pub interval_s: f64,
    /// Whether it ended where the timed run ended.
    pub final_state: StateComparison,
    /// What every step asked of buffers of fixed size; absent for engines without such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacities: Option<CapacityReport>,
}

/// The final state of a capture beside that of world 0 of the timed run that it replays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "status", deny_unknown_fields)]
pub enum StateComparison {
    /// The same bits.
    Same,
    /// Other bits, in an engine that does not promise the same.
    Differs {
        /// Why it promises nothing.
        reason: String,
    },
    /// Nothing was compared.
    NotCompared {
        /// Why.
        reason: String,
    },
}

/// First bytes of a capture file.
pub const MAGIC: [u8; 8] = *b"SIMCAP01";
/// Bytes before the first frame.
pub const HEADER_BYTES: usize = 40;
/// Numbers of one pose.
const POSE: usize = 7;

/// What the head of a capture file says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaptureHeader {
    /// Dynamic bodies in a frame.
    pub bodies: u64,
    /// Number of frames.
    pub frames: u64,
    /// Physics steps between two frames.
    pub steps_per_frame: u64,
    /// Length of a step, s.
    pub timestep: f64,
}

impl CaptureHeader {
    /// The header as it stands in the file.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.bodies.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.frames.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.steps_per_frame.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.timestep.to_le_bytes());
        bytes
    }
}

/// A capture file in memory, its length checked against its header.
#[derive(Debug)]
pub struct Capture<'a> {
    /// What its head says.
    pub header: CaptureHeader,
    body: &'a [u8],
}

impl<'a> Capture<'a> {
    /// Reads a whole file; says what is wrong with one that is none.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let (head, body) = bytes
            .split_at_checked(HEADER_BYTES)
            .ok_or_else(|| format!("{} bytes are too few for a capture", bytes.len()))?;
        if head[..8] != MAGIC {
            return Err("does not start with SIMCAP01".into());
        }
        let word = |at: usize| <[u8; 8]>::try_from(&head[at..at + 8]).unwrap_or_default();
        let header = CaptureHeader {
            bodies: u64::from_le_bytes(word(8)),
            frames: u64::from_le_bytes(word(16)),
            steps_per_frame: u64::from_le_bytes(word(24)),
            timestep: f64::from_le_bytes(word(32)),
        };
        let expected = header
            .bodies
            .checked_mul(header.frames)
            .and_then(|poses| poses.checked_mul(4 * POSE as u64));
        if expected != Some(body.len() as u64) {
            let (f, b) = (header.frames, header.bodies);
            return Err(format!("{f} frames of {b} bodies do not fill {} bytes", body.len()));
        }
        Ok(Capture { header, body })
    }

    /// The poses of one frame: position x, y, z and orientation w, x, y, z.
    pub fn frame(&self, index: u64) -> impl Iterator<Item = [f32; POSE]> + use<'a> {
        let size = self.header.bodies as usize * POSE * 4;
        let start = (index as usize).saturating_mul(size);
        let bytes = self.body.get(start..start.saturating_add(size)).unwrap_or(&[]);
        bytes.chunks_exact(4 * POSE).map(|pose| {
            std::array::from_fn(|i| {
                f32::from_le_bytes([pose[4 * i], pose[4 * i + 1], pose[4 * i + 2], pose[4 * i + 3]])
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_reads_back_and_a_lie_is_refused() {
        let header = CaptureHeader { bodies: 2, frames: 3, steps_per_frame: 4, timestep: 0.25 };
        let mut file = header.to_bytes().to_vec();
        for x in 0..2 * 3 * 7 {
            file.extend((x as f32).to_le_bytes());
        }
        let capture = Capture::read(&file).unwrap();
        assert_eq!(capture.header, header);
        let last: Vec<_> = capture.frame(2).collect();
        assert_eq!(last[1], [35.0, 36.0, 37.0, 38.0, 39.0, 40.0, 41.0]);
        assert_eq!(capture.frame(3).count(), 0);
        assert!(Capture::read(&file[..file.len() - 1]).is_err());
        let huge = CaptureHeader { bodies: u64::MAX, ..header }.to_bytes();
        assert!(Capture::read(&huge).is_err());
        assert!(Capture::read(b"SIMCAP01").is_err());
    }
}
