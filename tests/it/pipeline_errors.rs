//! Wrong and hostile pipeline files: every mistake at once with its code, exit code 3, nothing run,
//! nothing left in the project.

use crate::cache::two;
use crate::harness::{TestEnv, assert_text};
use std::fs;
use std::time::Duration;

/// A file has at most 32 MiB; nothing in it may cost more than this.
const MEMORY: u64 = 1280 << 20;

/// Runs a wrong file, with bounds on time and memory, and gives what it says.
fn wrong(text: impl AsRef<[u8]>) -> String {
    let env = TestEnv::new();
    env.write("pipeline.toml", text);
    let cmd = env.cmd(["run", "pipeline.toml"]).bound(Duration::from_secs(60)).at_most(MEMORY);
    let out = cmd.run();
    out.expect(3);
    assert_eq!(out.stdout, "");
    assert!(!out.stderr.contains("panicked"), "{out}");
    let left: Vec<_> =
        fs::read_dir(env.project()).expect("read").map(|e| e.expect("entry").file_name()).collect();
    assert_eq!(left, ["pipeline.toml"], "a file that is wrong makes no store");
    out.err()
}

#[test]
fn several_mistakes_are_all_shown_with_their_places() {
    assert_text(
        &wrong(
            r#"[pipeline]
name = "broken"
sed = 7

[[stage]]
name = "make"
kind = "comand"
run = ["true"]

[[stage]]
name = "use"
kind = "command"
run = "true"
timeout = "10 parsecs"
inputs.a = "mak"
inputs.b = "missing/file.txt"

[[stage]]
name = "use"
kind = "command"
run = ["echo", "{inputs.nothing}"]
inputs.self = "use"
"#,
        ),
        r#"
error[SP0101]: `sed` is not a key of `[pipeline]`
 --> pipeline.toml:3:1
  |
3 | sed = 7
  | ^^^
  |
help: did you mean `seed`?

error[SP0107]: there is no stage kind `comand`
 --> pipeline.toml:7:8
  |
7 | kind = "comand"
  |        ^^^^^^^^
  |
help: did you mean `command`?

error[SP0103]: expected an array of strings, found a string
  --> pipeline.toml:13:7
   |
13 | run = "true"
   |       ^^^^^^

error[SP0111]: `10 parsecs` needs one of the units ms, s, min, h
  --> pipeline.toml:14:11
   |
14 | timeout = "10 parsecs"
   |           ^^^^^^^^^^^^
   |
help: write it as `250ms`, `120s`, `5min` or `2h`

error[SP0104]: stage `use` needs `mak`, which is not defined
  --> pipeline.toml:15:13
   |
15 | inputs.a = "mak"
   |             ^^^ no stage of this name, for the input `a`
   |
help: did you mean `make`?

error[SP0303]: there is no file or folder `missing/file.txt`
  --> pipeline.toml:16:12
   |
16 | inputs.b = "missing/file.txt"
   |            ^^^^^^^^^^^^^^^^^^
   |
help: paths are relative to the project's root

error[SP0105]: the stage `use` is defined twice
  --> pipeline.toml:19:8
   |
19 | name = "use"
   |        ^^^^^
   |
  ::: pipeline.toml:11:8
   |
11 | name = "use"
   |        ----- first here

error[SP0201]: the placeholder `inputs.nothing` means nothing here
  --> pipeline.toml:21:17
   |
21 | run = ["echo", "{inputs.nothing}"]
   |                 ^^^^^^^^^^^^^^^^
   |
help: known here: `out`, `seed`, `threads`, `inputs.self`; write `{{` and `}}` for plain braces

8 errors; `sim-pipe help SP0101` explains the first

error: 8 errors in pipeline.toml; nothing was run
hint: `sim-pipe help CODE` explains a code
"#,
    );
}

#[test]
fn a_cycle_names_its_stages() {
    assert_text(
        &wrong(
            r#"[pipeline]
name = "cycle"

[[stage]]
name = "a"
kind = "command"
run = ["true"]
inputs.x = "b"

[[stage]]
name = "b"
kind = "command"
run = ["true"]
inputs.x = "a"
"#,
        ),
        r#"
error[SP0310]: stages need each other in a circle: `a` → `b` → `a`
  --> pipeline.toml:8:12
   |
 8 | inputs.x = "b"
   |            ^^^ needs `b`
   |
  ::: pipeline.toml:14:12
   |
14 | inputs.x = "a"
   |            --- needs `a`
   |
help: take one of these inputs away, or split a stage in two

1 error; `sim-pipe help SP0310` explains the first

error: 1 error in pipeline.toml; nothing was run
hint: `sim-pipe help CODE` explains a code
"#,
    );
}

#[test]
fn a_wrong_suite_is_shown_in_its_own_file() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "s"

[[stage]]
name = "engine"
kind = "command"
run = ["true"]

