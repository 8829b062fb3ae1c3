//! Scales with ticks that people would choose.

/// Maps values to coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    linear: bool,
}

impl Scale {
    /// A linear scale over finite values, with a little room at both ends; `None` where there are none.
    pub(crate) fn linear(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (low, high) = range(values.filter(|v| v.is_finite()))?;
        // A constant lies in the middle of something.
        let room = if high > low { (high - low) * 0.04 } else { low.abs().max(1e-6) * 0.5 };
        Some(Self { low: low - room, high: high + room, from, to, linear: true })
    }

    /// Widens the finer of two linear scales until both have as many units to the pixel.
    pub(crate) fn equal(x: Self, y: Self) -> (Self, Self) {
        let unit = |s: &Self| (s.high - s.low) / (s.to - s.from).abs();
        let most = unit(&x).max(unit(&y));
        let widened = |s: Self| {
            let (middle, half) = (f64::midpoint(s.low, s.high), most * (s.to - s.from).abs() / 2.0);
            Self { low: middle - half, high: middle + half, ..s }
        };
        (widened(x), widened(y))
    }

    /// A logarithmic scale over positive values, with room at both ends; `None` where there are
    /// none. It spans at least a factor of `span`, so that values that hardly differ look so.
    pub(crate) fn log(
        values: impl Iterator<Item = f64>,
        from: f64,
        to: f64,
        span: f64,
    ) -> Option<Self> {
        let (low, high) = range(values.filter(|v| *v > 0.0 && v.is_finite()))?;
        let room = 10f64.powf(((high / low).log10() * 0.06).max(0.04));
        let widen = (span / (high / low)).max(1.0).sqrt();
        let (low, high) = (low / room / widen, high * room * widen);
        Some(Self { low, high, from, to, linear: false })
    }

    /// Where a value lies.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = if self.linear {
            (value - self.low) / (self.high - self.low)
        } else {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        };
        self.from + share.clamp(-0.1, 1.1) * (self.to - self.from)
    }

    /// Ticks with their labels, at least `gap` apart, and unlabelled ones in between.
    pub(crate) fn ticks(&self, gap: f64) -> (Vec<(f64, String)>, Vec<f64>) {
        if self.linear {
            return (self.round(gap), Vec::new());
        }
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let within = |v: &f64| (self.low..=self.high).contains(v);
        let steps = |digits: &[f64], every: i32| -> Vec<f64> {
            (first..=last)
                .filter(|e| e.rem_euclid(every) == 0)
                .flat_map(|e| digits.iter().map(move |d| power(*d, e)))
                .filter(within)
                .collect()
        };
        let fine =
            [1.0, 1.1, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0];
        let choices = [
            steps(&fine, 1),
            steps(&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], 1),
            steps(&[1.0, 2.0, 5.0], 1),
            steps(&[1.0, 3.0], 1),
            steps(&[1.0], 1),
            steps(&[1.0], 2),
            steps(&[1.0], 3),
        ];
        let apart = |values: &[f64]| {
            values.windows(2).all(|pair| (self.at(pair[1]) - self.at(pair[0])).abs() >= gap)
        };
        let labelled = choices.iter().find(|c| apart(c)).or_else(|| choices.last()).cloned();
        let labelled = labelled.unwrap_or_default();
        let minor = if (self.high / self.low) < 2000.0 {
            steps(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 1)
        } else {
            steps(&[1.0], 1)
        };
        let minor = minor.into_iter().filter(|m| !labelled.contains(m)).collect();
        (labelled.into_iter().map(|v| (v, label(v))).collect(), minor)
    }
}

impl Scale {
    /// Multiples of the least of 1, 2, 5 · 10ⁿ that lie at least `gap` apart.
    fn round(&self, gap: f64) -> Vec<(f64, String)> {
        let least = gap * (self.high - self.low) / (self.to - self.from).abs();
        let mut exponent = least.log10().floor() as i32;
        let digits = [1_i64, 2, 5, 10];
        let Some(mut digit) = digits.into_iter().find(|d| power(*d as f64, exponent) >= least)
        else {
            return Vec::new();
        };
        if digit == 10 {
            (digit, exponent) = (1, exponent + 1);
        }
        let step = power(digit as f64, exponent);
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last)
            .map(|n| {
                // From its decimal text, so that no rounding shows.
                let value = power((n * digit) as f64, exponent);
                let places = usize::try_from(-exponent).unwrap_or(0);
                let size = value.abs();
                let text = match places {
                    _ if n == 0 && places > 4 => "0".to_owned(),
                    5.. => label(size),
                    _ => format!("{size:.places$}"),
                };
                (value, if n < 0 { format!("\u{2212}{text}") } else { text })
            })
            .collect()
    }
}

