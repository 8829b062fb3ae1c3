//! Hostile texts: a diagnostic in bounded time and memory, never a panic.

use crate::kinds::{FACTS, files, planned, planned_in, registry, with_head};
use sim_plan::{MemFiles, Options, plan, render};

const A: &str = "[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"true\"]\n";

/// Plans a text that must fail, renders it, and gives the first code.
#[track_caller]
fn first(text: impl Into<Vec<u8>>) -> String {
    let outcome = planned_in(&files().with("pipelines/p.toml", text.into()), &Options::default());
    let shown = render(&outcome, true, 80);
    assert!(outcome.plan.is_none() && !outcome.diagnostics.is_empty());
    assert!(shown.len() < 400_000, "{} bytes are shown", shown.len());
    assert!(!shown.contains('\0'));
    outcome.diagnostics[0].code.to_owned()
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(first(b"[pipeline]\nname = \"\xff\"\n".as_slice()), "SP0002");
    assert_eq!(first("a = \"\0\"\n"), "SP0004");
    assert_eq!(first("\u{feff}[pipeline]\nname = \"x\"\n"), "SP0115");
    let missing = plan(&MemFiles::new(), "p.toml", &registry(), FACTS, &Options::default());
    assert_eq!(missing.diagnostics[0].code, "SP0001");
    assert_eq!(
        render(&missing, false, 80).lines().next(),
        Some("error[SP0001]: the pipeline file `p.toml` can't be read: no such file")
    );
}

#[test]
fn nesting_without_end() {
    for (open, close) in [("[", "]"), ("{ a = ", "}")] {
        let n = 100_000;
        assert_eq!(first(format!("x = {}1{}\n", open.repeat(n), close.repeat(n))), "SP0004");
        assert_eq!(first(format!("x = {}", open.repeat(n))), "SP0004");
    }
    assert_eq!(first(format!("{} = 1\n", ["a"; 100_000].join("."))), "SP0004");
    assert_eq!(first(format!("[{}]\n", ["a"; 100_000].join("."))), "SP0004");
}

#[test]
fn megabytes_of_anything() {
    // Ten megabytes where the build is fast enough for it.
    let n = if cfg!(debug_assertions) { 1 << 20 } else { 10 << 20 };
    for piece in [
        "a",
        "[",
        "\"",
        "{",
        "= ",
        "\n[[stage]]",
        "x=1\n",
        "\u{1b}",
        "'''",
        "é",
        "# c\n",
        "a.b=1\n",
    ] {
        first(piece.repeat(n / piece.len()));
    }
}

#[test]
fn one_line_of_a_million_characters() {
    let text = with_head(&format!("{A}text = \"{}\"\n", "é".repeat(500_000)));
    assert_eq!(first(text), "SP0101");
    let stages = (0..20_000).map(|i| format!("{{name='s{i}',kind='command',run=['é','{{x}}']}}"));
    let text = format!("stage=[{}]\n[pipeline]\nname='p'\n", stages.collect::<Vec<_>>().join(","));
    let outcome = planned(&text);
    assert_eq!(outcome.diagnostics.len() + outcome.dropped, 20_000);
    let shown = render(&outcome, false, 100);
    assert!(shown.contains("19900 more not shown"), "{}", &shown[shown.len() - 300..]);
    assert!(shown.len() < 200_000);
}

#[test]
fn a_matrix_without_end() {
    let values: Vec<_> = (0..1001).map(|i| i.to_string()).collect();
    let values = values.join(",");
    let two = format!("{A}matrix.a = [{values}]\nmatrix.b = [{values}]\n");
    assert_eq!(first(with_head(&two)), "SP0208");
    let many: String = (0..40).map(|i| format!("matrix.d{i} = [1, 2]\n")).collect();
    assert_eq!(first(with_head(&format!("{A}{many}"))), "SP0208");
    let wide: Vec<_> = (0..1_000_001).map(|i| i.to_string()).collect();
    assert_eq!(first(with_head(&format!("{A}matrix.a = [{}]\n", wide.join(",")))), "SP0208");
    let some = with_head(&format!("{A}matrix.a = [1, 2, 3]\n"));
    let options = Options { max_actions: 2, ..Options::default() };
    let outcome = planned_in(&files().with("pipelines/p.toml", some), &options);
    assert_eq!(outcome.diagnostics[0].message, "the matrix has more than 2 cells");
}

#[test]
fn numbers_that_are_none() {
    for number in ["99999999999999999999", "0xFFFFFFFFFFFFFFFFFF", "nan", "-inf", "1e999"] {
        let text = format!("[pipeline]\nname = \"p\"\nseed = {number}\n{A}");
        assert_eq!(first(text), "SP0112", "{number}");
    }
    assert_eq!(first(format!("[pipeline]\nname = \"p\"\nseed = 1979-05-27\n{A}")), "SP0103");
    assert_eq!(
        first(format!("[pipeline]\nname = \"p\"\nseed = {}\n{A}", "9".repeat(1 << 20))),
        "SP0112"
    );
}

#[test]
fn edges_without_end_are_refused() {
    let cells: Vec<_> = (0..6000).map(|i| i.to_string()).collect();
    let cells = cells.join(",");
    let text = format!(
        "[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"true\", \"{{a}}\"]\n\
         matrix.a = [{cells}]\n[[stage]]\nname = \"b\"\nkind = \"command\"\n\
         run = [\"true\", \"{{b}}\"]\nmatrix.b = [{cells}]\ninputs.x = \"a[*]\"\n"
    );
    assert_eq!(first(with_head(&text)), "SP0314");
}

#[test]
fn a_long_chain_and_a_long_circle() {
    let stage = |i: usize, on: usize| {
        format!("[[stage]]\nname='s{i}'\nkind='command'\nrun=['true']\ninputs.x='s{on}'\n")
    };
    let n = 20_000;
    let chain: String = (1..n).map(|i| stage(i, i - 1)).collect();
    // Backwards, so that order has to be found.
    let first_one = format!("{}[[stage]]\nname='s0'\nkind='command'\nrun=['true']\n", "");
    let back: String = (1..n).rev().map(|i| stage(i, i - 1)).collect();
    let outcome = planned(&with_head(&format!("{back}{first_one}")));
    let plan = outcome.plan.unwrap();
    assert_eq!(plan.actions[n - 1].label, format!("s{}", n - 1));
    let circle = planned(&with_head(&format!("{chain}{}", stage(0, n - 1))));
    assert_eq!(circle.diagnostics[0].code, "SP0310");
    assert!(render(&circle, false, 100).len() < 5000);
}
