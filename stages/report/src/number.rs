//! How numbers are written: one format each, so that the same value always gives the same text.

/// A narrow space that keeps digit groups together on one line.
const THIN: char = '\u{202f}';

/// `digits` significant digits, thousands apart; below 10^-4 and from 10^9 on with a power of ten.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "not finite".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // The exponent after rounding: 9.996 has three digits as 10.0, not 10.00.
    let scientific = format!("{:.*e}", digits.saturating_sub(1), value);
    let exponent: i32 =
        scientific.rsplit_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or_default();
    if !(-4..9).contains(&exponent) {
        let mantissa = scientific.split('e').next().unwrap_or_default().replace('-', "\u{2212}");
        return format!("{mantissa}\u{d7}10{}", superscript(exponent));
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let scale = 10f64.powi((exponent + 1 - digits as i32).max(0));
    group(&format!("{:.*}", decimals, (value / scale).round_to(decimals) * scale))
}

/// Raised digits.
pub(crate) fn superscript(n: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    n.to_string().chars().map(raised).collect()
}

trait RoundTo {
    fn round_to(self, decimals: usize) -> f64;
}

impl RoundTo for f64 {
    /// Rounds whole numbers only; decimals are left to the formatter, which rounds exactly.
    fn round_to(self, decimals: usize) -> f64 {
        if decimals == 0 { self.round() } else { self }
    }
}

/// Digits of a whole number in groups of three from five digits on.
pub(crate) fn whole(value: u64) -> String {
    group(&value.to_string())
}

fn group(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |r| ("\u{2212}", r));
    let (int, frac) = rest.split_once('.').map_or((rest, None), |(i, f)| (i, Some(f)));
    let mut out = String::from(sign);
    for (i, c) in int.chars().enumerate() {
        if i > 0 && int.len() > 4 && (int.len() - i).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(c);
    }
    if let Some(frac) = frac {
        out.push('.');
        out.push_str(frac);
    }
    out
}

/// Every digit of a double: the shortest text that reads back as the same value.
pub(crate) fn full(value: f64) -> String {
    format!("{value:?}")
}

/// A duration in the unit that suits it.
pub(crate) fn seconds(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        0.0 => (0.0, "s"),
        v if v < 1e-3 => (value * 1e6, "\u{b5}s"),
        v if v < 1.0 => (value * 1e3, "ms"),
        _ => (value, "s"),
    };
    format!("{}\u{a0}{unit}", significant(scaled, 3))
}

/// Bytes in a binary unit.
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let text = if unit == 0 { whole(value) } else { significant(scaled, 3) };
    format!("{text}\u{a0}{}", UNITS[unit])
}

/// A duration of one step as the fraction that people write, such as `1/240 s`.
pub(crate) fn timestep(value: f64) -> String {
    let inverse = 1.0 / value;
    if value > 0.0 && value < 0.1 && (inverse - inverse.round()).abs() < 1e-6 {
        let exact = significant(value, 3);
        let short = exact.trim_end_matches('0');
        if short.len() <= 6 && short.replace(THIN, "").parse() == Ok(value) {
            return format!("{}\u{a0}ms", trimmed(value * 1e3));
        }
        return format!("1/{}\u{a0}s", inverse.round());
    }
    format!("{}\u{a0}s", significant(value, 4))
}

fn trimmed(value: f64) -> String {
    let text = significant(value, 4);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Milliseconds since 1970 as `YYYY-MM-DD HH:MM UTC`; the proleptic Gregorian calendar.
pub(crate) fn date(unix_ms: u64) -> String {
    let minutes = unix_ms / 60_000;
    let (days, rest) = (minutes / 1440, minutes % 1440);
    // Days since 0000-03-01, in eras of 400 years.
    let z = days + 719_468;
    let era = z / 146_097;
    let of_era = z % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 60, rest % 60)
}

/// Two such times with their common parts written once.
pub(crate) fn span(first_ms: u64, last_ms: u64) -> String {
    let (first, last) = (date(first_ms), date(last_ms));
    if first == last {
        return first;
    }
    let short = first.trim_end_matches(" UTC");
    if first[..10] == last[..10] {
        format!("{short} to {}", &last[11..])
    } else {
        format!("{short} to {last}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_survive_rounding_up() {
        assert_eq!(significant(0.000512345, 3), "0.000512");
        assert_eq!(significant(9.996, 3), "10.0");
        assert_eq!(significant(12.0, 3), "12.0");
        assert_eq!(significant(1234.0, 3), "1230");
        assert_eq!(significant(123_456.0, 3), "123\u{202f}000");
        assert_eq!(significant(-0.5, 3), "\u{2212}0.500");
        assert_eq!(significant(1.5e-9, 2), "1.5\u{d7}10⁻⁹");
        assert_eq!(significant(-5.54e-5, 3), "\u{2212}5.54\u{d7}10⁻⁵");
        assert_eq!(significant(f64::NAN, 3), "not finite");
        assert_eq!(significant(0.0, 3), "0");
    }

    #[test]
    fn units_suit_the_value() {
        assert_eq!(bytes(0), "0\u{a0}B");
        assert_eq!(bytes(1536), "1.50\u{a0}KiB");
        assert_eq!(bytes(52_428_800), "50.0\u{a0}MiB");
        assert_eq!(seconds(0.0000125), "12.5\u{a0}\u{b5}s");
        assert_eq!(seconds(0.25), "250\u{a0}ms");
        assert_eq!(timestep(1.0 / 240.0), "1/240\u{a0}s");
        assert_eq!(timestep(0.002), "2\u{a0}ms");
        assert_eq!(timestep(0.5), "0.5000\u{a0}s");
        assert_eq!(whole(1234), "1234");
        assert_eq!(whole(110_000), "110\u{202f}000");
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_599_000), "2025-12-31 23:59 UTC");
        assert_eq!(span(0, 600_000), "1970-01-01 00:00 to 00:10 UTC");
        assert_eq!(span(0, 86_400_000), "1970-01-01 00:00 to 1970-01-02 00:00 UTC");
    }
}
