//! Landlock: rules of the kernel on which files a process may use.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const ABI_WANTED: ABI = ABI::V6;

/// Whether the kernel has landlock.
pub(crate) fn supported() -> Result<(), String> {
    // SAFETY: this call with a null attribute and size 0 only asks for the version.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, 1u32)
    };
    if version >= 1 { Ok(()) } else { Err("the kernel has no landlock".to_owned()) }
}

/// Rules that let a process read `read` and `stores`, use `devices` and write below `action_dir`.
pub(crate) fn rules(
    read: &[PathBuf],
    stores: &[PathBuf],
    devices: &[PathBuf],
    action_dir: &Path,
    network: bool,
) -> io::Result<OwnedFd> {
    let other = |e: landlock::RulesetError| io::Error::other(e.to_string());
    let mut set = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI_WANTED))
        .map_err(other)?;
    if !network {
        set = set
            .handle_access(AccessNet::from_all(ABI_WANTED))
            .and_then(|s| s.scope(Scope::from_all(ABI_WANTED)))
            .map_err(other)?;
    }
    let set = set
        .create()
        .and_then(|s| s.add_rules(path_beneath_rules(read, AccessFs::from_read(ABI_WANTED))))
        .and_then(|s| s.add_rules(path_beneath_rules(stores, AccessFs::from_read(ABI_WANTED))))
        .and_then(|s| s.add_rules(path_beneath_rules(devices, AccessFs::from_all(ABI_WANTED))))
        .and_then(|s| s.add_rules(path_beneath_rules([action_dir], AccessFs::from_all(ABI_WANTED))))
        .map_err(other)?;
    Option::<OwnedFd>::from(set).ok_or_else(|| io::Error::other("the kernel has no landlock"))
}
