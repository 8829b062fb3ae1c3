//! Where the measuring programs begin: the model's reference at rest, or `fallen`, which is what MuJoCo makes of
//! it in 300 steps with joint noise and random controls, every world another.

use sim_batch::Model;
use sim_batch::mujoco::Component;
use std::error::Error;

/// A world's start: positions, velocities, controls.
pub(crate) type Start = [Vec<f64>; 3];

/// Numbers between -1 and 1 (splitmix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Starts of so many worlds: the model's reference, or `fallen`.
pub(crate) fn starts(
    model: &Model,
    worlds: usize,
    fallen: bool,
    threads: usize,
) -> Result<Vec<Start>, Box<dyn Error>> {
    let mut b = model.compiled().batch(worlds, threads)?;
    b.reset();
    if fallen {
        let mut noise = Noise(1);
        for w in 0..worlds {
            for q in b.part(w, Component::Positions).iter_mut().skip(7) {
                *q += 0.05 * noise.next();
            }
            b.part(w, Component::Controls).iter_mut().for_each(|u| *u = 0.3 * noise.next());
        }
        b.step(300);
    }
    Ok((0..worlds)
        .map(|w| {
            [Component::Positions, Component::Velocities, Component::Controls]
                .map(|c| b.part(w, c).to_vec())
        })
        .collect())
}