[[stage]]
name = "trial"
kind = "trial"
engine = "fake"
suite = "suite.toml"
inputs.engine = "engine"
"#,
    );
    env.write(
        "suite.toml",
        "[suite]\nname = \"s\"\n\n[[case]]\nscenario = \"box_pil\"\nsizes = [0]\n",
    );
    let out = env.sim(["run", "pipeline.toml"]);
    assert_text(
        &out.expect(3).err(),
        r#"
error[SP0403]: there is no scenario `box_pil`
  --> suite.toml:5:12
   |
 5 | scenario = "box_pil"
   |            ^^^^^^^^^
   |
  ::: pipeline.toml:10:8
   |
10 | name = "trial"
   |        ------- needed by this stage
   |
help: the scenarios are box_pile, box_stack, brick_ring, capsule_pile, elastic_cube, free_chain, free_fall, hinge_field, mixed_pile, pendulum, pyramids, robot_go1, robot_t1, roll, sand_column, slide, sphere_pile

error[SP0403]: size = 0 is outside 1 to 10000000
  --> suite.toml:6:10
   |
 6 | sizes = [0]
   |          ^
   |
  ::: pipeline.toml:10:8
   |
10 | name = "trial"
   |        ------- needed by this stage

2 errors; `sim-pipe help SP0403` explains the first

error: 2 errors in pipeline.toml; nothing was run
hint: `sim-pipe help CODE` explains a code
"#,
    );
}

