use super::*;

fn result() -> JobResult {
    JobResult {
        protocol: 1,
        engine: EngineId { name: "fake".into(), version: "1".into() },
        backend: "cpu".into(),
        precision: Precision::Double,
        mode: Mode::Timed,
        outcome: Outcome { status: Status::Ok, reason: None },
        scene: None,
        worlds: 4,
        steps: 480,
        warmup_steps: 480,
        threads: 1,
        seed: 0,
        phases: Phases { measured_ns: Some(960_000_000), ..Phases::default() },
        ms_per_step: Some(2.0),
        world_steps_per_second: Some(2000.0),
        settings: BTreeMap::new(),
        translation: Translation::default(),
        counters: Counters::default(),
        gates: vec![],
        accuracy: vec![],
        final_state_digest: Some("00".into()),
        world0_state_digest: Some("01".into()),
        memory: None,
        gpu_memory: None,
        capture: None,
        profile: None,
        calibration: None,
    }
}

fn paths(result: &JobResult) -> Vec<String> {
    result.contradictions().unwrap_err().into_iter().map(|e| e.path).collect()
}

#[test]
fn a_consistent_result_survives_json() {
    let before = result();
    assert_eq!(before.contradictions(), Ok(()));
    let text = before.to_json().unwrap();
    assert!(!text.contains("null"), "{text}");
    assert_eq!(serde_json::from_str::<JobResult>(&text).unwrap(), before);
}

#[test]
fn a_number_that_is_not_finite_is_named() {
    let mut bad = result();
    bad.settings.insert("impratio".into(), f64::NAN.into());
    bad.ms_per_step = Some(f64::INFINITY);
    let list: Vec<_> = bad.to_json().unwrap_err().into_iter().map(|e| e.path).collect();
    assert_eq!(list, ["ms_per_step", "settings.impratio"]);
}

#[test]
fn lies_are_found() {
    assert_eq!(paths(&JobResult { ms_per_step: Some(1.0), ..result() }), ["ms_per_step"]);
    let accuracy = Accuracy {
        id: "x".into(),
        quantity: "x".into(),
        error: -1.0,
        unit: "m".into(),
        time_s: 2.0,
    };
    let negative = JobResult { accuracy: vec![accuracy], ..result() };
    assert_eq!(paths(&negative), ["accuracy[0].error"]);
    let replay = JobResult { mode: Mode::Memory, ..result() };
    assert_eq!(paths(&replay), ["phases.measured_ns"]);
    assert_eq!(paths(&JobResult { warmup_steps: 10, ..result() }), ["warmup_steps"]);
    assert_eq!(
        paths(&JobResult { world_steps_per_second: Some(500.0), worlds: 1, ..result() }),
        ["world0_state_digest"]
    );
    let gate = GateResult {
        id: "floor_penetration".into(),
        metric: "deepest".into(),
        operator: GateOperator::AtMost,
        limit: 0.15,
        value: 0.2,
        unit: "m".into(),
        passed: true,
    };
    assert_eq!(paths(&JobResult { gates: vec![gate.clone()], ..result() }), ["gates[0].passed"]);
    let failed = GateResult { passed: false, ..gate };
    assert_eq!(paths(&JobResult { gates: vec![failed], ..result() }), ["gates[0].passed"]);
}

#[test]
fn gpu_memory_is_a_closed_choice() {
    let none = serde_json::to_string(&GpuMemory::NotApplicable).unwrap();
    assert_eq!(none, r#"{"status":"not_applicable"}"#);
    assert!(serde_json::from_str::<GpuMemory>(r#"{"status":"sampled","peak_bytes":1}"#).is_err());
}
