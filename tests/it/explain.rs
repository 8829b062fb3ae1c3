//! `explain` names the first component of a key that differs, both values, and where the new one was
//! written.

use crate::cache::{MEASURED, TWO, two};
use crate::fake::{self, Fake};
use crate::harness::{TestEnv, assert_text};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn explain(env: &TestEnv, more: &[&str]) -> String {
    let out = env.sim(["explain", "pipeline.toml"].iter().chain(more));
    out.expect(0);
    // The machine has a name; it is not the test's business.
    let machine = sim_exec::detect_machine().cpu_model;
    (out.out() + &out.err()).replace(&format!(" on {machine}"), " on [MACHINE]")
}

#[test]
fn what_never_ran_and_what_waits() {
    let env = two();
    assert_text(
        &explain(&env, &[]),
        "
upper: would run · key [HASH]
  it never ran: no record with this label
",
    );
    assert_text(
        &explain(&env, &["count"]),
        "
count: depends · key not known yet
  upper runs first; if it gives the same bytes as before, this one is reused
upper: would run · key [HASH]
  it never ran: no record with this label
",
    );
    env.run_ok(&[]);
    assert_text(
        &explain(&env, &[]),
        "
two: nothing would run
",
    );
    assert_text(
        &explain(&env, &["upper"]),
        "
upper: reused · key [HASH]
  recorded [DATE] as ok on [MACHINE]
",
    );
}

#[test]
fn a_changed_source() {
    let env = two();
    env.run_ok(&[]);
    env.write("text.txt", "other\n");
    assert_text(
        &explain(&env, &[]),
        "
upper: would run · key [HASH]
  first difference: inputs.text
    before: [HASH]
       now: [HASH]   [pipeline.toml:8:15]
            from text.txt
            ~ the file
                - line 1: hello
                + line 1: other
",
    );
}

#[test]
fn a_changed_mode() {
    let env = two();
    env.run_ok(&[]);
    fs::set_permissions(env.path("text.txt"), fs::Permissions::from_mode(0o755)).expect("chmod");
    assert_text(
        &explain(&env, &[]),
        "
upper: would run · key [HASH]
  first difference: inputs.text
    before: [HASH]
       now: [HASH]   [pipeline.toml:8:15]
            from text.txt
            ~ the file: mode not executable → executable, same content
",
    );
}

#[test]
fn a_changed_command_seed_and_environment() {
    let env = two();
    env.run_ok(&[]);
    env.replace("pipeline.toml", "tr a-z A-Z", "tr a-y A-Y");
    assert_text(
        &explain(&env, &["upper"]),
        "
upper: would run · key [HASH]
  first difference: run[2]
    before: tr a-z A-Z < {inputs.text} > {out}/upper.txt
       now: tr a-y A-Y < {inputs.text} > {out}/upper.txt   [pipeline.toml:7:7]
",
    );
    let env = two();
    env.run_ok(&[]);
    env.replace("pipeline.toml", "name = \"two\"", "name = \"two\"\nseed = 9");
    assert_text(
        &explain(&env, &["upper"]),
        "
upper: would run · key [HASH]
  first difference: seed
    before: 0
       now: 9   [pipeline.toml:3:8]
",
    );
    env.write("pipeline.toml", TWO.replacen("outputs", "env.MODE = \"fast\"\noutputs", 1));
    assert_text(
        &explain(&env, &["upper"]),
        "
upper: would run · key [HASH]
  first difference: env.MODE
    before: (none)
       now: fast   [pipeline.toml:9:12]
",
    );
}

#[test]
fn a_changed_gate_names_the_line_of_the_suite() {
    let env = fake::project(&Fake { suite: fake::FALL_AND_PILE, ..Fake::default() });
    env.run_ok(&[]);
    env.replace("suite.toml", "floor_penetration_m = 0.15", "floor_penetration_m = 0.2");
    assert_text(
        &explain(&env, &[]),
        "
trial[good]/box_pile/4x1/r0/timed: would run · key [HASH]
  first difference: args.gates.floor_penetration_m
    before: 0.15
       now: 0.2   [suite.toml:14:29]
",
    );
}

