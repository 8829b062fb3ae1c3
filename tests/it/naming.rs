//! What a user names and is told: labels, paths, runs, and archives to import.

use crate::cache::two;
use crate::harness::TestEnv;
use std::io::Write as _;

#[test]
fn plan_makes_no_store_and_import_makes_one() {
    let env = two();
    let before = env.sim(["plan", "pipeline.toml"]).expect(0).err();
    assert!(before.contains("2 to run") || before.contains("1 behind"), "{before}");
    assert!(!env.store_path().exists());
    env.write("other/file", "no store");
    env.sim(["--store", "other", "plan", "pipeline.toml"]).expect(8);
    env.sim(["--store", "other/file", "plan", "pipeline.toml"]).expect(8);
    env.run_ok(&[]);
    env.sim(["store", "export", "all.simpipe", "--inputs"]).expect(0);
    std::fs::create_dir(env.path("elsewhere")).expect("mkdir");
    let import = || env.cmd(["store", "import", "../all.simpipe"]);
    // A store above the working folder is the one that is meant.
    import().cwd(&env.path("elsewhere")).run().expect(0);
    assert!(!env.path("elsewhere/.sim-pipe").exists());
    sim_store::tree::remove_all(&env.store_path()).expect("remove");
    import().cwd(&env.path("elsewhere")).run().expect(0);
    env.cmd(["store", "verify"]).cwd(&env.path("elsewhere")).run().expect(0);
    env.sim(["--store", "third", "store", "import", "all.simpipe"]).expect(0);
    env.sim(["--store", "third", "store", "verify"]).expect(0);
}

/// An archive of two members: the mark, and one that is anything.
fn forged(name: &str, kind: u8, target: &str) -> Vec<u8> {
    let header = |name: &str, kind: u8, target: &str| {
        let mut h = [0_u8; 512];
        h[..name.len()].copy_from_slice(name.as_bytes());
        h[100..108].copy_from_slice(b"0000644\0");
        h[124..136].copy_from_slice(b"00000000000\0");
        h[136..148].copy_from_slice(b"00000000000\0");
        h[148..156].copy_from_slice(b"        ");
        h[156] = kind;
        h[157..157 + target.len()].copy_from_slice(target.as_bytes());
        h[257..265].copy_from_slice(b"ustar  \0");
        let sum: u32 = h.iter().map(|b| u32::from(*b)).sum();
        h[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        h
    };
    let mut tar = header("sim-pipe-export 1", b'0', "").to_vec();
    tar.extend(header(name, kind, target));
    tar.extend([0; 1024]);
    // A frame of zstd with one raw block.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    out.extend(&(1 | (tar.len() as u32) << 3).to_le_bytes()[..3]);
    out.extend(tar);
    out
}

#[test]
fn a_forged_archive_is_refused_also_in_a_crate() {
    let env = two();
    env.run_ok(&[]);
    let trees = env.store_path().join("trees").display().to_string();
    let before = env.output("upper", "upper.txt");
    for (name, kind, target, said) in [
        ("trees", b'2', "../../trees", "trees is a link where"),
        ("trees", b'2', &*trees, "trees is a link where"),
        ("trees", b'1', "../../trees", "trees is a hard link"),
        ("trees/../../x", b'0', "", "would be written outside"),
    ] {
        let archive = forged(name, kind, target);
        env.write("evil.simpipe", &archive);
        env.write("crate/store.simpipe", &archive);
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        zip.start_file("store.simpipe", zip::write::SimpleFileOptions::default()).expect("zip");
        zip.write_all(&archive).expect("zip");
        env.write("crate.zip", zip.finish().expect("zip").into_inner());
        for from in ["evil.simpipe", "crate", "crate.zip"] {
            let out = env.sim(["store", "import", from]);
            assert!(out.expect(8).stderr.contains(said), "{out}");
            assert!(!out.stderr.contains("--repair"), "{out}");
            assert_eq!(env.output("upper", "upper.txt"), before);
        }
    }
    env.assert_store_clean();
}

#[test]
fn paths_are_shown_as_they_were_typed() {
    let env = TestEnv::new();
    env.write(
        "lab/q.toml",
        "[pipeline]\nname = \"q\"\n[[stage]]\nname = \"x\"\nkind = \"command\"\n\
         run = [\"sh\", \"-c\", \"exit 3\"]\n",
    );
    let out = env.sim(["run", "lab/q.toml"]);
    assert!(out.expect(4).stderr.contains("`sim-pipe log lab/q.toml 'x'`"), "{out}");
    env.replace("lab/q.toml", "kind", "kin");
    let out = env.sim(["plan", "lab/q.toml"]);
    assert!(out.expect(3).stderr.contains("--> lab/q.toml:"), "{out}");
    let out = env.sim(["new", "my proj"]);
    assert!(out.expect(0).stderr.contains("sim-pipe run 'my proj/pipeline.toml'"), "{out}");
}

#[test]
fn every_line_of_json_names_its_run() {
    let env = two();
    for _ in 0..2 {
        let out = env.sim(["--json", "run", "pipeline.toml"]);
        let newest = env.journals().into_iter().next_back().expect("a journal");
        let id = newest.file_stem().expect("a name").to_string_lossy().into_owned();
        let lines = out.expect(0).json();
        assert!(!lines.is_empty());
        for line in lines {
            assert_eq!(line["run"], id.as_str(), "{line}");
        }
    }
    let out = env.sim(["--json", "query", "select label from actions order by label"]);
    assert_eq!(out.expect(0).json().len(), 2);
    assert_eq!(env.sim(["--json", "query", "from actions limit 0"]).expect(0).stdout, "");
}

#[test]
fn a_label_means_what_the_newest_run_reached() {
    let stage = |name: &str, said: &str| {
        format!(
            "[[stage]]\nname = \"{name}\"\nkind = \"command\"\n\
             run = [\"sh\", \"-c\", \"echo {said} | tee {{out}}/x\"]\n"
        )
    };
    let pipeline = |a: &str| {
        format!("[pipeline]\nname = \"labels\"\n{}{}", stage("a", a), stage("b", "other"))
    };
    let env = TestEnv::with_pipeline(&pipeline("first"));
    env.run_ok(&[]);
    env.write("pipeline.toml", pipeline("second"));
    env.run_ok(&["--only", "a"]);
    let means = |said: &str| {
        assert_eq!(env.sim(["log", "pipeline.toml", "a"]).expect(0).stdout, said);
        assert_eq!(env.sim(["log", "a"]).expect(0).stdout, said);
        let path = env.sim(["store", "path", "a"]).expect(0).stdout.clone();
        assert_eq!(std::fs::read_to_string(format!("{}/x", path.trim())).expect("read"), said);
        env.sim(["repeat", "a", "again"]).expect(0);
        let script = std::fs::read_to_string(env.path("again/run.sh")).expect("read");
        assert!(script.contains(said.trim()), "{script}");
        sim_store::tree::remove_all(&env.path("again")).expect("remove");
    };
    means("second\n");
    assert_eq!(env.sim(["log", "pipeline.toml", "b"]).expect(0).stdout, "other\n");
    // Back to what is recorded already: the newest run counts, not the newest record.
    env.write("pipeline.toml", pipeline("first"));
    env.run_ok(&[]);
    means("first\n");
}
