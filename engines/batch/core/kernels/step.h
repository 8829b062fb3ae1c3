// One step of a block of worlds.
#pragma once
#include "collide.h"
#include "solve.h"

// Positions from velocities, qvel being the new one.
template <class F> FN_BIG void advance(const Model& m, const State<F>& s) {
    const i32* I = m.I;
    f32 h = m.S[m.s_opt + OPT_DT];
    for (int j = 0; j < m.njnt; j++) {
        int type = I[m.i_jnt_type + j], q = I[m.i_jnt_qpos + j], d = I[m.i_jnt_dof + j];
        if (type == JNT_SLIDE || type == JNT_HINGE) {
            s.qpos[q] = fma_(s.qvel[d], F(h), s.qpos[q]);
            continue;
        }
        if (type == JNT_FREE) {
            for (int k = 0; k < 3; k++) s.qpos[q + k] = fma_(s.qvel[d + k], F(h), s.qpos[q + k]);
            q += 3;
            d += 3;
        }
        F length;
        V3<F> axis = unit(V3<F>{s.qvel[d], s.qvel[d + 1], s.qvel[d + 2]}, length);
        F sn, cs;
        sincos_(length * (0.5f * h), sn, cs);
        Quat<F> was = unit(Quat<F>{s.qpos[q], s.qpos[q + 1], s.qpos[q + 2], s.qpos[q + 3]});
        Quat<F> now = unit(mul(was, Quat<F>{cs, axis.x * sn, axis.y * sn, axis.z * sn}));
        s.qpos[q] = now.w;
        s.qpos[q + 1] = now.x;
        s.qpos[q + 2] = now.y;
        s.qpos[q + 3] = now.z;
    }
}

// Accelerations of a free body that nothing hangs on: with its gyroscopic forces at the new velocities too. Linear
// dofs come first and are in the world's frame, the angular ones in the body's.
template <class F> FN_BIG void free_body(const Model& m, const State<F>& s, Work<F>& w, int body, Arr<F> force, Arr<F> out) {
    int dof = m.I[m.i_body_dofadr + body];
    f32 h = m.S[m.s_opt + OPT_DT];
    M3<F> r = load9(w.xmat, body);
    V3<F> turn = mul(r, load3(s.qvel.at(dof), 1)), arm = centre(m, w, body) - load3(w.xpos, body);
    Arr<F> in = w.crb.at(10 * body);
    F mass = in[9], along = dot(turn, arm), reach = dot(arm, arm);
    M3<F> inertia = {{in[0], in[3], in[4]}, {in[3], in[1], in[5]}, {in[4], in[5], in[2]}};
    // About the body's origin.
    V3<F> spin = mul(inertia, turn) + scale(axpy(reach, turn, scale(arm, -along)), mass);
    F B[3][3], C[3][3], rhs[3], inv[3];
    for (int k = 0; k < 3; k++) {
        V3<F> axis = col(r, k);
        // Change of the inertial force and torque with angular velocity about axis k.
        V3<F> pull = axpy(along, axis, axpy(dot(arm, axis), turn, scale(arm, dot(turn, axis) * -2.0f)));
        V3<F> held = mul(inertia, axis) + scale(axpy(reach, axis, scale(arm, -dot(arm, axis))), mass);
        V3<F> twist = mul_t(r, cross(turn, held) + cross(axis, spin));
        F* rows[] = {&pull.x, &pull.y, &pull.z};
        F* turns[] = {&twist.x, &twist.y, &twist.z};
        for (int i = 0; i < 3; i++) {
            int a = dof + 3 + (i > k ? i : k), b = dof + 3 + (i > k ? k : i);
            B[i][k] = fma_(mass * h, *rows[i], w.M[tri(dof + 3 + k) + dof + i]);
            C[i][k] = fma_(*turns[i], F(h), w.M[tri(a) + b]);
        }
        C[k][k] = fma_(w.dderiv[dof + 3 + k], F(h), C[k][k]);
    }
    // Linear rows are diagonal but for the angular columns.
    for (int i = 0; i < 3; i++) inv[i] = F(1.0f) / fma_(w.dderiv[dof + i], F(h), w.M[tri(dof + i) + dof + i]);
    for (int i = 0; i < 3; i++) {
        rhs[i] = force[dof + 3 + i];
        for (int j = 0; j < 3; j++) {
            F low = w.M[tri(dof + 3 + i) + dof + j] * inv[j];
            rhs[i] = fma_(-low, force[dof + j], rhs[i]);
            for (int k = 0; k < 3; k++) C[i][k] = fma_(-low, B[j][k], C[i][k]);
        }
    }
    V3<F> c0 = {C[0][0], C[1][0], C[2][0]}, c1 = {C[0][1], C[1][1], C[2][1]}, c2 = {C[0][2], C[1][2], C[2][2]};
    V3<F> b = {rhs[0], rhs[1], rhs[2]};
    F det = F(1.0f) / dot(c0, cross(c1, c2));
    F x[3] = {dot(b, cross(c1, c2)) * det, dot(c0, cross(b, c2)) * det, dot(c0, cross(c1, b)) * det};
    for (int i = 0; i < 3; i++) {
        F y = force[dof + i];
        for (int k = 0; k < 3; k++) y = fma_(-B[i][k], x[k], y);
        out[dof + i] = y * inv[i];
        out[dof + 3 + i] = x[i];
    }
}

