// Where everything is: bodies, joint axes, geoms, centres of mass, inertias.
#pragma once
#include "model.h"

// Turns a body by its hinge and moves it so that the joint's point stays where it is.
template <class F> FN void turn(const Model& m, int j, Quat<F> by, V3<F> anchor, V3<F>& p, Quat<F>& q) {
    q = mul(q, by);
    p = anchor - mul(matrix(q), const3<F>(m.S + m.s_jnt_pos + 3 * j));
}

// Poses of the bodies; joints' anchors and axes go into cdof for the time being, as (axis, anchor).
template <class F> FN void body_poses(const Model& m, const State<F>& s, Work<F>& w) {
    const i32* I = m.I;
    const f32* S = m.S;
    store3(w.xpos, 0, V3<F>{F(0.0f), F(0.0f), F(0.0f)});
    Quat<F> none = {F(1.0f), F(0.0f), F(0.0f), F(0.0f)};
    for (int k = 0; k < 4; k++) w.xquat[k] = F(k == 0 ? 1.0f : 0.0f);
    store9(w.xmat, 0, matrix(none));
    store3(w.xipos, 0, const3<F>(S + m.s_body_ipos));
    for (int b = 1; b < m.nbody; b++) {
        int jnt = I[m.i_body_jntadr + b], njnt = I[m.i_body_jntnum + b];
        V3<F> p;
        Quat<F> q;
        if (njnt == 1 && I[m.i_jnt_type + jnt] == JNT_FREE) {
            Arr<F> at = s.qpos.at(I[m.i_jnt_qpos + jnt]);
            p = {at[0], at[1], at[2]};
            q = unit(Quat<F>{at[3], at[4], at[5], at[6]});
        } else {
            int up = I[m.i_body_parent + b];
            const f32* bq = S + m.s_body_quat + 4 * b;
            Quat<F> pq = {w.xquat[4 * up], w.xquat[4 * up + 1], w.xquat[4 * up + 2], w.xquat[4 * up + 3]};
            p = load3(w.xpos, up) + mul(load9(w.xmat, up), const3<F>(S + m.s_body_pos + 3 * b));
            q = mul(pq, Quat<F>{F(bq[0]), F(bq[1]), F(bq[2]), F(bq[3])});
            for (int j = jnt; j < jnt + njnt; j++) {
                int dof = I[m.i_jnt_dof + j], at = I[m.i_jnt_qpos + j];
                M3<F> r = matrix(q);
                V3<F> local = const3<F>(S + m.s_jnt_axis + 3 * j);
                V3<F> anchor = p + mul(r, const3<F>(S + m.s_jnt_pos + 3 * j));
                int type = I[m.i_jnt_type + j];
                if (type == JNT_BALL) {
                    turn(m, j, unit(Quat<F>{s.qpos[at], s.qpos[at + 1], s.qpos[at + 2], s.qpos[at + 3]}), anchor, p, q);
                    store3(w.cdof.at(6 * dof), 1, anchor);
                    continue;
                }
                V3<F> axis = mul(r, local);
                F by = s.qpos[at] - S[m.s_qpos0 + at];
                store6(w.cdof, dof, {axis, anchor});
                if (type == JNT_SLIDE) {
                    p = axpy(by, axis, p);
                } else {
                    F sn, cs;
                    sincos_(by * 0.5f, sn, cs);
                    turn(m, j, Quat<F>{cs, local.x * sn, local.y * sn, local.z * sn}, anchor, p, q);
                }
            }
            q = unit(q);
        }
        store3(w.xpos, b, p);
        w.xquat[4 * b] = q.w;
        w.xquat[4 * b + 1] = q.x;
        w.xquat[4 * b + 2] = q.y;
        w.xquat[4 * b + 3] = q.z;
        M3<F> r = matrix(q);
        store9(w.xmat, b, r);
        store3(w.xipos, b, p + mul(r, const3<F>(S + m.s_body_ipos + 3 * b)));
    }
}

template <class F> FN void geom_poses(const Model& m, const State<F>& s, Work<F>& w) {
    for (int g = 0; g < m.ngeom; g++) {
        int b = m.I[m.i_geom_body + g];
        V3<F> at = load3(s.tab.at(m.t_geom_pos), g);
        M3<F> local = load9(s.tab.at(m.t_geom_mat), g);
        if (b == 0) {
            store3(w.gpos, g, at);
            store9(w.gmat, g, local);
            continue;
        }
        M3<F> r = load9(w.xmat, b);
        store3(w.gpos, g, load3(w.xpos, b) + mul(r, at));
        store9(w.gmat, g, mul(r, local));
    }
}

