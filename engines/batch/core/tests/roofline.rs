//! Counted steps: the same bits, and what can be known of the counts (feature `roofline`).
#![cfg(all(feature = "roofline", target_arch = "x86_64"))]

mod models;

use sim_batch::roofline::{Operations, PHASES, Probe, operations, ticks};
use sim_batch::{BatchedEngine, Lanes, Options};

/// One test, as the counters are the process's.
#[test]
fn counts_are_of_the_same_steps() {
    if !Lanes::available().contains(&Lanes::Sixteen) {
        println!("no AVX-512 on this machine: nothing is counted");
        return;
    }
    for (name, model) in models::all() {
        let engine = |lanes| {
            let options =
                Options { lanes: Some(lanes), contact_row_cap: 400, ..Options::default() };
            BatchedEngine::new(model.clone(), 32, &options).expect("an engine")
        };
        let mut plain = engine(Lanes::Sixteen);
        plain.step_n(30);
        let counted = |lanes, probe| -> Vec<Operations> {
            let mut e = engine(lanes);
            e.probe(probe).expect("as many lanes as it takes");
            operations(probe);
            e.step_n(30);
            assert!(e.state() == plain.state(), "{name}: {probe:?} counts other steps");
            operations(probe)
        };
        // Worlds that are alike: a block executes what each of its worlds needs, and no more.
        let (alone, block) =
            (counted(Lanes::One, Probe::CountAlone), counted(Lanes::Sixteen, Probe::CountBlock));
        assert_eq!(alone, block, "{name}");
        assert_eq!(alone.len(), PHASES.len());
        // A root for each row of the mass matrix, of every step and world.
        let at = |phase: &str| alone[PHASES.iter().position(|p| *p == phase).expect("a phase")];
        let roots = (30 * 32 * model.nv()) as f64;
        assert!((at("smooth accelerations").sqrt - roots).abs() < 0.5, "{name}");
        assert!(at("kinematics").flops() > roots && at("line search").fma >= 0.0);
        let mut clocked = engine(Lanes::Sixteen);
        clocked.probe(Probe::Clock).expect("sixteen lanes");
        ticks();
        clocked.step_n(30);
        assert!(clocked.state() == plain.state(), "{name}: clocked");
        let ticks = ticks();
        assert!(ticks.iter().all(|t| *t >= 0.0) && ticks[0] > 0.0, "{name}: {ticks:?}");
        let refused = engine(Lanes::Eight).probe(Probe::Clock).expect_err("eight lanes");
        assert!(refused.to_string().contains("16 lanes and one thread"), "{refused}");
    }
}
