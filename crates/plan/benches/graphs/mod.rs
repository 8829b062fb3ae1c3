//! The pipelines that are planned.

use std::fmt::Write;

/// `count` stages in layers of 100, each taking three of the layer before.
pub(crate) fn layered(count: usize) -> String {
    let mut text = String::from("[pipeline]\nname = \"bench\"\nseed = 1\n");
    for i in 0..count {
        let _ = write!(
            text,
            "\n[[stage]]\nname = \"s{i}\"\nkind = \"command\"\n\
             run = [\"cp\", \"{{inputs.a}}\", \"{{out}}/file\"]\noutputs = [\"file\"]\n"
        );
        if i < 100 {
            text.push_str("inputs.a = \"source.txt\"\n");
            continue;
        }
        let layer = (i / 100 - 1) * 100;
        for (j, name) in ["a", "b", "c"].iter().enumerate() {
            let _ = writeln!(text, "inputs.{name} = \"s{}\"", layer + (i * 7 + j * 31) % 100);
        }
    }
    text
}

/// One stage of `count` cells.
pub(crate) fn matrix(count: usize) -> String {
    let values: Vec<_> = (0..count / 100).map(|i| i.to_string()).collect();
    let small: Vec<_> = (0..100).map(|i| i.to_string()).collect();
    format!(
        "[pipeline]\nname = \"bench\"\n[[stage]]\nname = \"s\"\nkind = \"command\"\n\
         run = [\"cp\", \"{{x}}\", \"{{y}}\", \"{{out}}/file\"]\nmatrix.x = [{}]\n\
         matrix.y = [{}]\ninputs.a = \"source.txt\"\n",
        values.join(","),
        small.join(",")
    )
}
