//! The two elliptic functions that a pendulum needs, by the arithmetic-geometric mean.

use std::f64::consts::FRAC_PI_2;

/// Enough halvings for binary64: the mean converges quadratically.
const MOST: usize = 12;

/// The complete elliptic integral of the first kind K(k) for the modulus 0 ≤ k < 1:
/// K = π / (2·agm(1, √(1 - k²))). Source: NIST Digital Library of Mathematical Functions,
/// equation 19.8.5.
pub(crate) fn complete(k: f64) -> f64 {
    let (mut a, mut b) = (1.0, complement(k));
    for _ in 0..MOST {
        (a, b) = (f64::midpoint(a, b), (a * b).sqrt());
    }
    FRAC_PI_2 / a
}

/// Jacobi's sn(u, k) for the modulus 0 ≤ k < 1, by descending Landen transformations:
/// φ_N = 2^N·a_N·u, then sin(2·φ_(n-1) - φ_n) = c_n/a_n·sin φ_n down to φ_0, whose sine it is. Source:
/// NIST Digital Library of Mathematical Functions, section 22.20(ii); Abramowitz and Stegun, 16.4.
pub(crate) fn sn(u: f64, k: f64) -> f64 {
    let (mut a, mut b) = (1.0, complement(k));
    let mut ratios = [0.0; MOST];
    let mut scale = 1.0;
    let mut used = 0;
    while used < MOST {
        let c = (a - b) / 2.0;
        (a, b) = (f64::midpoint(a, b), (a * b).sqrt());
        ratios[used] = c / a;
        used += 1;
        scale *= 2.0;
        if c.abs() <= f64::EPSILON * a {
            break;
        }
    }
    let mut phi = scale * a * u;
    for ratio in ratios[..used].iter().rev() {
        phi = f64::midpoint(phi, (ratio * phi.sin()).asin());
    }
    phi.sin()
}

/// √(1 - k²) without cancellation.
fn complement(k: f64) -> f64 {
    ((1.0 - k) * (1.0 + k)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, slack: f64) {
        assert!((a - b).abs() <= slack, "{a} is not {b}");
    }

    /// Abramowitz and Stegun, table 17.1, by the parameter m = k²: 0, 0.5, 0.9.
    #[test]
    fn the_integral_is_that_of_the_tables() {
        for (m, value) in
            [(0.0, FRAC_PI_2), (0.5, 1.854_074_677_301_372), (0.9, 2.578_092_113_348_173)]
        {
            near(complete(f64::sqrt(m)), value, 1e-14);
        }
    }

    #[test]
    fn sn_has_its_known_values() {
        // k = 0 is the sine; k → 1 the hyperbolic tangent.
        for u in [-1.3, 0.0, 0.4, 2.0, 5.0] {
            near(sn(u, 0.0), u.sin(), 1e-14);
        }
        near(sn(0.7, 0.999_999_999_9), 0.7_f64.tanh(), 1e-8);
        // sn(K) = 1 and sn(K/2) = 1/√(1 + k'), DLMF table 22.5.2.
        for k in [0.1, 0.5, 0.8, 0.99] {
            let full = complete(k);
            near(sn(full, k), 1.0, 1e-14);
            near(sn(full / 2.0, k), (1.0 + complement(k)).sqrt().recip(), 1e-13);
            near(sn(full * 4.0 + 0.3, k), sn(0.3, k), 1e-12);
        }
    }
}
