//! Intervals of ratios of medians, by the bootstrap over repeats (Efron, Annals of Statistics 7,
//! 1979): each repeat, a process of its own, is drawn again with replacement, and the interval holds
//! the middle 95 % of the ratios that come out (percentile method).
//!
//! For one ratio nothing is drawn at random: the medians of all resamples of n values are few, and how
//! often each comes out is known exactly (Maritz and Jarrett, JASA 73, 1978). For a mean over many
//! ratios they are drawn 10,000 times by SplitMix64 from a fixed seed, so the same samples give the
//! same interval.
//!
//! What it cannot do: from three repeats the interval is the whole range of ratios between them.
//! Of experiments without any difference 2/C(6,3), one in ten, still miss 1, because all repeats of
//! one side may lie below all of the other by chance; from five repeats on about one in twenty-five
//! do. It says nothing of other machines or other days.

use crate::stats::quantile;

/// Draws of the bootstrap of a mean.
pub(crate) const DRAWS: usize = 10_000;
/// Seed of these draws.
pub(crate) const SEED: u64 = 0x5eed;
/// What lies outside the interval at each end.
const TAIL: f64 = 0.025;

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) middle: f64,
    pub(crate) high: f64,
}

impl Interval {
    /// Whether it holds 1: then no difference is shown, and no word of ranking may be printed.
    pub(crate) fn covers_one(&self) -> bool {
        self.low <= 1.0 && 1.0 <= self.high
    }
}

/// Median of `x` over median of `y`; `None` where a side has fewer than two repeats, because one
/// repeat says nothing of how the next would come out.
pub(crate) fn ratio(x: &[f64], y: &[f64]) -> Option<Interval> {
    let (a, b) = (medians(x)?, medians(y)?);
    let mut ratios: Vec<(f64, f64)> = Vec::with_capacity(a.len() * b.len());
    for (u, p) in &a {
        ratios.extend(b.iter().map(|(v, q)| (u / v, p * q)));
    }
    ratios.sort_by(|l, r| l.0.total_cmp(&r.0));
    let (low, high) = (below(&ratios, TAIL), below(&ratios, 1.0 - TAIL));
    Some(Interval { low, middle: median(x)? / median(y)?, high })
}

/// Geometric mean of ratios of medians, one a case.
pub(crate) fn geometric_mean(cases: &[(&[f64], &[f64])]) -> Option<Interval> {
    if cases.is_empty() || cases.iter().any(|(x, y)| x.len() < 2 || y.len() < 2) {
        return None;
    }
    let count = cases.len() as f64;
    let mean = |logs: f64| (logs / count).exp();
    let middle: Option<f64> = cases.iter().map(|(x, y)| Some((median(x)? / median(y)?).ln())).sum();
    let mut rng = SplitMix(SEED);
    let mut scratch = Vec::new();
    let mut draws: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let mut one = |values: &[f64]| {
                scratch.clear();
                scratch.extend((0..values.len()).map(|_| values[rng.below(values.len())]));
                scratch.sort_by(f64::total_cmp);
                quantile(&scratch, 0.5)
            };
            mean(cases.iter().map(|(x, y)| (one(x) / one(y)).ln()).sum())
        })
        .collect();
    draws.sort_by(f64::total_cmp);
    let (low, high) = (quantile(&draws, TAIL), quantile(&draws, 1.0 - TAIL));
    Some(Interval { low, middle: mean(middle?), high })
}

fn usable(values: &[f64]) -> bool {
    values.len() >= 2 && values.iter().all(|v| v.is_finite() && *v > 0.0)
}

fn median(values: &[f64]) -> Option<f64> {
    if !values.iter().all(|v| v.is_finite() && *v > 0.0) || values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(quantile(&sorted, 0.5))
}

/// Every median that a resample of `values` can have, with its probability.
///
/// Of n draws, each at most the i-th smallest value with probability i/n, the k-th smallest draw is
/// at most that value where k draws or more are: a binomial tail. For even n the median is the mean
/// of the two middle draws, whose joint distribution follows the same way.
fn medians(values: &[f64]) -> Option<Vec<(f64, f64)>> {
    if !usable(values) {
        return None;
    }
    let mut x = values.to_vec();
    x.sort_by(f64::total_cmp);
    let n = x.len();
    let half = n / 2;
    let share = |i: usize| i as f64 / n as f64;
    let mut out = Vec::new();
    if n % 2 == 1 {
        for i in 1..=n {
            let p = tail(n, share(i), half + 1) - tail(n, share(i - 1), half + 1);
            out.push((x[i - 1], p));
        }
        return Some(out);
    }
    let power = |p: f64| p.powi(half as i32);
    for i in 1..=n {
        // The lower middle draw is x[i]: of these cases, those with a larger upper one.
        let mut rest = tail(n, share(i), half) - tail(n, share(i - 1), half);
        let lower = power(share(i)) - power(share(i - 1));
        for j in i + 1..=n {
            let upper = power(share(n - j + 1)) - power(share(n - j));
            let p = choose(n, half) * lower * upper;
            rest -= p;
            out.push((f64::midpoint(x[i - 1], x[j - 1]), p));
        }
        out.push((x[i - 1], rest.max(0.0)));
    }
    Some(out)
}

