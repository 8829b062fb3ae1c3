//! Finds SPIR-V modules in a file: by their magic number, then by reading instruction after instruction
//! (Khronos, SPIR-V specification 2.3, "Physical Layout of a SPIR-V Module and Instruction").

/// First word of a module.
const MAGIC: [u8; 4] = 0x0723_0203_u32.to_le_bytes();
/// Words before the first instruction: magic number, version, generator, bound, schema.
const HEADER: usize = 20;
/// Versions 1.0 to 1.6.
const VERSIONS: std::ops::RangeInclusive<u32> = 0x1_0000..=0x1_0600;
/// No module of the engine has more ids.
const MOST_IDS: u32 = 1_000_000;
/// Instructions lie below this number, those of extensions included.
const MOST_OPCODES: u32 = 7000;
const OP_ENTRY_POINT: u32 = 15;
const OP_FUNCTION_END: u32 = 56;

/// A module with one entry point.
pub(crate) struct Module<'a> {
    /// Name of the entry point: a path in Rust.
    pub(crate) entry: &'a str,
    pub(crate) bytes: &'a [u8],
}

impl Module<'_> {
    /// The name by which the engine looks the module up.
    pub(crate) fn file_name(&self) -> String {
        format!("{}.spv", self.entry.replace("::", "-"))
    }
}

/// All modules with exactly one entry point, in the order in which they lie in the file.
pub(crate) fn modules(bytes: &[u8]) -> Vec<Module<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = bytes[at..].windows(4).position(|w| w == MAGIC) {
        at += next;
        match module(&bytes[at..]) {
            Some(module) => {
                at += module.bytes.len();
                found.push(module);
            }
            None => at += 4,
        }
    }
    found
}

/// The module that begins here. It ends after its last function: whatever follows is no instruction of
/// it.
fn module(bytes: &[u8]) -> Option<Module<'_>> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let sound = VERSIONS.contains(&word(4)?) && word(12)? < MOST_IDS && word(16)? == 0;
    if !sound {
        return None;
    }
    let (mut at, mut end, mut entries) = (HEADER, None, Vec::new());
    while let Some(first) = word(at) {
        let (count, opcode) = ((first >> 16) as usize, first & 0xffff);
        if count == 0 || opcode > MOST_OPCODES {
            break;
        }
        let next = at + 4 * count;
        if opcode == OP_ENTRY_POINT {
            // Execution model and function, then the name up to its zero.
            let name = bytes.get(at + 12..next)?;
            let name = &name[..name.iter().position(|b| *b == 0)?];
            entries.push(std::str::from_utf8(name).ok()?);
        }
        if opcode == OP_FUNCTION_END {
            end = Some(next);
        }
        at = next;
    }
    match entries[..] {
        [entry] if end? <= bytes.len() => Some(Module { entry, bytes: &bytes[..end?] }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[u32]) -> Vec<u8> {
        list.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// A module whose entry point is called `a::b`.
    fn one() -> Vec<u8> {
        let name = u32::from_le_bytes(*b"a::b");
        words(&[
            0x0723_0203,
            0x1_0300,
            0,
            9,
            0,
            5 << 16 | OP_ENTRY_POINT,
            5,
            1,
            name,
            0,
            1 << 16 | OP_FUNCTION_END,
        ])
    }

    #[test]
    fn modules_are_found_among_other_bytes_and_end_after_their_last_function() {
        let magic = words(&[0x0723_0203, 1, 2]);
        let file = [&b"xyz"[..], &one(), &[0; 8], &magic, b"q", &one(), b"rest"].concat();
        let found = modules(&file);
        assert_eq!(found.len(), 2);
        for module in &found {
            assert_eq!((module.entry, module.bytes), ("a::b", &one()[..]));
            assert_eq!(module.file_name(), "a-b.spv");
        }
    }

    #[test]
    fn what_is_cut_short_or_has_no_entry_point_is_no_module() {
        let whole = one();
        assert_eq!(modules(&whole[..whole.len() - 4]).len(), 0);
        assert_eq!(modules(&whole[..30]).len(), 0);
        let mut none = whole;
        none[20] = 14;
        assert_eq!(modules(&none).len(), 0);
    }
}