/// `digit` x 10^`exponent` as the nearest double of its decimal text.
fn power(digit: f64, exponent: i32) -> f64 {
    format!("{digit}e{exponent}").parse().unwrap_or(f64::NAN)
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((low.min(v), high.max(v))),
    })
}

/// A tick's label: `10⁻⁷`, `0.01`, `1`, `200`, `5k`, `2M`.
fn label(value: f64) -> String {
    if value < 9.999e-5 {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let power = format!("10{}", crate::number::superscript(exponent.parse().unwrap_or(0)));
        return if digits == "1" { power } else { format!("{digits}\u{b7}{power}") };
    }
    let (scaled, unit) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e3 => (v / 1e3, "k"),
        v => (v, ""),
    };
    // Ticks are short decimals, and the shortest text of a double is what was meant.
    format!("{scaled}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_few_and_within() {
        let s = Scale::log([0.01, 20.0].into_iter(), 0.0, 100.0, 3.0).unwrap();
        let (ticks, _) = s.ticks(15.0);
        let labels: Vec<&str> = ticks.iter().map(|(_, l)| l.as_str()).collect();
        assert_eq!(labels, ["0.01", "0.1", "1", "10"]);
        let s = Scale::log([100.0, 4000.0].into_iter(), 0.0, 100.0, 3.0).unwrap();
        let (ticks, _) = s.ticks(15.0);
        let labels: Vec<&str> = ticks.iter().map(|(_, l)| l.as_str()).collect();
        assert_eq!(labels, ["100", "200", "500", "1k", "2k"]);
    }

    #[test]
    fn linear_ticks_are_round_and_keep_their_signs() {
        let s = Scale::linear([-0.25, 0.31].into_iter(), 0.0, 200.0).unwrap();
        let labels: Vec<String> = s.ticks(30.0).0.into_iter().map(|(_, l)| l).collect();
        assert_eq!(labels, ["−0.2", "−0.1", "0.0", "0.1", "0.2", "0.3"]);
        let s = Scale::linear([0.0, 2.5e-6].into_iter(), 0.0, 100.0).unwrap();
        assert_eq!(s.ticks(30.0).0[1].1, "10⁻⁶");
        let s = Scale::linear([0.0, 3.9e-5].into_iter(), 0.0, 150.0).unwrap();
        let labels: Vec<String> = s.ticks(30.0).0.into_iter().map(|(_, l)| l).collect();
        assert_eq!(labels, ["0", "10⁻⁵", "2·10⁻⁵", "3·10⁻⁵", "4·10⁻⁵"], "no rounding shows");
        let s = Scale::linear([7.0, 7.0].into_iter(), 100.0, 0.0).unwrap();
        assert!((s.at(7.0) - 50.0).abs() < 1e-9);
        // A hundred metres by one, each as many to the pixel.
        let x = Scale::linear([0.0, 100.0].into_iter(), 0.0, 300.0).unwrap();
        let y = Scale::linear([0.0, 1.0].into_iter(), 200.0, 0.0).unwrap();
        let (x, y) = Scale::equal(x, y);
        let (dx, dy) = (x.at(10.0) - x.at(0.0), y.at(0.0) - y.at(10.0));
        assert!((dx - dy).abs() < 1e-9 && dx > 20.0, "{dx} {dy}");
    }

    #[test]
    fn a_single_value_sits_in_the_middle() {
        let s = Scale::log([5.0].into_iter(), 0.0, 100.0, 3.0).unwrap();
        assert_eq!([0.015, 1500.0, 0.0007].map(label), ["0.015", "1.5k", "0.0007"]);
        assert_eq!([1e-4, 1e-5, 3e-12].map(label), ["0.0001", "10⁻⁵", "3·10⁻¹²"]);
        assert!((s.at(5.0) - 50.0).abs() < 1e-9);
        assert!(Scale::log([0.0, f64::NAN].into_iter(), 0.0, 1.0, 3.0).is_none());
    }
}
