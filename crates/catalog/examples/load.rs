//! Says how long an index of synthetic trials takes: `load INDEX [TRIALS]`.

#[path = "../tests/source/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod source;

use sim_catalog::{Catalog, Format};
use std::path::PathBuf;
use std::time::Instant;

#[expect(clippy::print_stdout, reason = "this is a program")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().ok_or("usage: load INDEX [TRIALS]")?);
    let trials = args.next().map_or(Ok(10_000), |n| n.parse())?;
    let source = source::Fake::with_trials(trials);
    for what in ["built", "up to date"] {
        let start = Instant::now();
        let catalog = Catalog::refresh(&path, &source)?;
        let opened = start.elapsed();
        let sql = "from samples select count(*) as n, median(ms_per_step) as ms";
        let text = catalog.query(sql, &Format::Csv)?.text;
        let asked = start.elapsed() - opened;
        println!("{what} in {opened:.1?}, asked in {asked:.1?}: {}", text.replace('\n', " "));
    }
    Ok(())
}