#[test]
fn no_file_no_text_and_no_toml() {
    let env = TestEnv::new();
    assert_text(
        &env.sim(["run", "pipeline.toml"]).expect(3).err(),
        "
error: pipeline.toml: No such file or directory (os error 2)
hint: give the path of a pipeline file, such as pipelines/hello.toml
",
    );
    assert_text(
        &env.sim(["run", "."]).expect(3).err(),
        "
error: [PROJECT] is a folder without a pipeline.toml
",
    );
    assert_text(
        &wrong(b"[pipeline]\nname = \"\xff\"\n"),
        r#"
error[SP0002]: the pipeline file is not UTF-8 from byte 19 on
 --> pipeline.toml:2:9
  |
2 | name = "�"
  |         ^
  |
help: save the file as UTF-8

1 error; `sim-pipe help SP0002` explains the first

error: 1 error in pipeline.toml; nothing was run
hint: `sim-pipe help CODE` explains a code
"#,
    );
    assert_text(
        &wrong("[pipeline\nname = 1 2\n"),
        "
error[SP0004]: unclosed table, expected `]`
 --> pipeline.toml:1:10
  |
1 | [pipeline
  |          ^

1 error; `sim-pipe help SP0004` explains the first

error: 1 error in pipeline.toml; nothing was run
hint: `sim-pipe help CODE` explains a code
",
    );
    let empty = wrong("");
    assert_text(
        &empty,
        r#"
error[SP0102]: the table `[pipeline]` is missing
 --> pipeline.toml:1:1
  |
1 |
  | ^
  |
help: begin with `[pipeline]` and `name = "..."`

error[SP0115]: the pipeline has no stages
 --> pipeline.toml:1:1
  |
1 |
  | ^
  |
help: add a `[[stage]]` with a `name` and a `kind`

2 errors; `sim-pipe help SP0102` explains the first

error: 2 errors in pipeline.toml; nothing was run
hint: `sim-pipe help CODE` explains a code
"#,
    );
    // A path that leaves the project.
    assert_text(
        &wrong(
            "[pipeline]\nname = \"p\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"true\"]\ninputs.x = \"../../etc/passwd\"\ninputs.y = \"/etc/passwd\"\noutputs = [\"../x\"]\n",
        ),
        r#"
error[SP0306]: the path `../../etc/passwd` leaves the project's root
 --> pipeline.toml:7:12
  |
7 | inputs.x = "../../etc/passwd"
  |            ^^^^^^^^^^^^^^^^^^
  |
help: paths are relative to the project's root and stay below it: copy the file into the project, or fetch it in a stage

error[SP0306]: the path `/etc/passwd` is absolute
 --> pipeline.toml:8:12
  |
8 | inputs.y = "/etc/passwd"
  |            ^^^^^^^^^^^^^
  |
help: paths are relative to the project's root and stay below it: copy the file into the project, or fetch it in a stage

error[SP0406]: the output `../x` leaves the project's root
 --> pipeline.toml:9:12
  |
9 | outputs = ["../x"]
  |            ^^^^^^
  |
help: an output is the plain path of a file or folder below `{out}`

3 errors; `sim-pipe help SP0306` explains the first

error: 3 errors in pipeline.toml; nothing was run
hint: `sim-pipe help CODE` explains a code
"#,
    );
}

#[test]
fn wrong_values_of_the_command_line_are_checked_the_same_way() {
    let env = two();
    let out = env.sim([
        "run",
        "pipeline.toml",
        "--set",
        "stage.upper.timeout=soon",
        "--set",
        "stage.lower.seed=1",
        "--set",
        "pipeline.seed=-1",
    ]);
    assert_text(
        &out.expect(3).err(),
        "
error[SP0111]: `soon` is no quantity
 --> <set stage.upper.timeout>:1:1
  |
1 | soon
  | ^^^^
  |
help: write it as `250ms`, `120s`, `5min` or `2h`

error[SP0501]: `stage.lower.seed` can't be set
 --> <set stage.lower.seed>:1:1
  |
1 | 1
  | ^
  |
help: known here: `upper`, `count`

error[SP0109]: a seed is an integer from 0 to 9223372036854775807
 --> <set pipeline.seed>:1:1
  |
1 | -1
  | ^^

3 errors; `sim-pipe help SP0111` explains the first

error: 3 errors in pipeline.toml; nothing was run
hint: `sim-pipe help CODE` explains a code
",
    );
    assert!(!env.store_path().exists());
}

/// Files made to hurt: all end soon, with a diagnostic.
#[test]
fn hostile_files_end_in_diagnostics() {
    let head =
        "[pipeline]\nname = \"h\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"true\"]\n";
    let numbers = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let long = "x".repeat(10 << 20);
    let mut many = String::from("[pipeline]\nname = \"h\"\n");
    for i in 0..20_000 {
        many.push_str(&format!("[[stage]]\nname = \"s{i}\"\nkind = \"nothing\"\nunknown = 1\n"));
    }
    let cases: Vec<(&str, String)> = vec![
        ("deep arrays", format!("{head}x = {}{}\n", "[".repeat(100_000), "]".repeat(100_000))),
        ("deep tables", format!("{head}x = {}1{}\n", "{a=".repeat(50_000), "}".repeat(50_000))),
        ("deep dotted key", format!("{head}{} = 1\n", vec!["a"; 100_000].join("."))),
        ("ten megabytes of one string", format!("{head}seed = \"{long}\"\n")),
        ("ten megabytes of one key", format!("{head}{long} = 1\n")),
        (
            "a matrix of a million million",
            format!("{head}matrix.a = [{0}]\nmatrix.b = [{0}]\n", numbers(1_000_000)),
        ),
        ("a matrix of 2^16", {
            let dims: String = (0..40).map(|i| format!("matrix.d{i} = [0, 1]\n")).collect();
            format!("{head}{dims}")
        }),
        ("forty thousand mistakes", many),
        ("an open string", format!("{head}name2 = \"{}", "a\\\"".repeat(1_000_000))),
        ("control characters", format!("{head}\u{0}\u{1}\u{7f}\u{1b}[31m = 1\n")),
        ("a bomb of braces", format!("{head}seed = \"{}\"\n", "{".repeat(1_000_000))),
        ("a glob of stars", format!("{head}inputs.x = \"{}\"\n", "**/*".repeat(5_000))),
        ("a million characters on one line", format!("{head}# {}\nx = ]\n", "é".repeat(1_000_000))),
        ("a million rows", {
            let rows = "{ a = 1, b = 2 },\n".repeat(500_000);
            format!("{head}matrix.a = [1]\nmatrix.b = [2]\nmatrix.include = [\n{rows}]\n")
        }),
        ("a million empty tables", format!("{head}{}", "[[stage]]\n".repeat(1_000_000))),
        ("ten megabytes of keys", {
            let keys: String = (0..600_000).map(|i| format!("k{i} = 1\n")).collect();
            format!("{head}{keys}")
        }),
        ("thirty-three megabytes", " ".repeat(33 << 20)),
    ];
    for (name, text) in cases {
        // Seen where one ends otherwise.
        eprintln!("{name}");
        let shown = wrong(&text);
        assert!(
            shown.starts_with("error[SP") && shown.contains("error"),
            "{name}: {}",
            &shown[..shown.len().min(2000)]
        );
        assert!(shown.len() < 200_000, "{name}: {} bytes of diagnostics", shown.len());
        assert!(!shown.contains('\u{1b}'), "{name}: control characters reach the terminal");
    }
}

/// A wide but right file: planned in bounded time.
#[test]
fn ten_thousand_cells_are_planned() {
    let numbers = (0..10_000).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let env = TestEnv::with_pipeline(&format!(
        "[pipeline]\nname = \"wide\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"echo\", \"{{n}}\"]\nmatrix.n = [{numbers}]\n\
         [[stage]]\nname = \"b\"\nkind = \"command\"\nrun = [\"true\"]\ninputs.all = \"a[*]\"\n"
    ));
    let out = env.sim(["plan", "pipeline.toml", "--json"]);
    assert_eq!(out.expect(0).json().len(), 10_001);
}
