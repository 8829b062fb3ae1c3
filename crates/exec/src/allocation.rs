//! Does a log tell of an allocation that failed? Programs that die of it leave a signal or an exit
//! code, which alone says nothing of memory (P147).

/// What runtimes print when they cannot have the memory they ask for, in small letters, with whose words
/// they are; the second part stands somewhere after the first.
const WORDS: [(&str, &str); 7] = [
    // Rust's handler of failed allocations, before it aborts.
    ("memory allocation of ", " bytes failed"),
    // libstdc++ and libc++, on an exception that nobody catches.
    ("std::bad_alloc", ""),
    // Python.
    ("memoryerror", ""),
    // NumPy.
    ("unable to allocate ", " for an array"),
    // MuJoCo: "Could not allocate memory", "Could not allocate mjData".
    ("could not allocate m", ""),
    // PyTorch and CUDA's runtime.
    ("cuda out of memory", ""),
    ("cuda_error_out_of_memory", ""),
];

/// How much of the end of a log is looked at, bytes.
const END: usize = 64 << 10;

/// The line of the log that tells of a failed allocation, the last where there are several.
pub(crate) fn failed(log: &[u8]) -> Option<String> {
    let end = String::from_utf8_lossy(&log[log.len().saturating_sub(END)..]);
    let tells = |line: &&str| {
        let small = line.to_ascii_lowercase();
        WORDS.iter().any(|(first, then)| {
            small.split_once(first).is_some_and(|(_, rest)| rest.contains(then))
        })
    };
    let line = end.lines().rev().find(tells)?.trim();
    Some(line.chars().filter(|c| !c.is_control()).take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::failed;

    #[test]
    fn the_words_of_runtimes_are_known() {
        let told = |log: &str| failed(log.as_bytes());
        for line in [
            "memory allocation of 17179869184 bytes failed",
            "terminate called after throwing an instance of 'std::bad_alloc'",
            "MemoryError",
            "ERROR: Could not allocate mjData",
            "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1,)",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        ] {
            let log = format!("started\n{line}\nAborted\n");
            assert_eq!(told(&log).as_deref(), Some(line));
        }
        assert_eq!(told("memory allocation of the engine is fine\nexit code 3\n"), None);
        assert_eq!(told(""), None);
    }
}