/// P(at least `k` of `n` with probability `p` each).
fn tail(n: usize, p: f64, k: usize) -> f64 {
    (k..=n).map(|j| choose(n, j) * p.powi(j as i32) * (1.0 - p).powi((n - j) as i32)).sum()
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

/// The smallest value whose cumulated probability reaches `p`; `values` are sorted.
fn below(values: &[(f64, f64)], p: f64) -> f64 {
    let mut sum = 0.0;
    for (value, weight) in values {
        sum += weight;
        // Sums of probabilities are rounded; a billionth is no evidence.
        if sum >= p - 1e-9 {
            return *value;
        }
    }
    values.last().map_or(f64::NAN, |v| v.0)
}

/// SplitMix64 (Steele, Lea and Flood 2014), as the scenes use it.
struct SplitMix(u64);

impl SplitMix {
    /// A number below `n`. The bias of the remainder is below n/2⁶⁴.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    /// Of 27 resamples of three values 7, 13 and 7 have each of them as their median (Efron 1979).
    #[test]
    fn the_medians_of_three_values_are_those_of_the_paper() {
        let list = medians(&[3.0, 1.0, 2.0]).expect("medians");
        for ((value, p), (v, count)) in list.iter().zip([(1.0, 7.0), (2.0, 13.0), (3.0, 7.0)]) {
            assert_eq!(*value, v);
            near(*p, count / 27.0);
        }
    }

    /// Against every one of the nⁿ resamples, for odd and even n and with ties.
    #[test]
    fn the_exact_distribution_is_that_of_all_resamples() {
        for x in [vec![1.0, 2.0], vec![1.0, 2.0, 4.0, 8.0], vec![1.0, 2.0, 2.0, 5.0, 9.0]] {
            let n = x.len();
            let total = n.pow(n as u32);
            let mut counted = std::collections::BTreeMap::new();
            for mut code in 0..total {
                let mut draw: Vec<f64> = (0..n)
                    .map(|_| {
                        let value = x[code % n];
                        code /= n;
                        value
                    })
                    .collect();
                draw.sort_by(f64::total_cmp);
                *counted.entry(quantile(&draw, 0.5).to_bits()).or_insert(0.0) += 1.0 / total as f64;
            }
            let mut exact = std::collections::BTreeMap::new();
            for (value, p) in medians(&x).expect("medians") {
                *exact.entry(value.to_bits()).or_insert(0.0) += p;
            }
            for (value, p) in &counted {
                near(exact[value], *p);
            }
            near(exact.values().sum(), 1.0);
        }
    }

    #[test]
    fn three_repeats_give_the_whole_range_and_one_gives_none() {
        // (7/27)² = 6.7 % lies in each corner, more than the 2.5 % that are left out.
        let i = ratio(&[2.0, 2.2, 2.4], &[1.0, 1.1, 1.2]).expect("an interval");
        near(i.low, 2.0 / 1.2);
        near(i.middle, 2.0);
        near(i.high, 2.4);
        assert!(!i.covers_one());
        assert_eq!(ratio(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(ratio(&[1.0, 0.0], &[1.0, 2.0]), None);
        assert!(ratio(&[1.0, 1.3], &[1.1, 1.2]).expect("an interval").covers_one());
        let same = ratio(&[3.0; 5], &[3.0; 5]).expect("an interval");
        assert_eq!((same.low, same.middle, same.high), (1.0, 1.0, 1.0));
        assert!(same.covers_one());
    }

    #[test]
    fn of_nine_repeats_the_outermost_do_not_decide() {
        // P(median ≤ x(1)) = P(Bin(9, 1/9) ≥ 5) = 0.2 %, of x(2) 2.9 %: the second is the lower end.
        let x: Vec<f64> = (1..=9).map(f64::from).collect();
        assert!(tail(9, 1.0 / 9.0, 5) < 0.025 && tail(9, 2.0 / 9.0, 5) > 0.025);
        let i = ratio(&x, &[1.0, 1.0]).expect("an interval");
        assert_eq!((i.low, i.high), (2.0, 8.0));
        assert_eq!(i.middle, 5.0);
    }

    #[test]
    fn a_mean_of_known_ratios_is_known_and_repeats() {
        // 2 and 8 without any spread: √16 = 4.
        let (two, eight, one) = ([2.0; 3], [8.0; 3], [1.0; 3]);
        let fixed = geometric_mean(&[(&two, &one), (&eight, &one)]).expect("a mean");
        for v in [fixed.low, fixed.middle, fixed.high] {
            near(v, 4.0);
        }
        let x = [1.0, 1.1, 1.3, 1.2, 0.9];
        let cases: Vec<(&[f64], &[f64])> = vec![(&x, &x); 4];
        let (a, b) = (geometric_mean(&cases), geometric_mean(&cases));
        assert_eq!(a, b, "the same samples give the same interval");
        let a = a.expect("a mean");
        assert!(a.covers_one() && a.middle == 1.0, "{a:?}");
        // Four cases are known better than one.
        let single = ratio(&x, &x).expect("an interval");
        assert!(a.high / a.low < single.high / single.low);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[(&two, &[1.0])]), None);
    }

    /// Of many A/A experiments without any difference few exclude 1: about 4 % with seven repeats, and
    /// with three 2/C(6,3), which is 10 %.
    #[test]
    fn controls_without_a_difference_cover_one() {
        for (repeats, most) in [(3, 65), (7, 35)] {
            let mut rng = SplitMix(1);
            let mut draw = || 1.0 + rng.below(1_000_000) as f64 * 1e-7;
            let outside = (0..500)
                .filter(|_| {
                    let (a, b): (Vec<f64>, Vec<f64>) =
                        (0..repeats).map(|_| (draw(), draw())).unzip();
                    !ratio(&a, &b).expect("an interval").covers_one()
                })
                .count();
            assert!(outside <= most, "{outside} of 500 with {repeats}");
        }
    }
}
