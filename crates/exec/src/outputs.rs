//! Checks what an action left in `out/` against what it declared.

use fs_err as fs;
use std::collections::BTreeSet;
use std::path::Path;

/// `Err` is the reason the action fails. Declared outputs must be there; nothing else may be. With
/// nothing declared, something must be there.
pub(crate) fn check(out: &Path, declared: &[String]) -> std::io::Result<Result<(), String>> {
    if declared.is_empty() {
        return Ok(if fs::read_dir(out)?.next().is_some() {
            Ok(())
        } else {
            Err("it ended well but left out/ empty".to_owned())
        });
    }
    let missing: Vec<&str> = declared
        .iter()
        .map(String::as_str)
        .filter(|d| out.join(d).symlink_metadata().is_err())
        .collect();
    if !missing.is_empty() {
        return Ok(Err(format!("declared but not written: {}", missing.join(", "))));
    }
    let mut strangers = BTreeSet::new();
    undeclared(out, "", declared, &mut strangers)?;
    if strangers.is_empty() {
        return Ok(Ok(()));
    }
    let shown: Vec<String> =
        strangers.iter().take(5).map(|s| s.escape_debug().to_string()).collect();
    let more = strangers.len().saturating_sub(5);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok(Err(format!("written but not declared: {}{more}", shown.join(", "))))
}

fn undeclared(
    dir: &Path,
    prefix: &str,
    declared: &[String],
    strangers: &mut BTreeSet<String>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if declared.iter().any(|d| d.trim_end_matches('/') == name) {
            continue;
        }
        let holds = format!("{name}/");
        if entry.file_type()?.is_dir() && declared.iter().any(|d| d.starts_with(&holds)) {
            undeclared(&entry.path(), &holds, declared, strangers)?;
        } else {
            strangers.insert(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_and_nothing_else() {
        let dir = tempfile::tempdir().expect("tempdir");
        let out = dir.path();
        let check = |declared: &[&str]| {
            let declared: Vec<String> = declared.iter().map(|s| (*s).to_owned()).collect();
            check(out, &declared).expect("readable")
        };
        assert_eq!(check(&[]), Err("it ended well but left out/ empty".into()));
        fs::create_dir(out.join("plots")).expect("mkdir");
        fs::write(out.join("plots/a.svg"), "").expect("write");
        fs::write(out.join("s.json"), "").expect("write");
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&["s.json", "plots"]), Ok(()));
        assert_eq!(check(&["s.json", "plots/a.svg"]), Ok(()));
        assert_eq!(check(&["s.json"]), Err("written but not declared: plots".into()));
        fs::write(out.join("plots/b.svg"), "").expect("write");
        assert_eq!(
            check(&["s.json", "plots/a.svg"]),
            Err("written but not declared: plots/b.svg".into())
        );
        assert_eq!(check(&["t.json"]), Err("declared but not written: t.json".into()));
    }
}
