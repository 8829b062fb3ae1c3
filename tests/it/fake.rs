//! A project with a real `trial` stage on the fake engine: a `command` stage stands in for
//! `build-engine` and gives an adapter folder that holds the fake.

use crate::harness::TestEnv;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What to put into a project.
pub(crate) struct Fake<'a> {
    /// Behaviours of the fake, one engine each; see `engines/fake`. An entry is the content of
    /// `fake.json`.
    pub(crate) scripts: &'a [(&'a str, &'a str)],
    /// The suite.
    pub(crate) suite: &'a str,
    /// `replays` of the trial stage.
    pub(crate) replays: &'a str,
    /// More keys of the trial stage.
    pub(crate) trial: &'a str,
}

/// Three bodies that fall for a tenth of a second.
pub(crate) const FALL: &str = r#"[suite]
name = "fall"
repeats = 1

[[case]]
scenario = "free_fall"
sizes = [3]
steps = 24
"#;

/// The same, and four boxes for too short a time to fall through a floor that the fake has not.
pub(crate) const FALL_AND_PILE: &str = r#"[suite]
name = "both"
repeats = 1

[[case]]
scenario = "free_fall"
sizes = [3]
steps = 24

[[case]]
scenario = "box_pile"
sizes = [4]
steps = 2
gates.floor_penetration_m = 0.15
"#;

impl Default for Fake<'_> {
    fn default() -> Self {
        Self { scripts: &[("good", "{}")], suite: FALL, replays: "[]", trial: "" }
    }
}

/// Builds `engine[NAME]` and `trial[NAME]` for each script.
pub(crate) fn project(fake: &Fake<'_>) -> TestEnv {
    let names: Vec<String> = fake.scripts.iter().map(|(n, _)| format!("{n:?}")).collect();
    let names = names.join(", ");
    let env = TestEnv::with_pipeline(&format!(
        r#"[pipeline]
name = "fake"
seed = 7

[[stage]]
name = "engine"
kind = "command"
run = ["sh", "mk.sh", "{{script}}", "{{out}}"]
inputs.mk = "mk.sh"
inputs.fake = "sim-engine-fake"
inputs.scripts = "scripts"
matrix.script = [{names}]

[[stage]]
name = "trial"
kind = "trial"
engine = "fake"
suite = "suite.toml"
matrix.script = [{names}]
inputs.engine = "engine[{{script}}]"
replays = {replays}
{trial}
"#,
        replays = fake.replays,
        trial = fake.trial,
    ));
    env.write("suite.toml", fake.suite);
    for (name, script) in fake.scripts {
        env.write(&format!("scripts/{name}.json"), script);
    }
    env.write("mk.sh", MAKE);
    std::fs::copy(adapter(), env.path("sim-engine-fake")).expect("copy the fake");
    env
}

/// Makes an adapter folder: a wrapper that lays the script beside the job, and the fake.
const MAKE: &str = r#"set -e
mkdir "$2/bin"
cp in/fake "$2/bin/sim-engine-fake"
cp "in/scripts/$1.json" "$2/fake.json"
cat > "$2/bin/adapter" <<'END'
#!/bin/sh
here=$(dirname "$0")
[ "$1" = run ] && cp "$here/../fake.json" "$(dirname "$2")/fake.json"
exec "$here/sim-engine-fake" "$@"
END
chmod 755 "$2/bin/adapter"
echo '{"bin": "bin/adapter"}' > "$2/engine.json"
"#;

/// The fake engine's program, built once if need be, with the profile of the program under test.
fn adapter() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let exe = Path::new(env!("CARGO_BIN_EXE_sim-pipe"));
        let profile = exe.parent().expect("a profile's folder");
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--package", "sim-engine-fake", "--target-dir"])
            .arg(profile.parent().expect("the target folder"))
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        let status = cargo.status().expect("start cargo");
        assert!(status.success(), "the fake engine does not build");
        profile.join("sim-engine-fake")
    })
}

/// The repository's templates.
pub(crate) fn copy_templates(env: &TestEnv) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    sim_store::tree::copy_all(&from, &env.path("templates")).expect("copy the templates");
}
