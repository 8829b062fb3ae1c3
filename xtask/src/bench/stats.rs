//! The few numbers that are made of many.

/// The middle of some numbers.
pub(super) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The least of some numbers.
pub(super) fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Resamples for an interval.
const RESAMPLES: usize = 10_000;

/// The interval that holds the median with 95 % confidence: percentiles of the medians of samples
/// drawn from the numbers, with the same draws every time.
pub(super) fn interval(numbers: &[f64]) -> (f64, f64) {
    if numbers.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    // Plain splitmix64: what matters is that nobody chose the draws.
    let mut state = 0u64;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        numbers[((z ^ (z >> 31)) % numbers.len() as u64) as usize]
    };
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| median(&(0..numbers.len()).map(|_| draw()).collect::<Vec<_>>()))
        .collect();
    medians.sort_by(f64::total_cmp);
    (medians[RESAMPLES / 40], medians[RESAMPLES - 1 - RESAMPLES / 40])
}

/// What an interval says of a goal that is an interval too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The whole interval lies within the goal.
    Shown,
    /// Part of it does: neither shown nor missed.
    NotShown,
    /// None of it does.
    Missed,
}

/// Compares an interval with a goal.
pub(super) fn verdict(interval: (f64, f64), goal: (f64, f64)) -> Verdict {
    if interval.0 >= goal.0 && interval.1 <= goal.1 {
        Verdict::Shown
    } else if interval.1 < goal.0 || interval.0 > goal.1 {
        Verdict::Missed
    } else {
        // Also where the numbers are none: nothing was shown.
        Verdict::NotShown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_least() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!((least(&[3.0, 1.0, 2.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_interval_holds_the_median_and_narrows_with_more_numbers() {
        let numbers = |n: usize| -> Vec<f64> {
            (0..n).map(|i| 1.0 + ((i * 37 % 101) as f64 - 50.0) / 5e3).collect()
        };
        let (few, many) = (interval(&numbers(7)), interval(&numbers(101)));
        assert!(many.0 <= 1.0 && 1.0 <= many.1, "{many:?}");
        assert!(many.1 - many.0 < few.1 - few.0, "{few:?} {many:?}");
        assert_eq!(interval(&[1.5; 5]), (1.5, 1.5));
    }

    #[test]
    fn a_goal_is_shown_not_shown_or_missed() {
        let goal = (0.99, 1.01);
        for (interval, expected) in [
            ((0.995, 1.004), Verdict::Shown),
            ((0.985, 1.004), Verdict::NotShown),
            ((0.9, 1.1), Verdict::NotShown),
            ((1.02, 1.03), Verdict::Missed),
            ((0.9, 0.98), Verdict::Missed),
            ((f64::NAN, f64::NAN), Verdict::NotShown),
        ] {
            assert_eq!(verdict(interval, goal), expected, "{interval:?}");
        }
    }
}
