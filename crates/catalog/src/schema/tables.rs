//! The list of tables.

use super::{Column, Table};

/// `name type "meaning"` lists as a constant.
macro_rules! tables {
    ($($table:ident $doc:literal { $($name:ident $ty:ident $meaning:literal)* })*) => {
        &[$(Table {
            name: stringify!($table),
            doc: $doc,
            columns: &[$(Column {
                name: stringify!($name),
                ty: stringify!($ty),
                doc: $meaning,
            },)*],
        },)*]
    };
}

pub(super) const TABLES: &[Table] = tables! {
    tables "These tables: where to start." {
        name VARCHAR "Name of the table."
        about VARCHAR "What a row of it is."
    }
    runs "One row a run of a pipeline, from the journal." {
        run VARCHAR "Id of the run."
        pipeline VARCHAR "Name of the pipeline."
        file VARCHAR "Pipeline file, relative to the project's root."
        started TIMESTAMP "Start, UTC."
        ended TIMESTAMP "End, UTC; NULL where the journal has none (killed, or running)."
        actions BIGINT "Actions in the plan."
        ran BIGINT "Actions that ran."
        reused BIGINT "Actions whose record was reused."
        failed BIGINT "Actions that did not end ok, reused ones included."
        skipped BIGINT "Actions that did not run because of another."
        wall_ms DOUBLE "Wall-clock time, ms."
        interrupted BOOLEAN "Whether a signal ended it."
        machine VARCHAR "Identity of the machine; see machines."
        sandbox VARCHAR "Sandbox level in force; null when nothing ran."
        tool_version VARCHAR "Version of sim-pipe."
    }
    events "What happened to each action in each run, from the journal." {
        run VARCHAR "Id of the run."
        at TIMESTAMP "When, UTC."
        event VARCHAR "reused, started, finished, waited or skipped."
        label VARCHAR "Label of the action."
        key VARCHAR "Key; NULL for a skipped action."
        status VARCHAR "Status, where the event has one."
        detail VARCHAR "Reason of the status, or label of what a skipped action needed."
    }
    actions "One row a record: one run of one action. `latest` selects the newest of each key." {
        key VARCHAR "Key, 64 hexadecimal digits."
        generation INTEGER "0 for the first observation of the key, then 1, 2 …"
        latest BOOLEAN "Whether it is the newest generation of its key."
        label VARCHAR "Label when it ran, such as trial[mujoco]/box_pile/100x1/r0."
        stage VARCHAR "Stage: the label up to the first [ or /."
        kind VARCHAR "Stage kind."
        class VARCHAR "pure, machine or measured."
        status VARCHAR "ok, gate_failed, unsupported, refused, failed, timed_out or out_of_memory."
        reason VARCHAR "Why, for everything but ok."
        started TIMESTAMP "Start, UTC."
        wall_ms DOUBLE "Wall-clock time of the whole action, ms; never a sample."
        cpu_ms DOUBLE "CPU time of all its processes, ms."
        peak_tree_bytes BIGINT "Largest sampled resident memory of all its processes, bytes."
        seed VARCHAR "Seed, as the key holds it."
        repeat VARCHAR "Repeat index of a measured action."
        fingerprint VARCHAR "Fingerprint of the kind's source closure."
        output VARCHAR "Digest of the output tree; NULL where there is none."
        sandbox VARCHAR "Sandbox level it ran under."
        machine VARCHAR "Identity of the machine; see machines."
        governor VARCHAR "Frequency governor; measured actions only, NULL where not readable."
        load_before DOUBLE "One-minute load average before it."
        load_after DOUBLE "One-minute load average after it."
        other_load DOUBLE "CPU time of other processes meanwhile, as a fraction of the machine's."
        stolen DOUBLE "CPU time stolen by the hypervisor, as a fraction of the machine's."
        throttle_events BIGINT "Thermal throttling events meanwhile."
        mhz_before DOUBLE "Frequency of the first CPU before it, MHz."
        noisy VARCHAR "Why the observation is marked noisy; NULL where it is not."
        warnings VARCHAR "Warnings, separated by '; '; NULL where there are none."
        timeout_s DOUBLE "Timeout in force, s."
        memory_cap_bytes DOUBLE "Memory cap in force, bytes."
        tool_version VARCHAR "Version of sim-pipe."
    }
    components "The components of each key: what the action was, and what `explain` prints." {
        key VARCHAR "Key."
        path VARCHAR "Dotted name: args.steps, inputs.engine, kind.fingerprint."
        value VARCHAR "Value as text."
    }
    inputs "One row an input of an action." {
        key VARCHAR "Key of the action that used it."
        generation INTEGER "Generation."
        name VARCHAR "Name; members of a list are NAME[LABEL]."
        tree VARCHAR "Digest of the tree; NULL where there was none."
        input_key VARCHAR "Key of the action that made it; NULL for source files."
        source VARCHAR "Path of a source file, relative to the project's root."
    }
    outputs "One row an output tree of an action." {
        key VARCHAR "Key."
        generation INTEGER "Generation."
        tree VARCHAR "Digest of the tree."
        bytes BIGINT "Bytes in all its files."
        files BIGINT "Number of its files."
    }
    files "One row a file of an output tree." {
        tree VARCHAR "Digest of the tree."
        path VARCHAR "Path within the tree."
        bytes BIGINT "Size, bytes."
        digest VARCHAR "BLAKE3 of the content."
        executable BOOLEAN "Whether it may be executed."
        link VARCHAR "Target of a symbolic link; NULL for a file."
    }
    pins "One row a pinned thing: the arguments of fetch and build-engine actions." {
        key VARCHAR "Key of the action."
        label VARCHAR "Label of the action."
        kind VARCHAR "fetch or build-engine."
        name VARCHAR "Argument, such as version or sha256."
        value VARCHAR "Its value."
    }
    machines "One row a machine that ran anything." {
        machine VARCHAR "Identity: an observation is bound to it."
        class VARCHAR "Class: same bytes for a `machine` action."
        cpu_model VARCHAR "CPU model name."
        cpu_signature VARCHAR "CPU family, model and stepping."
        cpu_features VARCHAR "Vector extensions."
        cpus INTEGER "Logical processors in use."
        ram_bytes BIGINT "RAM, bytes."
        os VARCHAR "Operating system."
        kernel VARCHAR "Kernel release."
        platform VARCHAR "Architecture and system."
        gpus VARCHAR "GPUs with drivers; empty where none is visible."
    }
    trials "One row a trial that left a result, or that failed to; all modes." {
        key VARCHAR "Key."
        generation INTEGER "Generation."
        latest BOOLEAN "Whether it is the newest generation of its key."
        label VARCHAR "Label of the action."
        status VARCHAR "Status of the action."
        reason VARCHAR "Why, for everything but ok."
        mode VARCHAR "timed, memory, capture, probe, profile or calibrate."
        engine VARCHAR "Engine."
        engine_version VARCHAR "Version that the engine reports of itself."
        backend VARCHAR "Backend."
        precision VARCHAR "single or double."
        scenario VARCHAR "Scenario."
        size BIGINT "Dynamic bodies in one world."
        worlds BIGINT "Worlds."
        steps BIGINT "Physics steps of each world in the rollout."
        warmup_steps BIGINT "Physics steps of each world in the warm-up."
        timestep DOUBLE "Length of one step, s."
        threads BIGINT "Worker threads asked for."
        repeat INTEGER "Repeat index."
        seed VARCHAR "Seed of the scene."
        ms_per_step DOUBLE "Measured seconds × 1000 / steps, covering all worlds, ms. Timed only."
        world_steps_per_second DOUBLE "Steps × worlds / measured seconds, 1/s; bodies do not count."
        contacts BIGINT "Contact points in the final state, all worlds."
        constraints BIGINT "Constraint rows in the final state."
        solver_iterations BIGINT "Solver iterations of the final step."
        overflow BIGINT "Contacts or constraints dropped for want of room."
        resets BIGINT "Times the engine reset its own state."
        awake_bodies BIGINT "Dynamic bodies the engine says are awake."
        simulated_bodies BIGINT "Dynamic bodies the engine simulates."
        settings VARCHAR "Effective settings, as a JSON object."
        final_state VARCHAR "BLAKE3 of the final poses of all worlds."
        scene VARCHAR "BLAKE3 of the scene file."
        machine VARCHAR "Identity of the machine; see machines."
        noisy VARCHAR "Why the observation is marked noisy; NULL where it is not."
        started TIMESTAMP "Start, UTC."
    }
    samples "One row a timing sample: timed trials that passed every gate." {
        key VARCHAR "Key."
        generation INTEGER "Generation."
        engine VARCHAR "Engine."
        backend VARCHAR "Backend."
        threads BIGINT "Worker threads asked for."
        scenario VARCHAR "Scenario."
        size BIGINT "Dynamic bodies in one world."
        worlds BIGINT "Worlds."
        steps BIGINT "Physics steps of each world."
        timestep DOUBLE "Length of one step, s."
        repeat INTEGER "Repeat index."
        measured_ns BIGINT "Length of the measured interval, ns."
        ms_per_step DOUBLE "Measured seconds × 1000 / steps, covering all worlds, ms."
        world_steps_per_second DOUBLE "Steps × worlds / measured seconds, 1/s."
        machine VARCHAR "Identity of the machine; see machines."
        noisy VARCHAR "Why the observation is marked noisy; NULL where it is not."
    }
    phases "One row a phase that a trial reached." {
        key VARCHAR "Key."
        generation INTEGER "Generation."
        phase VARCHAR "load, setup, warmup, reset, measured or readback."
        ns BIGINT "Wall-clock time, ns; only `measured` of a timed trial is a sample."
    }
    gates "One row a physical check of a trial: value operator threshold." {
        key VARCHAR "Key."
        generation INTEGER "Generation."
        gate VARCHAR "Name, such as floor_penetration."
        metric VARCHAR "What was measured."
        operator VARCHAR "How value and threshold are compared."
        threshold DOUBLE "Threshold."
        value DOUBLE "Worst value found."
        unit VARCHAR "Unit of both."
        passed BOOLEAN "Whether it holds."
    }
    accuracy "One row an error of a trial against a closed form or a conserved value." {
        key VARCHAR "Key."
        generation INTEGER "Generation."
        id VARCHAR "Name, such as pendulum_angle."
        quantity VARCHAR "What was compared with what."
        error DOUBLE "Largest error over all bodies of all worlds."
        unit VARCHAR "Its unit; 1 for a relative error."
        time_s DOUBLE "Simulated time of the final state, s."
    }
    memory "One row a memory metric of a memory replay." {
        key VARCHAR "Key of the replay."
        generation INTEGER "Generation."
        metric VARCHAR "ram, gpu or footprint; views that overlap, never to be added."
        peak_bytes BIGINT "Peak, bytes; NULL where the counter could not be read."
        sampled_peak_bytes BIGINT "Largest sampled current value, bytes."
        samples BIGINT "Successful readings."
        peak_counter VARCHAR "Counter behind the peak."
        current_counter VARCHAR "Counter behind current values."
        method VARCHAR "How it is read."
        scope VARCHAR "What it covers."
        unavailable VARCHAR "Why there is no value; NULL where there is one."
    }
    memory_snapshots "One row a synchronised snapshot between two phases of a memory replay." {
        key VARCHAR "Key of the replay."
        generation INTEGER "Generation."
        phase VARCHAR "before_setup, after_setup, after_warmup, after_reset or after_rollout."
        ram_bytes BIGINT "Resident memory, bytes."
        ram_peak_bytes BIGINT "Peak resident memory so far, bytes."
    }
    device_time "One row a profile replay. Empty where no profile replay ran; no value without a device that gives timestamps." {
        key VARCHAR "Key of the replay."
        generation INTEGER "Generation."
        ns BIGINT "Device time of the instrumented rollout, ns; NULL where there is none."
        ms_per_step DOUBLE "Device time a step, over all worlds, ms. Not comparable between methods."
        method VARCHAR "How the timestamps were had."
        scope VARCHAR "What they cover."
        combine VARCHAR "sum of all durations, or union of overlapping ones."
        overlap_ns BIGINT "What overlaps, ns; NULL where only durations are known."
        reason VARCHAR "Why there is no value; NULL where there is one."
    }
    capacities "Calibrated buffer sizes of engines that need them. Empty: no calibration has run." {
        key VARCHAR "Key of the calibration."
        generation INTEGER "Generation."
        engine VARCHAR "Engine."
        scenario VARCHAR "Scenario."
        size BIGINT "Dynamic bodies in one world."
        worlds BIGINT "Worlds."
        name VARCHAR "Buffer."
        value BIGINT "Size."
    }
    protocols "One row a verdict of a protocol. Empty: no protocol has run." {
        key VARCHAR "Key of the verdict."
        generation INTEGER "Generation."
        label VARCHAR "Label of the action."
        protocol VARCHAR "Name of the protocol."
        version VARCHAR "Version that the simulator said it has."
        identity VARCHAR "SHA-256 of the protocol, the configuration and the code of metrics and checks."
        selected DOUBLE "The step that is selected, s; NULL where none passes."
        reference DOUBLE "The step that others are compared with, s."
        published BIGINT "Published values it was compared with; NULL where with none."
        published_equal BIGINT "Those that agree to their last digit."
    }
    protocol_checks "One row a check of a candidate step: value operator threshold. Empty: no protocol has run." {
        key VARCHAR "Key of the verdict."
        generation INTEGER "Generation."
        protocol VARCHAR "Name of the protocol."
        candidate DOUBLE "Physics step, s."
        scenario VARCHAR "Scenario."
        check_id VARCHAR "Name, unique within a candidate."
        metric VARCHAR "What is compared; its unit is in its name."
        operator VARCHAR "How value and threshold are compared."
        threshold DOUBLE "Threshold."
        value DOUBLE "Value; NULL where it could not be computed, and the check fails."
        passed BOOLEAN "Whether it holds."
    }
    protocol_metrics "One row a metric of a scenario with a candidate step. Empty: no protocol has run." {
        key VARCHAR "Key of the verdict."
        generation INTEGER "Generation."
        candidate DOUBLE "Physics step, s."
        scenario VARCHAR "Scenario."
        metric VARCHAR "Name; its unit is in it."
        value DOUBLE "Value of the first repeat."
    }
    batch_checks "One row a check of a batched engine: value operator threshold. Empty: no batch protocol has run." {
        key VARCHAR "Key of the verdict."
        generation INTEGER "Generation."
        protocol VARCHAR "Name of the protocol."
        engine VARCHAR "Engine."
        version VARCHAR "Version that the engine said it has."
        backend VARCHAR "Backend."
        worlds BIGINT "Worlds; NULL for the agreement of one world with the plant."
        check_id VARCHAR "Name, unique within a verdict."
        metric VARCHAR "What is compared; its unit is in its name."
        operator VARCHAR "How value and threshold are compared."
        threshold DOUBLE "Threshold."
        value DOUBLE "Value; NULL where it could not be computed, and the check fails."
        passed BOOLEAN "Whether it holds."
    }
    batch_scales "One row a number of worlds of a batched engine. Empty: no batch protocol has run." {
        key VARCHAR "Key of the verdict."
        generation INTEGER "Generation."
        protocol VARCHAR "Name of the protocol."
        engine VARCHAR "Engine."
        backend VARCHAR "Backend."
        worlds BIGINT "Worlds."
        steps BIGINT "Control steps of every world."
        declared_steps BIGINT "Those that the protocol declares for a GPU."
        measured_s DOUBLE "Sum over the measured chunks, s."
        transitions_per_s DOUBLE "Control steps of all worlds a second; NULL where the run ended early."
        physics_steps_per_s DOUBLE "Physics steps of all worlds a second; NULL where the run ended early."
        peak_memory_bytes BIGINT "Largest resident memory after a chunk; NULL where it could not be read."
        error VARCHAR "Why it ended early; NULL where it did not."
    }
    logs "One row an action that wrote something." {
        key VARCHAR "Key."
        generation INTEGER "Generation."
        label VARCHAR "Label of the action."
        blob VARCHAR "Digest of the log."
        bytes BIGINT "Bytes kept."
        dropped BIGINT "Bytes dropped because of the cap on logs."
        tail VARCHAR "The last 16 KiB, bytes that are no UTF-8 replaced."
    }
};
