//! Pose tracks for the interactive replay: everything a viewer needs to show one capture, quantised,
//! little-endian.
//!
//! ```text
//!  0  8 bytes  magic "SIMTRK02"
//!  8  u32      moving bodies in a frame
//! 12  u32      frames
//! 16  u32      solids
//! 20  f32      side of the ground's squares, m
//! 24  f64      simulated time between two frames, s
//! 32  3 × f32  least x, y, z of all positions, m
//! 44  3 × f32  largest
//! 56  3 × f32  the camera's eye, m
//! 68  3 × f32  what it looks at, m
//! 80  u32      1 where the camera goes with the bodies: eye and what it looks at are then relative to the
//!              medians of x and of y of all finite poses of a frame; else 0
//! 84  solids × 52 bytes: i32 body that moves it, -1 for none; u32 form (0 box, 1 sphere, 2 capsule, 3 cylinder);
//!              3 × f32 size, m (half edges; radius; radius, half length);
//!              7 × f32 place in that body's frame, or in the world: x, y, z, w, x, y, z;
//!              u32 colour, 0xRRGGBB, 0 where nothing moves it
//!  .  frames × bodies × 3 × u16: position; 0 is the least, 65535 the largest
//!  .  frames × bodies × 4 × i16: orientation w, x, y, z times 32767; four times -32768 where the
//!              pose is not finite
//! ```
//!
//! A coordinate is at most half a step off: (largest − least) / 131,070, 0.15 mm over 20 m. A component of
//! the orientation is at most 1/65,534 off, which turns a body by less than 0.0001 rad.

use crate::camera::Camera;
use crate::palette;
use crate::solid::{Form, Solid};

const MAGIC: &[u8; 8] = b"SIMTRK02";
/// Bytes of one pose.
const POSE: usize = 14;
/// Bytes before the solids.
const HEAD: usize = 84;
/// Bytes of one solid.
const SOLID: usize = 52;
/// Most bytes of a track: as text in a script they stay below 2 MB.
const MOST: usize = 1_450_000;
/// With fewer frames than this nothing is left of the motion.
const LEAST_FRAMES: usize = 8;
/// A pose that is not finite.
const ABSENT: [i16; 4] = [i16::MIN; 4];

/// What a track is made from.
pub(crate) struct Source<'a> {
    pub(crate) solids: &'a [Solid],
    /// All frames of the capture: position x, y, z (m) and orientation w, x, y, z.
    pub(crate) frames: &'a [Vec<[f32; 7]>],
    /// Simulated time between two frames, s.
    pub(crate) interval: f64,
    pub(crate) camera: &'a Camera,
    /// Whether it goes with the bodies.
    pub(crate) follows: bool,
    pub(crate) cell: f32,
    pub(crate) style: usize,
}

/// A finished track.
#[derive(Debug, PartialEq)]
pub(crate) struct Track {
    pub(crate) bytes: Vec<u8>,
    /// Frames of the capture for each of the track.
    pub(crate) stride: usize,
    /// The largest error of a coordinate, m.
    pub(crate) position_error: f64,
}

/// How many frames of the capture make one of the track: the least that keeps it small enough.
/// `None` where too little would be left of the motion.
pub(crate) fn stride(solids: usize, bodies: usize, frames: usize) -> Option<usize> {
    let room = MOST.checked_sub(HEAD + solids * SOLID)?;
    let most = (room / (bodies.max(1) * POSE)).max(1);
    let stride = (1..=frames.max(1)).find(|s| kept(frames, *s) <= most)?;
    (kept(frames, stride) >= LEAST_FRAMES.min(frames)).then_some(stride)
}

/// Frames that remain of `frames` when every `stride`-th is taken, the first included.
fn kept(frames: usize, stride: usize) -> usize {
    frames.div_ceil(stride)
}

