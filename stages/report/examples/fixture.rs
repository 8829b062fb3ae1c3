//! Writes the report of a synthetic round and says how long that took: `fixture DIR [TRIALS]`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use fixture::{Fixture, Shape};
use std::path::PathBuf;

#[expect(clippy::print_stdout, reason = "this is a program")]
fn main() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().expect("usage: fixture DIR [TRIALS]"));
    let trials: Option<u64> = args.next().map(|n| n.parse().expect("a number"));
    let mut shape = Shape::default();
    if let Some(n) = trials {
        // Six scenes, two engines, three repeats, timed only.
        shape = Shape {
            sizes: (0..n / 36).map(|i| 50 + i).collect(),
            worlds: vec![],
            memory: false,
            ..shape
        };
    }
    let mut fixture = Fixture::full(&dir, &shape);
    fixture.file("mine", "summary.csv", b"scene,score\nbox_pile,0.62\nsphere_pile,0.71\n");
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 200 60'><path d='M0 50L60 20L120 35L200 5' fill='none' stroke='teal' stroke-width='2'/></svg>";
    fixture.file("mine", "plot.svg", svg);
    let start = std::time::Instant::now();
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    println!("{status:?}");
    println!("{:.2} s", start.elapsed().as_secs_f64());
}
