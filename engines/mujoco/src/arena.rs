//! The arena: MuJoCo reserves one block a world for contacts and constraints. Its automatic size
//! stays unless it cannot be allocated; then it is capped at min(16 GiB, half the memory).

const GIB: u64 = 1 << 30;

/// The size an arena is capped at, bytes.
pub(crate) fn cap() -> u64 {
    cap_for(physical_memory())
}

fn cap_for(memory: Option<u64>) -> u64 {
    memory.map_or(16 * GIB, |m| (m / 2).min(16 * GIB))
}

/// Whether the system would give a block of that size now. The block is not touched.
pub(crate) fn can_allocate(bytes: u64) -> bool {
    let Ok(bytes) = usize::try_from(bytes) else { return false };
    let mut block: Vec<u8> = Vec::new();
    block.try_reserve_exact(bytes).is_ok()
}

/// Physical memory, bytes.
fn physical_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_is_the_smaller_of_16_gib_and_half_the_memory() {
        assert_eq!(cap_for(Some(8 * GIB)), 4 * GIB);
        assert_eq!(cap_for(Some(128 * GIB)), 16 * GIB);
        assert_eq!(cap_for(None), 16 * GIB);
        assert!(physical_memory().unwrap() > GIB / 4);
    }

    #[test]
    fn what_fits_and_what_does_not() {
        assert!(can_allocate(1 << 20));
        assert!(!can_allocate(1 << 60));
        assert!(!can_allocate(u64::MAX));
    }
}