// New velocities and positions. Damping (and, of implicitfast, the servos' velocity terms) are taken at the new ones.
template <class F> FN_BIG void integrate(const Model& m, const State<F>& s, Work<F>& w) {
    f32 h = m.S[m.s_opt + OPT_DT];
    Arr<F> acc = s.qacc;
    if (m.implicit || m.damped) {
        Pattern tree = tree_pattern(m);
        for (int i = 0; i < m.nv; i++) {
            Arr<F> to = w.H.at(tri(i)), from = w.M.at(tri(i));
            for (int a = tree.adr[i]; a < tree.adr[i + 1]; a++) to[tree.cols[a]] = from[tree.cols[a]];
            F lost = m.implicit ? w.dderiv[i] : s.tab[m.t_damping + i];
            to[i] = fma_(lost, F(h), from[i]);
            w.Mv[i] = w.smooth[i] + w.force[i];
        }
        factor(m.nv, tree, w.H);
        solve(m.nv, tree, w.H, w.Mv, w.search);
        acc = w.search;
        for (int k = 0; m.implicit && k < m.nfree; k++) free_body(m, s, w, m.I[m.i_free_body + k], w.Mv, w.search);
    }
    for (int i = 0; i < m.nv; i++) {
        s.warm[i] = s.qacc[i];
        s.qvel[i] = fma_(acc[i], F(h), s.qvel[i]);
    }
    advance(m, s);
}

// Everything up to the accelerations.
template <class F> FN void forward(const Model& m, const State<F>& s, Work<F>& w, typename Lane<F>::Mask valid, Tally<F>& t) {
    Pattern tree = tree_pattern(m);
    t.contacts = F(0.0f);
    t.rows = F(0.0f);
    t.near = F(0.0f);
    t.overflow = Lane<F>::none();
    for (int k = 0; k < KEY_BITS; k++) t.seen[k] = Lane<F>::none();
    PHASE(PHASE_KINEMATICS);
    kinematics(m, s, w);
    PHASE(PHASE_DYNAMICS);
    bias_forces(m, s, w);
    mass_matrix(m, s, w);
    smooth_forces(m, s, w);
    PHASE(PHASE_SMOOTH);
    for (int i = 0; i < m.nv; i++) {
        Arr<F> to = w.L.at(tri(i)), from = w.M.at(tri(i));
        for (int a = tree.adr[i]; a < tree.adr[i + 1]; a++) to[tree.cols[a]] = from[tree.cols[a]];
        to[i] = from[i];
    }
    factor(m.nv, tree, w.L);
    solve(m.nv, tree, w.L, w.smooth, w.qacc_smooth);
    PHASE(PHASE_COLLIDE);
    collide(m, w, valid, t);
    PHASE(PHASE_ROWS);
    limit_rows(m, s, w, valid, t);
    contact_rows(m, s, w);
    PHASE(PHASE_NEWTON);
    F iterations;
    newton(m, s, w, valid, t, iterations);
    PHASE(PHASE_REST);
    s.info[INFO_CONTACTS] = t.contacts;
    s.info[INFO_ROWS] = t.rows + (f32)m.nfric;
    s.info[INFO_ITERATIONS] = iterations;
    F key = F(0.0f);
    for (int k = 0; k < KEY_BITS; k++) key = key + sel_(t.seen[k], F((f32)(1 << k)), F(0.0f));
    s.info[INFO_KEY] = key;
    s.info[INFO_NEAR] = t.near;
    if (m.touches > 0) write_touches(m, s, w);
}

// Without `move` all but the positions and velocities.
template <class F> FN void step_block(const Model& m, const State<F>& s, Work<F>& w, typename Lane<F>::Mask valid, bool move) {
    Tally<F> t;
    forward(m, s, w, valid, t);
    if (move) {
        PHASE(PHASE_INTEGRATE);
        integrate(m, s, w);
        PHASE(PHASE_REST);
        s.info[INFO_STEPS] = s.info[INFO_STEPS] + 1.0f;
    }
    auto fine = Lane<F>::all();
    for (int i = 0; i < m.nq; i++) fine = and_(fine, lt_(abs_(s.qpos[i]), F(1e10f)));
    for (int i = 0; i < m.nv; i++) fine = and_(fine, and_(lt_(abs_(s.qvel[i]), F(1e10f)), lt_(abs_(s.qacc[i]), F(1e10f))));
    // Flags stay until the state is set anew. They are small whole numbers in a float.
    F was = s.info[INFO_FLAGS];
    auto broken = lt_(F(1.5f), was);
    auto over = or_(t.overflow, lt_(F(0.5f), was - sel_(broken, F(2.0f), F(0.0f))));
    broken = or_(broken, not_(fine));
    s.info[INFO_FLAGS] = sel_(over, F((f32)FLAG_OVERFLOW), F(0.0f)) + sel_(broken, F((f32)FLAG_NOT_FINITE), F(0.0f));
}
