//! Small texts for people: times, sizes, counts. Standard output is for data, standard error for
//! everything said about it.

use std::io::Write as _;
use std::time::Duration;

/// Writes a line of data. A reader that went away (`| head`) ends the program quietly.
pub(crate) fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    if let Err(e) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(b"\n")) {
        gone(&e);
    }
}

/// Writes bytes of data as they are.
pub(crate) fn out_bytes(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    if let Err(e) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        gone(&e);
    }
}

/// Ends the program because standard output takes no more: quietly when the reader went away.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody reads any more: there is nothing to return to"
)]
fn gone(e: &std::io::Error) -> ! {
    if e.kind() == std::io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    say(&format!("error: standard output: {e}"));
    std::process::exit(i32::from(crate::error::exit::INTERNAL));
}

/// Says something about what is done.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// `1 action`, `3 actions`.
pub(crate) fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// A duration with three significant digits.
pub(crate) fn duration(d: Duration) -> String {
    let s = d.as_secs_f64();
    if s < 0.0995 {
        format!("{:.0} ms", s * 1e3)
    } else if s < 9.95 {
        format!("{s:.1} s")
    } else if s < 99.5 {
        format!("{s:.0} s")
    } else {
        format!("{} min {:02} s", (s / 60.0) as u64, (s % 60.0) as u64)
    }
}

/// Bytes in binary units.
pub(crate) fn bytes(n: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut x = n as f64;
    let mut unit = 0;
    while x >= 1024.0 && unit + 1 < units.len() {
        x /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{x:.1} {}", units[unit]) }
}

/// A moment as `2026-11-30 20:15:00 UTC`, from milliseconds since 1970.
pub(crate) fn moment(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (days, rest) = ((seconds / 86_400).cast_signed(), seconds % 86_400);
    // Civil date from a day count (Howard Hinnant's algorithm, proleptic Gregorian calendar).
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (h, m, s) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(moment(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(moment(1_709_164_800_000), "2024-02-29 00:00:00 UTC");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(duration(Duration::from_millis(42)), "42 ms");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 05 s");
    }
}
