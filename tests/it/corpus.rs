//! Replays the kept inputs of the fuzz targets: what they once found stays mended, without a fuzzer.

#[path = "../../fuzz/src/targets.rs"]
mod targets;

use std::path::Path;

fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut n = 0;
    for entry in std::fs::read_dir(&folder).expect("read the corpus") {
        let path = entry.expect("an entry").path();
        eprintln!("{}", path.display());
        target(&std::fs::read(&path).expect("read"));
        n += 1;
    }
    assert!(n > 0, "{} holds nothing", folder.display());
}

#[test]
fn pipelines() {
    replay("pipeline", targets::pipeline);
}

#[test]
fn records() {
    replay("record", targets::record);
}

#[test]
fn scenes() {
    replay("scene", targets::scene);
}

#[test]
fn jobs() {
    replay("job", targets::job);
}