// Centre of mass of each tree (a body on the world and all that hangs on it).
template <class F> FN void tree_centres(const Model& m, const State<F>& s, Work<F>& w) {
    Arr<F> mass = s.tab.at(m.t_mass);
    for (int t = 0; t < 4 * m.ntree; t++) w.com[t] = F(0.0f);
    for (int b = 1; b < m.nbody; b++) {
        int t = m.I[m.i_body_tree + b];
        Arr<F> c = w.com.at(4 * t);
        F ms = mass[b];
        V3<F> sum = axpy(ms, load3(w.xipos, b), V3<F>{c[0], c[1], c[2]});
        store3(c, 0, sum);
        c[3] = c[3] + ms;
    }
    for (int t = 0; t < m.ntree; t++) {
        Arr<F> c = w.com.at(4 * t);
        F s1 = F(1.0f) / max_(c[3], F(1e-15f));
        for (int k = 0; k < 3; k++) c[k] = c[k] * s1;
    }
}

template <class F> FN V3<F> centre(const Model& m, const Work<F>& w, int body) {
    Arr<F> c = w.com.at(4 * m.I[m.i_body_tree + body]);
    return {c[0], c[1], c[2]};
}

// Spatial inertia of a body about its tree's centre.
template <class F> FN void body_inertia(const Model& m, const State<F>& s, Work<F>& w, int b) {
    Arr<F> local = s.tab.at(m.t_inertia + 6 * b);
    M3<F> r = load9(w.xmat, b);
    M3<F> in = {{local[0], local[3], local[4]}, {local[3], local[1], local[5]}, {local[4], local[5], local[2]}};
    V3<F> a0 = mul(in, r.r0), a1 = mul(in, r.r1), a2 = mul(in, r.r2);
    F ms = s.tab[m.t_mass + b];
    V3<F> d = load3(w.xipos, b) - centre(m, w, b);
    V3<F> h = scale(d, ms);
    Arr<F> I = w.cinert.at(10 * b);
    I[0] = fma_(h.y, d.y, fma_(h.z, d.z, dot(r.r0, a0)));
    I[1] = fma_(h.x, d.x, fma_(h.z, d.z, dot(r.r1, a1)));
    I[2] = fma_(h.x, d.x, fma_(h.y, d.y, dot(r.r2, a2)));
    I[3] = fma_(-h.x, d.y, dot(r.r0, a1));
    I[4] = fma_(-h.x, d.z, dot(r.r0, a2));
    I[5] = fma_(-h.y, d.z, dot(r.r1, a2));
    I[6] = h.x;
    I[7] = h.y;
    I[8] = h.z;
    I[9] = ms;
}

// Motions of the dofs about the tree's centre, from the joints' axes and anchors.
template <class F> FN void joint_motions(const Model& m, Work<F>& w, int b) {
    const i32* I = m.I;
    V3<F> com = centre(m, w, b);
    F zero = F(0.0f);
    for (int j = I[m.i_body_jntadr + b], e = j + I[m.i_body_jntnum + b]; j < e; j++) {
        int dof = I[m.i_jnt_dof + j], type = I[m.i_jnt_type + j];
        if (type == JNT_FREE || type == JNT_BALL) {
            V3<F> anchor = type == JNT_FREE ? load3(w.xpos, b) : load3(w.cdof.at(6 * dof), 1);
            if (type == JNT_FREE) {
                for (int k = 0; k < 18; k++) w.cdof[6 * dof + k] = F(k % 7 == 3 ? 1.0f : 0.0f);
                dof += 3;
            }
            M3<F> r = load9(w.xmat, b);
            for (int k = 0; k < 3; k++) store6(w.cdof, dof + k, {col(r, k), cross(col(r, k), com - anchor)});
            continue;
        }
        Motion<F> joint = load6(w.cdof, dof);
        if (type == JNT_SLIDE) store6(w.cdof, dof, {{zero, zero, zero}, joint.w});
        else store6(w.cdof, dof, {joint.w, cross(joint.w, com - joint.v)});
    }
}

template <class F> FN_BIG void kinematics(const Model& m, const State<F>& s, Work<F>& w) {
    body_poses(m, s, w);
    geom_poses(m, s, w);
    tree_centres(m, s, w);
    for (int b = 1; b < m.nbody; b++) {
        body_inertia(m, s, w, b);
        joint_motions(m, w, b);
    }
}
