//! The arena: MuJoCo reserves one block a world for contacts and constraints. Its automatic size
//! stays unless it cannot be allocated; then it is capped at min(16 GiB, half the memory).

use sim_engine_harness::EngineError;

const GIB: u64 = 1 << 30;

/// How many bytes the arena of the next world gets: the automatic size, or the cap.
pub(crate) fn choose(automatic: u64, memory: Option<u64>) -> Result<u64, EngineError> {
    if can_allocate(automatic) {
        return Ok(automatic);
    }
    let capped = cap(automatic, memory);
    if can_allocate(capped) {
        return Ok(capped);
    }
    Err(EngineError::out_of_memory(format!(
        "neither the automatic arena of {automatic} bytes nor a capped one of {capped} bytes can \
         be allocated"
    )))
}

fn cap(automatic: u64, memory: Option<u64>) -> u64 {
    automatic.min(16 * GIB).min(memory.map_or(16 * GIB, |m| m / 2))
}

/// Whether the system would give a block of that size now. The block is not touched.
fn can_allocate(bytes: u64) -> bool {
    let Ok(bytes) = usize::try_from(bytes) else { return false };
    let mut block: Vec<u8> = Vec::new();
    block.try_reserve_exact(bytes).is_ok()
}

/// Physical memory, bytes.
pub(crate) fn physical_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_is_the_smaller_of_16_gib_and_half_the_memory() {
        assert_eq!(cap(u64::MAX, Some(8 * GIB)), 4 * GIB);
        assert_eq!(cap(u64::MAX, Some(128 * GIB)), 16 * GIB);
        assert_eq!(cap(u64::MAX, None), 16 * GIB);
        assert_eq!(cap(GIB, Some(8 * GIB)), GIB);
    }

    #[test]
    fn a_small_arena_stays_automatic_and_an_impossible_one_is_capped_or_refused() {
        assert_eq!(choose(1 << 20, Some(8 * GIB)), Ok(1 << 20));
        assert_eq!(choose(u64::MAX / 4, Some(1 << 21)), Ok(1 << 20));
        assert!(physical_memory().unwrap() > GIB / 4);
    }
}