/// The track of a capture, or why there is none.
pub(crate) fn track(source: &Source<'_>) -> Result<Track, String> {
    let bodies = source.frames.first().map_or(0, Vec::len);
    let stride = stride(source.solids.len(), bodies, source.frames.len()).ok_or_else(|| {
        format!(
            "{bodies} bodies are too many for an interactive replay; the pictures show them all"
        )
    })?;
    let frames: Vec<&Vec<[f32; 7]>> = source.frames.iter().step_by(stride).collect();
    let (low, high) = bounds(&frames);
    let mut out = Vec::with_capacity(MOST.min(HEAD + frames.len() * bodies * POSE));
    out.extend_from_slice(MAGIC);
    for n in [bodies, frames.len(), source.solids.len()] {
        out.extend_from_slice(&(n as u32).to_le_bytes());
    }
    floats(&mut out, &[source.cell]);
    out.extend_from_slice(&(source.interval * stride as f64).to_le_bytes());
    floats(&mut out, &low);
    floats(&mut out, &high);
    floats(&mut out, &source.camera.eye);
    floats(&mut out, &source.camera.target);
    out.extend_from_slice(&u32::from(source.follows).to_le_bytes());
    source.solids.iter().for_each(|s| solid(&mut out, s, source.style));
    let all = || frames.iter().flat_map(|f| f.iter());
    for pose in all() {
        for k in 0..3 {
            out.extend_from_slice(&position(pose[k], low[k], high[k]).to_le_bytes());
        }
    }
    for pose in all() {
        orientation(pose).iter().for_each(|q| out.extend_from_slice(&q.to_le_bytes()));
    }
    let span = (0..3).map(|k| f64::from(high[k]) - f64::from(low[k])).fold(0.0, f64::max);
    Ok(Track { bytes: out, stride, position_error: span / 131_070.0 })
}

fn floats(out: &mut Vec<u8>, values: &[f32]) {
    values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
}

fn finite(pose: &[f32; 7]) -> bool {
    pose.iter().all(|v| v.is_finite())
}

/// Least and largest coordinates of all finite poses; two equal points where there are none.
fn bounds(frames: &[&Vec<[f32; 7]>]) -> ([f32; 3], [f32; 3]) {
    let (mut low, mut high) = ([f32::MAX; 3], [f32::MIN; 3]);
    for pose in frames.iter().flat_map(|f| f.iter()).filter(|p| finite(p)) {
        for k in 0..3 {
            low[k] = low[k].min(pose[k]);
            high[k] = high[k].max(pose[k]);
        }
    }
    if low[0] > high[0] { ([0.0; 3], [0.0; 3]) } else { (low, high) }
}

/// In binary64, so that the error is that of the rounding alone.
fn position(x: f32, low: f32, high: f32) -> u16 {
    let (x, low, high) = (f64::from(x), f64::from(low), f64::from(high));
    let span = high - low;
    if span > 0.0 && x.is_finite() { ((x - low) / span * 65_535.0).round() as u16 } else { 0 }
}

fn orientation(pose: &[f32; 7]) -> [i16; 4] {
    let q: [f64; 4] = std::array::from_fn(|k| f64::from(pose[3 + k]));
    let norm = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    if !finite(pose) || norm < 1.0e-6 {
        return ABSENT;
    }
    q.map(|v| (v / norm * 32_767.0).round() as i16)
}

