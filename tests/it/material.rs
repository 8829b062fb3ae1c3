//! Material points: who is asked to simulate them, what the plan refuses, and what engines that have them do.

use crate::engines::{json, number, plan};
use crate::fake::{self, Fake};
use crate::python_engines::where_built;
use serde_json::Value;
use sim_model::record::Status;

const SUITE: &str = r#"[suite]
name = "material"
baseline = "genesis"

[[case]]
scenario = "elastic_cube"
sizes = [512]
steps = 40

[[case]]
scenario = "sand_column"
sizes = [512]
steps = 12
"#;

const PIN: &str = r#"[engine]
name = "genesis"
title = "An engine"
version = "1"
backends = ["cpu"]
order = 1

[source]
crate = "engines/genesis"
bin = "adapter"
"#;

/// P204, P207: an engine whose pin does not say that it simulates material points has no case of them; where
/// there is no pin the adapter is asked, and says `unsupported`.
#[test]
fn engines_without_material_points_have_no_cases_of_them() {
    let suite = SUITE.replace("baseline = \"genesis\"", "baseline = \"fake\"");
    let env = fake::project(&Fake { suite: &suite, ..Fake::default() });
    let label = "trial[good]/elastic_cube/512x1/r0/timed";
    let cases = || -> Vec<String> {
        let all = plan(&env).into_iter().map(|(label, ..)| label);
        all.filter(|l| l.ends_with("/timed")).collect()
    };
    assert_eq!(cases().len(), 2);
    env.run(&[]).out.expect(4);
    let record = env.record(label);
    assert_eq!(record.status, Status::Unsupported);
    assert_eq!(record.reason, "material points (MPM)");
    env.write("engines/fake/engine.toml", PIN.replace("\"genesis\"", "\"fake\""));
    assert_eq!(cases(), [""; 0], "filtered before the suite is recorded");
    let has = PIN.replace("\"genesis\"", "\"fake\"").replace("order = 1", "order = 1\nmpm = true");
    env.write("engines/fake/engine.toml", has);
    assert_eq!(cases().len(), 2);
}

/// P205, P216, P223: before anything runs, each at its place.
#[test]
fn what_material_points_cannot_be_is_refused_at_the_plan() {
    let suite = SUITE
        .replace("baseline = \"genesis\"\n", "")
        .replacen("[512]\nsteps = 40", "[500, 512]\nworlds = [2]\nsteps = 40", 1)
        .replacen("[512]\nsteps = 12", "[195112]\ntimestep = \"1/50\"\nsteps = 12", 1);
    let env = fake::project(&Fake { suite: &suite, ..Fake::default() });
    let out = env.sim(["plan", "pipeline.toml"]);
    let said = &out.expect(3).stderr;
    for problem in [
        "size 500: elastic_cube takes from 512 to 195112 points",
        "worlds = 2: elastic_cube is run in one world",
        "sand_column: a substep of 1/20 has a Courant number of 0.563",
    ] {
        assert!(said.contains(problem), "{problem} in {said}");
    }
}

/// P224, P225, P227-P230, P239, P241, P242: what holds of every engine with material points.
fn moves_material(engine: &str) {
    let Some(env) = where_built(engine, SUITE) else { return };
    let result = |case: &str| -> Value {
        json(&env, &format!("trial[{engine}]/{case}/r0/timed"), "result.json")
    };
    let (cube, sand) = (result("elastic_cube/512x1"), result("sand_column/512x1"));
    for r in [&cube, &sand] {
        assert_eq!(r["outcome"]["status"], "ok", "{:#}", r["outcome"]);
        assert_eq!(r["gates"].as_array().map(Vec::len), Some(7));
        assert_eq!(
            (&r["counters"]["particles"], &r["settings"]["substeps"]),
            (&512.into(), &20.into())
        );
        assert_eq!(r["settings"]["friction_of_walls"], 0.5);
        assert_eq!(r["settings"]["kernels_compiled_in_setup"], 0, "compiled ahead");
        assert!(r["translation"]["exact"].as_array().is_some_and(|l| !l.is_empty()));
    }
    // The lower face is at 0.2 m: until it comes near a cell of 0.1 m above the floor, nothing holds it.
    let label = format!("trial[{engine}]/elastic_cube/512x1/r0/capture");
    let bytes = env.output(&label, "capture.bin");
    let f32_at =
        |at: usize| f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().expect("4")));
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8"));
    let (points, every) = (u64_at(8) as usize, u64_at(24));
    assert_eq!((points, every), (512, 4), "every point, at 60 Hz");
    for frame in 0..7_u64 {
        let first = 40 + frame as usize * points * 28;
        let height: f64 = (0..points).map(|k| f32_at(first + k * 28 + 8)).sum::<f64>() / 512.0;
        let (t, substep) = ((frame * every) as f64 / 240.0, 1.0 / 4800.0);
        // First-order Euler of the substeps.
        let exact = 0.4 - 9.81 * t * (t + substep) / 2.0;
        assert!((height - exact).abs() < 2e-5, "frame {frame}: {height} m, not {exact} m");
        assert!((0..points).all(|k| f32_at(first + k * 28 + 12) == 1.0), "identity as padding");
    }
    let capture = json(&env, &label, "result.json");
    assert_eq!(capture["capture"]["final_state"]["status"], "same");
    assert!(number(&sand, "/phases/measured_ns") > 0.0);
}

#[test]
fn newton_moves_material_points() {
    moves_material("newton");
}

#[test]
fn genesis_moves_material_points() {
    moves_material("genesis");
}
