//! Hashing a tree, beside b3sum on the same bytes.

use super::super::measure::{Cost, cost};
use super::super::stats::least;
use super::super::table::{Goal, count, ms};
use super::super::{Bench, tools};
use anyhow::{Context as _, Result, bail};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// Room that is left on the disk beside what is made.
const SPARE: u64 = 2 << 30;

pub(in super::super) fn hash(bench: &mut Bench) -> Result<()> {
    let b3sum = tools::b3sum(&bench.dir)?;
    let shapes: [(usize, u64); 2] = if bench.quick {
        [(5_000, 4 << 10), (1, 256 << 20)]
    } else {
        [(100_000, 4 << 10), (1, 4 << 30)]
    };
    for (files, bytes) in shapes {
        let needed = files as u64 * bytes.next_multiple_of(4096) + SPARE;
        let free = free(&bench.dir)?;
        let name = match bytes >> 20 {
            0 => format!("{} files of {} KiB", count(files), bytes >> 10),
            mib if files == 1 => format!("one file of {mib} MiB"),
            mib => format!("{files} files of {mib} MiB"),
        };
        if free < needed {
            bench.section.note(&format!(
                "{name}: left out: {} MB are free, {} MB needed",
                free / 1_000_000,
                needed / 1_000_000
            ));
            continue;
        }
        let dir = bench.dir.join("hash");
        super::super::work::remove(&dir)?;
        let measured = make(&dir, files, bytes).and_then(|()| beside(bench, &dir, &b3sum));
        // In any case: it is large.
        super::super::work::remove(&dir)?;
        let (ours, theirs) = measured?;
        let speed = theirs.wall / ours.wall;
        bench.section.row(
            &format!("hashing a tree, {name}"),
            format!("{} (`plan`, less one without the tree), CPU {}", ms(ours.wall), ms(ours.cpu)),
            format!("{} (`b3sum`, in turns), CPU {}", ms(theirs.wall), ms(theirs.cpu)),
            format!("{speed:.2} of its speed"),
            Goal::at_least(speed, 0.8, "≥ 0.8"),
        );
    }
    Ok(())
}

/// Two folders, one with the files, and a pipeline that takes each.
fn make(dir: &Path, files: usize, bytes: u64) -> Result<()> {
    for folder in ["data", "small"] {
        std::fs::create_dir_all(dir.join(folder))?;
        let text = format!(
            "[pipeline]\nname = \"{folder}\"\n[[stage]]\nname = \"s\"\nkind = \"command\"\n\
             run = [\"true\"]\ninputs.tree = \"{folder}\"\n"
        );
        std::fs::write(dir.join(format!("{folder}.toml")), text)?;
    }
    std::fs::write(dir.join("small/f"), "x")?;
    // In pieces: a large buffer here would count as the peak memory of every child that follows.
    let mut block = vec![0u8; bytes.min(1 << 20) as usize];
    for i in 0..files {
        let folder = dir.join(format!("data/{:03}", i / 1_000));
        if i % 1_000 == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        let mut file = std::fs::File::create(folder.join(format!("{i:06}")))?;
        for piece in 0..bytes.div_ceil(block.len() as u64) {
            for (k, b) in block.iter_mut().enumerate().step_by(1024) {
                *b = (i + k) as u8 ^ piece as u8;
            }
            file.write_all(&block)?;
        }
    }
    Ok(())
}

/// The least of several runs in turns, of sim-pipe and of b3sum. All read from memory after a first
/// run that is not counted, where the machine has enough.
fn beside(bench: &Bench, dir: &Path, b3sum: &Path) -> Result<(Cost, Cost)> {
    let plan = |folder: &str| {
        // Without the stat cache, so that everything is read.
        let _ = std::fs::remove_dir_all(dir.join(".sim-pipe/cache"));
        let mut c = bench.sim_pipe();
        c.args(["plan", &format!("{folder}.toml")]).current_dir(dir);
        cost(&mut c, &bench.dir)
    };
    plan("data")?;
    let (mut ours, mut theirs) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for _ in 0..if bench.quick { 3 } else { 5 } {
        let (with, without) = (plan("data")?, plan("small")?);
        ours.0.push(with.wall - without.wall);
        ours.1.push(with.cpu - without.cpu);
        // As many arguments as go into one command line: what xargs costs counts, little as it is.
        let line = "find data -type f -print0 | xargs -0 -n 50000 \"$0\" > sums";
        let mut c = Command::new("sh");
        c.arg("-c").arg(line).arg(b3sum).current_dir(dir);
        let run = cost(&mut c, &bench.dir)?;
        theirs.0.push(run.wall);
        theirs.1.push(run.cpu);
    }
    let of = |(walls, cpus): (Vec<f64>, Vec<f64>)| Cost {
        wall: least(&walls),
        cpu: least(&cpus),
        ..Cost::default()
    };
    Ok((of(ours), of(theirs)))
}

/// Bytes that are free where this folder is.
fn free(dir: &Path) -> Result<u64> {
    let path = std::ffi::CString::new(dir.as_os_str().as_encoded_bytes())
        .context("a path without a zero byte")?;
    // SAFETY: a zeroed statvfs is valid, and the path ends with a zero byte and lives through the call.
    let (code, room) = unsafe {
        let mut room: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &raw mut room), room)
    };
    if code != 0 {
        bail!("statvfs {}: {}", dir.display(), std::io::Error::last_os_error());
    }
    Ok(room.f_bavail * room.f_frsize)
}