#[test]
fn a_changed_template() {
    let env = TestEnv::with_pipeline(&format!(
        "{TWO}\n[[stage]]\nname = \"site\"\nkind = \"report\"\ninputs.files = \"count[*]\"\ntemplates = \"templates\"\n"
    ));
    env.write("text.txt", "hello\n");
    fake::copy_templates(&env);
    env.run_ok(&[]);
    let page = fs::read_to_string(env.path("templates/index.html")).expect("read");
    env.write("templates/index.html", format!("{page}{{# a remark #}}"));
    let line = page.lines().count() + 1;
    let shown = explain(&env, &[]).replace(&format!("line {line}:"), "line N:");
    assert_text(
        &shown,
        "
site: would run · key [HASH]
  first difference: inputs.templates
    before: [HASH]
       now: [HASH]   [pipeline.toml:22:13]
            from templates
            ~ index.html
                - line N: (end of the file)
                + line N: {# a remark #}
",
    );
}

#[test]
fn something_upstream_gave_other_bytes() {
    let env = two();
    env.run_ok(&[]);
    env.write("text.txt", "other words\n");
    env.run_ok(&["--only", "upper"]);
    assert_text(
        &explain(&env, &[]),
        "
count: would run · key [HASH]
  first difference: inputs.upper
    before: [HASH]
       now: [HASH]   [pipeline.toml:15:16]
            from upper
            ~ upper.txt
                - line 1: HELLO
                + line 1: OTHER WORDS
",
    );
}

#[test]
fn a_failure_is_tried_again() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"f\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"false\"]\n",
    );
    env.run(&[]).out.expect(4);
    assert_text(
        &explain(&env, &[]),
        "
a: would run · key [HASH]
  its record says failed, which a run tries again: exit code 1
",
    );
}

#[test]
fn every_component_of_a_key() {
    let env = TestEnv::with_pipeline(MEASURED);
    env.run_ok(&[]);
    assert_text(
        &explain(&env, &["--all", "time/r1"]),
        "
time/r1: reused · key [HASH]
  recorded [DATE] as ok on [MACHINE]
    class = measured
    kind = command
    kind.fingerprint = [HASH]
    platform = x86_64-linux
    run[0] = sh   [pipeline.toml:9:7]
    run[1] = -c   [pipeline.toml:9:7]
    run[2] = date +%N > {out}/time.txt   [pipeline.toml:9:7]
    seed = 0
    outputs[0] = time.txt   [pipeline.toml:10:11]
    tools.sh = blake3 [HASH]
    network = 0
    machine.identity = [HASH]
    repeat = 1
",
    );
}

#[test]
fn as_json() {
    let env = two();
    env.run_ok(&[]);
    env.write("text.txt", "other\n");
    let out = env.sim(["explain", "pipeline.toml", "--json"]);
    let lines = out.expect(0).json();
    let first = lines.iter().find(|l| l["first"] == true).expect("a first difference");
    assert_eq!(first["component"], "inputs.text");
    assert_eq!(first["origin"], "pipeline.toml:8:15");
    assert_ne!(first["before"], first["now"]);
}

/// snakemake/snakemake#2011, #1677: a program whose kind came out of other sources says that this is
/// why it would run, and what waits for it.
#[test]
fn another_version_of_a_kind() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"p\"\n[[stage]]\nname = \"s\"\nkind = \"scene\"\nscenario = \"free_fall\"\nsize = 3\n",
    );
    env.run_ok(&[]);
    // The record as a program with other sources of the kind would have written it.
    let store = env.store();
    let mut record = env.record("s");
    let key = record.key.to_string();
    fs::remove_file(env.store_path().join("records").join(&key[..2]).join(&key)).expect("remove");
    let old = "0".repeat(63) + "1";
    for c in record.components.iter_mut().filter(|c| c.path == "kind.fingerprint") {
        c.value.clone_from(&old);
    }
    record.key = sim_model::Digest::of(b"another key");
    store.put_record(&record).expect("write the record");
    let root = env.store_path().join("roots/p.json");
    let text = fs::read_to_string(&root).expect("read");
    fs::write(&root, text.replace(&key, &record.key.to_string())).expect("write");
    assert_text(
        &explain(&env, &[]),
        "
s: would run · key [HASH]
  first difference: kind.fingerprint
    before: [HASH]
       now: [HASH]
            the source of stage kind `scene` changed
",
    );
    env.run_ok(&[]).assert_ran(&["s"]);
}
