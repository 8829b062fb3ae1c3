//! The text of diagnostics.

use crate::kinds::{files, planned, planned_in, with_head};
use sim_plan::{Options, Outcome, render};

/// Code, line, column and underlined text of each diagnostic.
fn marks(outcome: &Outcome) -> Vec<String> {
    let mark = |d: &sim_plan::Diagnostic| {
        let text = &outcome.sources.get(&d.at.file).unwrap().text;
        format!("{} {}:{} {}", d.code, d.at.line, d.at.column, &text[d.at.start..d.at.end])
    };
    outcome.diagnostics.iter().map(mark).collect()
}

#[track_caller]
fn assert_marks(stages: &str, expected: &[&str]) {
    let outcome = planned(&with_head(stages));
    assert_eq!(marks(&outcome), expected, "{}", render(&outcome, false, 100));
}

#[track_caller]
fn assert_text(stages: &str, expected: &str) {
    let outcome = planned(&with_head(stages));
    let shown = render(&outcome, false, 100);
    assert_eq!(shown.trim(), expected.trim(), "\n{shown}");
}

const A: &str = "[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"true\"]\n";

fn a_and(more: &str) -> String {
    format!("{A}{more}\n")
}

#[test]
fn an_unknown_stage_is_underlined_and_a_near_one_offered() {
    assert_text(
        &a_and("\n[[stage]]\nname = \"sim\"\nkind = \"probe\"\ninputs.data = \"aa[x]\""),
        r#"
error[SP0104]: stage `sim` needs `aa`, which is not defined
  --> pipelines/p.toml:12:16
   |
12 | inputs.data = "aa[x]"
   |                ^^ no stage of this name, for the input `data`
   |
help: did you mean `a`?

1 error; `sim-pipe help SP0104` explains the first
"#,
    );
}

#[test]
fn a_cycle_shows_the_path_and_each_input() {
    assert_text(
        r#"[[stage]]
name = "a"
kind = "command"
run = ["true"]
inputs.x = "c"

[[stage]]
name = "b"
kind = "command"
run = ["true"]
inputs.x = "a"

[[stage]]
name = "c"
kind = "command"
run = ["true"]
inputs.y = ["b", "a"]
"#,
        r#"
error[SP0310]: stages need each other in a circle: `a` → `c` → `a`
  --> pipelines/p.toml:8:12
   |
 8 | inputs.x = "c"
   |            ^^^ needs `c`
   |
  ::: pipelines/p.toml:20:12
   |
20 | inputs.y = ["b", "a"]
   |            ---------- needs `a`
   |
help: take one of these inputs away, or split a stage in two

1 error; `sim-pipe help SP0310` explains the first
"#,
    );
}

#[test]
fn everything_wrong_is_reported_at_once_and_in_order() {
    assert_marks(
        r#"[[stage]]
name = "a b"
kind = "comand"
runn = 1

[[stage]]
name = "p"
kind = "probe"
flag = 1
steps = 0
size = "big"
mode = "fats"
file = "nothing.txt"
modes = ["fast", "slow"]
gates = [1]
text = true
timeout = "5"
memory = "200%"
seed = -1
env.1X = "a"
env.Y = 2
colour = "red"
inputs.date = "data/a.csv"
matrix.n = [1]
"#,
        &[
            r#"SP0106 5:8 "a b""#,
            r#"SP0107 6:8 "comand""#,
            "SP0103 12:8 1",
            "SP0109 13:9 0",
            r#"SP0103 14:8 "big""#,
            r#"SP0110 15:8 "fats""#,
            r#"SP0303 16:8 "nothing.txt""#,
            r#"SP0110 17:18 "slow""#,
            "SP0103 18:9 [1]",
            "SP0103 19:8 true",
            r#"SP0111 20:11 "5""#,
            r#"SP0111 21:10 "200%""#,
            "SP0109 22:8 -1",
            "SP0113 23:5 1X",
            "SP0103 24:9 2",
            "SP0101 25:1 colour",
            "SP0308 26:8 date",
        ],
    );
}

