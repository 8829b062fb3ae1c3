//! Odd names and odd trees: they survive byte for byte from a source through an action into an
//! output, or are refused by name.

use crate::harness::{TestEnv, assert_text};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Names that break quoting, normalisation or encoding somewhere.
const NAMES: [&[u8]; 15] = [
    b"with space",
    b" leading and trailing ",
    b"-rf",
    b"new\nline",
    b"tab\there",
    b"quote\"'`",
    b"$HOME",
    b"#hash;semi&amp",
    b"*?[glob]",
    b"back\\slash",
    "é".as_bytes(),
    "e\u{301}".as_bytes(),
    "文字🪨".as_bytes(),
    b"\xff\xfe not UTF-8",
    b"...",
];

const COPY: &str = r#"[pipeline]
name = "trees"

[[stage]]
name = "copy"
kind = "command"
run = ["sh", "-c", "cp -a in/odd/. {out}/"]
inputs.odd = "odd"

[[stage]]
name = "again"
kind = "command"
run = ["sh", "-c", "cp -a in/first/. {out}/"]
inputs.first = "copy"
"#;

/// Everything below a folder: name, kind, content or target, executable.
fn listing(dir: &Path) -> Vec<(Vec<u8>, String)> {
    fn walk(dir: &Path, top: &Path, out: &mut Vec<(Vec<u8>, String)>) {
        for entry in fs::read_dir(dir).expect("read") {
            let path: PathBuf = entry.expect("an entry").path();
            let name = path.strip_prefix(top).expect("below").as_os_str().as_bytes().to_vec();
            let meta = path.symlink_metadata().expect("stat");
            let what = if meta.is_dir() {
                walk(&path, top, out);
                "folder".to_owned()
            } else if meta.is_symlink() {
                format!("link {:?}", fs::read_link(&path).expect("read"))
            } else {
                let executable = meta.permissions().mode() & 0o111 != 0;
                format!("{executable} {:?}", fs::read(&path).expect("read"))
            };
            out.push((name, what));
        }
    }
    let mut out = Vec::new();
    walk(dir, dir, &mut out);
    out.sort();
    out
}

fn survives(env: &TestEnv) {
    env.run_ok(&[]).assert_ran(&["copy", "again"]);
    let source = listing(&env.path("odd"));
    assert_eq!(listing(&env.output_dir("copy")), source);
    assert_eq!(listing(&env.output_dir("again")), source);
    // The same content has the same name, whoever made it.
    assert_eq!(env.output_dir("copy"), env.output_dir("again"));
    env.assert_store_clean();
    env.run_ok(&[]).assert_ran(&[]);
    // Through an archive too.
    env.sim(["store", "export", "trees.simpipe"]).expect(0);
    let other = env.cmd(["store", "import", "trees.simpipe", "--store", "other"]).run();
    other.expect(0);
    env.sim(["store", "verify", "--store", "other"]).expect(0);
    let name = env.output_dir("copy").file_name().expect("a name").to_owned();
    assert_eq!(listing(&env.path("other/trees").join(name)), source);
}

#[test]
fn odd_names_survive() {
    let env = TestEnv::with_pipeline(COPY);
    for name in NAMES {
        let name = OsStr::from_bytes(name);
        let folder = env.path("odd/folders").join(name);
        fs::create_dir_all(&folder).expect("mkdir");
        fs::write(folder.join(name), name.as_bytes()).expect("write");
        fs::write(env.path("odd").join(name), name.as_bytes()).expect("write");
    }
    fs::write(env.path("odd").join("n".repeat(255)), "long").expect("write");
    survives(&env);
}

