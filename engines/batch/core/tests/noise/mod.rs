//! Reproducible numbers (splitmix64).

pub struct Noise(pub u64);

impl Noise {
    /// Even between -1 and 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Near enough to normal: mean 0, variance 1.
    #[allow(dead_code, reason = "each test program uses a part")]
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| 0.5 * self.next()).sum()
    }
}