#[test]
fn placeholders_are_underlined_inside_their_string() {
    assert_marks(
        r#"[[stage]]
name = "p"
kind = "probe"
text = "é\t{nn}"
mode = '{m}'
size = "{n}"
file = "data/{n}"
inputs.data = """
data/{x}.csv"""
matrix.n = ["a.csv"]
"#,
        &["SP0201 7:12 {nn}", "SP0201 8:9 {m}", r#"SP0103 9:8 "{n}""#, "SP0201 12:6 {x}"],
    );
}

#[test]
fn a_problem_in_another_file_has_its_own_snippet() {
    assert_text(
        r#"[[stage]]
name = "e"
kind = "build-engine"
engine = "rapier"

[[stage]]
name = "trial"
kind = "trial"
suite = "suites/bad.toml"
inputs.engine = "e"
matrix.n = [1, 2]
"#,
        r#"
error[SP0403]: the case `bad one` is bad
  --> suites/bad.toml:2:1
   |
 2 | bad one
   | ^^^^^^^
   |
  ::: pipelines/p.toml:10:8
   |
10 | name = "trial"
   |        ------- needed by this stage
   |
help: write a good one

error[SP0403]: the case `bad two` is bad
  --> suites/bad.toml:3:1
   |
 3 | bad two
   | ^^^^^^^
   |
  ::: pipelines/p.toml:10:8
   |
10 | name = "trial"
   |        ------- needed by this stage
   |
help: write a good one

2 errors; `sim-pipe help SP0403` explains the first
"#,
    );
}

#[test]
fn syntax_errors_come_all_together_and_hide_what_they_may_have_caused() {
    assert_marks(
        "[[stage]]\nname = \"a\nkind = \"command\"\nx = = 2\n\n[defaults]\ntimeout = 1\n\n[[stage]]\nname = \"b\"\nrun = [\"true\"\nx = 2\n\n[defaults]\n",
        &["SP0004 5:10 ", "SP0004 7:5 =", "SP0103 10:11 1", "SP0004 15:1 "],
    );
    assert_marks(
        &a_and("name = \"b\"\n[defaults]\ntimeout = \"1s\"\n[defaults]\nmemory = \"1\""),
        &["SP0004 8:1 name", "SP0004 11:2 defaults"],
    );
}

#[test]
fn overrides_are_checked_like_the_file() {
    let files = files().with("pipelines/p.toml", with_head(A));
    let set = |pairs: &[(&str, &str)]| Options {
        overrides: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..Options::default()
    };
    let good = set(&[
        ("pipeline.seed", "3"),
        ("stage.a.run", "['echo', '{seed}', '{n}']"),
        ("stage.a.matrix.n", "[1, 2]"),
        ("defaults.timeout", "5s"),
    ]);
    let outcome = planned_in(&files, &good);
    let plan = outcome.plan.as_ref().unwrap();
    assert_eq!(plan.actions[1].argv, ["echo", "3", "2"]);
    assert_eq!(plan.actions[1].limits.timeout.as_secs(), 5);
    assert_eq!(
        plan.actions[1].origins.get("seed").expect("an origin").to_string(),
        "<set pipeline.seed>:1:1"
    );
    let bad = set(&[("seed", "3"), ("stage.b.seed", "1"), ("pipeline.seed", "-1")]);
    let outcome = planned_in(&files, &bad);
    assert_eq!(marks(&outcome), ["SP0501 1:1 3", "SP0501 1:1 1", "SP0109 1:1 -1"]);
}

#[test]
fn diagnostics_are_json() {
    let outcome = planned(&with_head("[[stage]]\nname = \"é\"\nkind = \"command\"\nrun = []\n"));
    let json = serde_json::to_value(&outcome.diagnostics).unwrap();
    assert_eq!(json[0]["code"], "SP0106");
    assert_eq!(json[0]["severity"], "error");
    assert_eq!(json[0]["at"]["file"], "pipelines/p.toml");
    assert_eq!((&json[0]["at"]["line"], &json[0]["at"]["column"]), (&5.into(), &8.into()));
    assert_eq!((&json[0]["at"]["end_line"], &json[0]["at"]["end_column"]), (&5.into(), &11.into()));
}

#[test]
fn codes_that_no_example_can_show() {
    let with = |text: &str| planned(&with_head(text));
    let twice = with(
        "[[stage]]\nname = \"t\"\nkind = \"trial\"\nsuite = \"suites/twice.toml\"\ninputs.engine = \"a\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"true\"]\n",
    );
    assert_eq!(marks(&twice), [r#"SP0402 5:8 "t""#]);
    let unequal = with(
        "[[stage]]\nname = \"t\"\nkind = \"trial\"\nsuite = \"suites/unequal.toml\"\ninputs.engine = \"a\"\n[[stage]]\nname = \"tt\"\nkind = \"trial\"\nsuite = \"suites/unequal.toml\"\ninputs.engine = \"a\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"true\"]\n",
    );
    assert_eq!(marks(&unequal), [r#"SP0407 10:8 "tt""#]);
    assert_eq!(
        unequal.diagnostics[0].message,
        "two stages make the shared action `scene/unequal` differently: `seed`"
    );
    let broken = with("[[stage]]\nname = \"t\"\nkind = \"broken\"\n");
    assert_eq!(marks(&broken), [r#"SP0408 5:8 "t""#]);
}

#[test]
fn references_that_select_nothing_or_too_much() {
    assert_marks(
        r#"[[stage]]
name = "e"
kind = "build-engine"
matrix.engine = ["m", "r"]

[[stage]]
name = "p"
kind = "probe"
inputs.data = "e"

[[stage]]
name = "c"
kind = "command"
run = ["true"]
inputs.a = "e[x]"
inputs.b = "e[m]/no"
inputs.c = "e[m"
inputs.d = "e[*]:sub"
inputs.e = ["e[m]", "analyse.py"]
inputs.f = "../x"
inputs.g = "."
inputs.h = "e[m]:a/../../b"
inputs.i = "e[m,*]"
inputs.j = "nowhere[1]/x"
"#,
        &[
            r#"SP0307 12:15 "e""#,
            r#"SP0302 18:12 "e[x]""#,
            r#"SP0315 19:12 "e[m]/no""#,
            r#"SP0301 20:12 "e[m""#,
            r#"SP0301 21:12 "e[*]:sub""#,
            r#"SP0312 22:12 ["e[m]", "analyse.py"]"#,
            r#"SP0306 23:12 "../x""#,
            r#"SP0306 24:12 ".""#,
            r#"SP0301 25:12 "e[m]:a/../../b""#,
            r#"SP0302 26:12 "e[m,*]""#,
            "SP0104 27:13 nowhere",
        ],
    );
}