fn solid(out: &mut Vec<u8>, s: &Solid, style: usize) {
    let (form, size): (u32, [f32; 3]) = match s.form {
        Form::Box(h) => (0, h),
        Form::Sphere(r) => (1, [r, 0.0, 0.0]),
        Form::Capsule(r, l) => (2, [r, l, 0.0]),
        Form::Cylinder(r, l) => (3, [r, l, 0.0]),
    };
    let body = s.body.map_or(-1, |b| i32::try_from(b).unwrap_or(-1));
    out.extend_from_slice(&body.to_le_bytes());
    out.extend_from_slice(&form.to_le_bytes());
    floats(out, &size);
    floats(out, &s.local);
    let color = s.body.map_or(0, |b| {
        let part = palette::body(style, b).map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5) as u32);
        part[0] << 16 | part[1] << 8 | part[2]
    });
    out.extend_from_slice(&color.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::Region;

    fn source<'a>(
        solids: &'a [Solid],
        frames: &'a [Vec<[f32; 7]>],
        camera: &'a Camera,
    ) -> Source<'a> {
        Source { solids, frames, interval: 1.0 / 60.0, camera, follows: false, cell: 1.0, style: 0 }
    }

    /// Reads poses as the viewer does.
    fn poses(bytes: &[u8]) -> Vec<[f64; 7]> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let real = |at: usize| f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
        let (bodies, frames, solids) = (word(8), word(12), word(16));
        let start = HEAD + solids * SOLID;
        assert_eq!(bytes.len(), start + bodies * frames * POSE);
        let turn = start + bodies * frames * 6;
        let pose = |i: usize| {
            let coordinate = |k: usize| {
                let at = start + i * 6 + 2 * k;
                let n = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
                let (low, high) = (real(32 + 4 * k), real(44 + 4 * k));
                low + (high - low) * f64::from(n) / 65_535.0
            };
            let part = |k: usize| {
                let at = turn + i * 8 + 2 * k;
                f64::from(i16::from_le_bytes([bytes[at], bytes[at + 1]])) / 32_767.0
            };
            std::array::from_fn(|k| if k < 3 { coordinate(k) } else { part(k - 3) })
        };
        (0..bodies * frames).map(pose).collect()
    }

    /// Poses from a sequence that covers the range evenly.
    fn scattered(n: usize) -> Vec<[f32; 7]> {
        let part = |i: usize, k: usize| {
            let weyl = (i as u64 + 1).wrapping_mul(
                [
                    0x9e37_79b9_7f4a_7c15,
                    0xbf58_476d_1ce4_e5b9,
                    0x94d0_49bb_1331_11eb,
                    0xd6e8_feb8_6659_fd93,
                    0xa076_1d64_78bd_642f,
                    0xe703_7ed1_a0b4_28db,
                    0x8ebc_6af0_9c88_c6e3,
                ][k],
            );
            (weyl >> 11) as f64 / (1u64 << 53) as f64
        };
        let pose = |i: usize| {
            let q: [f64; 4] = std::array::from_fn(|k| part(i, k + 3) - 0.5);
            let norm = q.iter().map(|v| v * v).sum::<f64>().sqrt();
            std::array::from_fn(|k| {
                if k < 3 { (part(i, k) * 20.0 - 7.0) as f32 } else { (q[k - 3] / norm) as f32 }
            })
        };
        (0..n).map(pose).collect()
    }

    #[test]
    fn quantised_poses_are_within_the_bounds_that_are_promised() {
        let frames: Vec<Vec<[f32; 7]>> = scattered(2000).chunks(100).map(<[_]>::to_vec).collect();
        let region = Region { low: [0.0; 3], high: [1.0; 3] };
        let camera = Camera::on(&region, &[], [].into_iter(), 640.0, 400.0);
        let made = track(&source(&[], &frames, &camera)).unwrap();
        assert_eq!(made.stride, 1);
        assert!(made.position_error < 20.0 / 131_070.0 && made.position_error > 1.5e-4);
        let (mut worst, mut turned) = (0.0f64, 0.0f64);
        for (was, is) in frames.iter().flatten().zip(poses(&made.bytes)) {
            for k in 0..3 {
                worst = worst.max((f64::from(was[k]) - is[k]).abs());
            }
            let was = was.map(f64::from);
            let dot = |a: &[f64; 7], b: &[f64; 7]| (3..7).map(|k| a[k] * b[k]).sum::<f64>();
            let same = dot(&was, &is) / (dot(&was, &was) * dot(&is, &is)).sqrt();
            // The angle is twice the arc between the quaternions.
            turned = turned.max(2.0 * (1.0 - same * same).max(0.0).sqrt());
        }
        assert!(worst <= made.position_error * (1.0 + 1e-9), "{worst} {}", made.position_error);
        assert!(worst > 0.9 * made.position_error, "the bound is no looser than it need be");
        assert!(turned < 1.0e-4 && turned > 1.0e-5, "{turned}");
    }

    #[test]
    fn long_tracks_have_fewer_frames_and_huge_ones_are_refused() {
        assert_eq!(stride(301, 300, 121), Some(1));
        assert_eq!(stride(1001, 1000, 121), Some(2));
        assert_eq!(stride(20_000, 20_000, 121), None);
        assert_eq!(stride(1_000_000, 1_000_000, 1), None);
        assert_eq!(stride(2, 1, 3), Some(1), "a short capture is short");
        for (bodies, frames) in [(300, 121), (1000, 121), (5000, 121)] {
            let stride = stride(bodies, bodies, frames).unwrap();
            let bytes = HEAD + bodies * SOLID + kept(frames, stride) * bodies * POSE;
            assert!(bytes <= MOST && bytes * 4 / 3 < 2_000_000, "{bodies}");
        }
    }

    #[test]
    fn a_pose_that_is_not_finite_is_absent_and_spoils_no_other() {
        let frames = vec![vec![[1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0], [f32::NAN; 7]]];
        let camera = Camera::on(
            &Region { low: [0.0; 3], high: [1.0; 3] },
            &[],
            [].into_iter(),
            640.0,
            400.0,
        );
        let made = track(&source(&[], &frames, &camera)).unwrap();
        let found = poses(&made.bytes);
        assert_eq!(found[0], [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]);
        assert!(found[1][3..].iter().all(|q| *q < -1.0));
    }
}