#[test]
fn odd_trees_survive() {
    let env = TestEnv::with_pipeline(COPY);
    let odd = env.path("odd");
    fs::create_dir_all(odd.join("empty/below")).expect("mkdir");
    fs::create_dir_all(odd.join("real")).expect("mkdir");
    fs::write(odd.join("real/file"), "x").expect("write");
    fs::write(odd.join("real/nothing"), "").expect("write");
    symlink("real", odd.join("link-to-folder")).expect("ln");
    symlink("real/file", odd.join("link-to-file")).expect("ln");
    symlink("nowhere", odd.join("dangling")).expect("ln");
    symlink("loop", odd.join("loop")).expect("ln");
    symlink("../real/file", odd.join("empty/up")).expect("ln");
    for (name, mode) in
        [("run.sh", 0o755), ("own.sh", 0o700), ("plain", 0o640), ("readonly", 0o444)]
    {
        fs::write(odd.join(name), name).expect("write");
        fs::set_permissions(odd.join(name), fs::Permissions::from_mode(mode)).expect("chmod");
    }
    fs::hard_link(odd.join("plain"), odd.join("hard link")).expect("ln");
    survives(&env);
    assert!(env.output_dir("copy").join("empty/below").is_dir(), "empty folders count");
}

#[test]
fn a_project_in_an_odd_folder() {
    let env = TestEnv::new();
    let project = env.dir().join("my 'best' pröject\n2");
    fs::create_dir(&project).expect("mkdir");
    fs::write(project.join("pipeline.toml"), COPY).expect("write");
    fs::create_dir(project.join("odd")).expect("mkdir");
    fs::write(project.join("odd/x"), "x").expect("write");
    for level in ["none", "landlock", "namespaces", "bubblewrap"] {
        let out = env
            .cmd(["run", "pipeline.toml", "--sandbox", level, "--store", level])
            .cwd(&project)
            .run();
        assert!(matches!(out.code(), Some(0 | 9)), "{out}");
    }
    env.cmd(["run", "pipeline.toml", "--store", "none"]).cwd(&project).run().expect(0);
    env.cmd(["store", "verify", "--store", "none"]).cwd(&project).run().expect(0);
}

/// What a source tree cannot be: named, and nothing runs.
#[test]
fn sources_that_cannot_be_kept_are_refused_by_name() {
    let env = TestEnv::with_pipeline(COPY);
    fs::create_dir_all(env.path("odd/deep")).expect("mkdir");
    let fifo =
        std::ffi::CString::new(env.path("odd/deep/pipe").as_os_str().as_bytes()).expect("a path");
    // SAFETY: a C string of a path that does not exist yet.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    let ran = env.run(&[]);
    ran.out.expect(4);
    ran.assert_ran(&[]);
    assert_text(&ran.out.err(), "
  skipped  copy: needs source odd of action copy: [PROJECT]/odd/deep/pipe is neither a file, a folder nor a link
  skipped  again: needs copy
trees: done · 0 ran · 0 reused · 2 skipped · [TIME]
");
    fs::remove_file(env.path("odd/deep/pipe")).expect("rm");
    let mut deep = env.path("odd");
    for _ in 0..230 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).expect("mkdir");
    let ran = env.run(&[]);
    ran.out.expect(4);
    assert!(ran.out.stderr.contains("lies more than 200 folders deep"), "{}", ran.out);
}

/// A large sparse file takes a while to hash and no memory; its size is no surprise.
#[test]
fn many_files_and_a_big_one() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "many"

[[stage]]
name = "many"
kind = "command"
run = ["sh", "-c", "cd {out}; i=0; while [ $i -lt 3000 ]; do mkdir -p $((i % 50)); : > $((i % 50))/$i; i=$((i + 1)); done; truncate -s 300M big"]

[[stage]]
name = "use"
kind = "command"
run = ["sh", "-c", "find in/many/ -type f | wc -l > {out}/n"]
inputs.many = "many"
"#,
    );
    env.run_ok(&[]);
    assert_eq!(env.text("use", "n"), "3001\n");
    let record = env.record("many");
    let output = record.output.expect("an output");
    assert_eq!((output.files, output.bytes), (3001, 300 << 20));
    env.assert_store_clean();
}
