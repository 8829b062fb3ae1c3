// Constraint rows: friction loss, limits, contacts, as soft constraints.
//
// A pyramid's rows come in pairs, normal plus and minus friction times a tangent. They are kept by their basis, the
// normal's row and each tangent's times its friction: row = basis 0 +- basis k. An elliptic cone's basis is its rows
// times friction, the normal's times that of the regularised cone: see cone.h.
#pragma once
#include "cone.h"

// Impedance at a distance from the margin.
template <class F> FN F impedance(const f32* soft, F beyond) {
    if (soft[SOFT_WIDTH] <= 0.0f) return F(0.5f * (soft[SOFT_D0] + soft[SOFT_DMAX]));
    F x = abs_(beyond) * (1.0f / soft[SOFT_WIDTH]);
    int power = (int)soft[SOFT_POWER];
    F y = x;
    if (power > 1) {
        F rest = F(1.0f) - x, low = x, high = rest;
        for (int k = 1; k < power; k++) {
            low = low * x;
            high = high * rest;
        }
        y = sel_(le_(x, F(soft[SOFT_MID])), low * soft[SOFT_LOW], F(1.0f) - high * soft[SOFT_HIGH]);
    }
    F imp = fma_(y, F(soft[SOFT_DMAX] - soft[SOFT_D0]), F(soft[SOFT_D0]));
    return sel_(lt_(x, F(1.0f)), imp, F(soft[SOFT_DMAX]));
}

// Inverse of the regularisation of a row with inverse weight `diag`.
template <class F> FN F stiffness(F imp, F diag) { return F(1.0f) / max_((F(1.0f) - imp) / imp * diag, F(1e-15f)); }

template <class F> FN_BIG void limit_rows(const Model& m, const State<F>& s, Work<F>& w, typename Lane<F>::Mask valid, Tally<F>& t) {
    w.nlim = 0;
    for (int l = 0; l < m.nlimit; l++) {
        const f32* c = m.S + m.s_lim + LIM_COUNT * l;
        f32 side = (f32)m.I[m.i_lim_side + l];
        F dist = (F(c[LIM_RANGE]) - s.qpos[m.I[m.i_lim_qpos + l]]) * side;
        auto mask = and_(valid, lt_(dist, F(c[SOFT_MARGIN])));
        if (!any_(mask)) continue;
        int k = w.nlim++;
        F beyond = sel_(mask, dist - c[SOFT_MARGIN], F(0.0f));
        F imp = impedance(c, beyond);
        w.lim[k] = l;
        w.lD[k] = sel_(mask, stiffness(imp, F(c[LIM_WEIGHT])), F(0.0f));
        F vel = s.qvel[m.I[m.i_lim_dof + l]] * -side;
        w.lc[k] = fma_(vel, F(c[SOFT_B]), beyond * imp * c[SOFT_K]);
        w.lim_mask[k] = mask;
        t.rows = t.rows + sel_(mask, F(1.0f), F(0.0f));
    }
}

// Friction coefficients of a pair: sliding, torsional, rolling.
template <class F> FN V3<F> friction(const Model& m, const State<F>& s, int pair, f32 least) {
    Arr<F> tab = s.tab.at(m.t_friction);
    int g1 = m.I[m.i_pair_g1 + pair], g2 = m.I[m.i_pair_g2 + pair];
    V3<F> a = load3(tab, g1), b = load3(tab, g2);
    int mix = m.I[m.i_pair_mix + pair];
    if (mix == MIX_FIRST) b = a;
    if (mix == MIX_SECOND) a = b;
    F low = F(least);
    return {max_(max_(a.x, b.x), low), max_(max_(a.y, b.y), low), max_(max_(a.z, b.z), low)};
}

// Jacobian, regularisation and reference of one contact point.
template <class F, int DIM> FN void contact_point(const Model& m, const State<F>& s, Work<F>& w, int p) {
    const i32* I = m.I;
    int pair = w.pt_pair[p];
    const f32* soft = m.S + m.s_pair + PAIR_COUNT * pair;
    F mu[MOST_DIM];
    if (I[m.i_pair_mix + pair] == MIX_OWN) {
        for (int k = 1; k < DIM; k++) mu[k] = F(soft[PAIR_FRICTION + k - 1]);
    } else if (DIM > 1) {
        V3<F> f = friction(m, s, pair, 1e-5f);
        mu[1] = mu[2] = f.x;
        mu[3] = f.y;
        mu[4] = mu[5] = f.z;
    }
    bool round = DIM > 1 && m.elliptic;
    if (round) mu[0] = mu[1] * sqrt_(F(m.S[m.s_opt + OPT_INV_IMPRATIO]));
    V3<F> at = load3(w.pos, p), axis[3];
    for (int k = 0; k < 3; k++) axis[k] = load3(w.axes, 3 * p + k);
    int b1 = I[m.i_geom_body + I[m.i_pair_g1 + pair]], b2 = I[m.i_geom_body + I[m.i_pair_g2 + pair]];
    V3<F> arm1 = at, arm2 = at;
    if (b1 > 0) arm1 = at - centre(m, w, b1);
    if (b2 > 0) arm2 = at - centre(m, w, b2);
    F vel[DIM];
    for (int k = 0; k < DIM; k++) vel[k] = F(0.0f);
    const i32* sup = I + m.i_sup + I[m.i_pair_supadr + pair];
    Arr<F> J = w.J.at(w.pt_jac[p]);
    for (int e = 0, n = I[m.i_pair_supnum + pair]; e < n; e++) {
        int dof = sup[e] >> 1, first = sup[e] & 1;
        Motion<F> d = load6(w.cdof, dof);
        V3<F> lin = d.v + cross(d.w, first ? arm1 : arm2), ang = d.w;
        if (first) {
            lin = -lin;
            ang = -ang;
        }
        F q = s.qvel[dof];
        for (int k = 0; k < DIM; k++) {
            F j = k < 3 ? dot(axis[k < 3 ? k : 0], lin) : dot(axis[k < 3 ? 0 : k - 3], ang);
            if (k > 0 || round) j = j * mu[k];
            J[e * DIM + k] = j;
            vel[k] = fma_(j, q, vel[k]);
        }
    }
    auto mask = w.pt_mask[p];
    F beyond = sel_(mask, w.dist[p] - soft[SOFT_MARGIN], F(0.0f));
    F imp = impedance(soft, beyond), diag = F(soft[PAIR_WEIGHT]);
    F D, push = beyond * imp * soft[SOFT_K];
    if (round) {
        // The regularisation of every row, divided by its friction squared, is the same.
        D = stiffness(imp, diag) / (mu[0] * mu[0]);
        push = push * mu[0];
    } else {
        if (DIM > 1) diag = fma_(mu[1] * mu[1], diag, diag) * (mu[1] * mu[1] * (2.0f * m.S[m.s_opt + OPT_INV_IMPRATIO]));
        // All edges of a pyramid share one regularisation, from the weight of its first pair.
        D = stiffness(imp, diag);
    }
    w.D[p] = sel_(mask, D, F(0.0f));
    for (int k = 0; k < DIM; k++) {
        f32 damping = soft[round && k > 0 ? PAIR_SLIDE_B : SOFT_B];
        w.aref[MOST_DIM * p + k] = sel_(mask, vel[k] * damping, F(0.0f));
    }
    w.aref[MOST_DIM * p] = w.aref[MOST_DIM * p] + push;
    for (int k = round ? 0 : 1; k < DIM; k++) w.mu[MOST_DIM * p + k] = mu[k];
}

template <class F> FN_BIG void contact_rows(const Model& m, const State<F>& s, Work<F>& w) {
    for (int p = 0; p < w.npoint; p++) {
        switch (m.I[m.i_pair_dim + w.pt_pair[p]]) {
            case 1: contact_point<F, 1>(m, s, w, p); break;
            case 3: contact_point<F, 3>(m, s, w, p); break;
            case 4: contact_point<F, 4>(m, s, w, p); break;
            default: contact_point<F, 6>(m, s, w, p);
        }
    }
}

// out = J x for every point, basis by basis.
template <class F, int DIM> FN void point_mul(const Model& m, Work<F>& w, int p, Arr<F> x, F* out) {
    int pair = w.pt_pair[p];
    const i32* sup = m.I + m.i_sup + m.I[m.i_pair_supadr + pair];
    Arr<F> J = w.J.at(w.pt_jac[p]);
    for (int k = 0; k < DIM; k++) out[k] = F(0.0f);
    for (int e = 0, n = m.I[m.i_pair_supnum + pair]; e < n; e++) {
        F q = x[sup[e] >> 1];
        for (int k = 0; k < DIM; k++) out[k] = fma_(J[e * DIM + k], q, out[k]);
    }
}
template <class F> FN_BIG void contact_mul(const Model& m, Work<F>& w, Arr<F> x, Arr<F> out, bool with_aref) {
    for (int p = 0; p < w.npoint; p++) {
        F v[MOST_DIM];
        int dim = m.I[m.i_pair_dim + w.pt_pair[p]];
        switch (dim) {
            case 1: point_mul<F, 1>(m, w, p, x, v); break;
            case 3: point_mul<F, 3>(m, w, p, x, v); break;
            case 4: point_mul<F, 4>(m, w, p, x, v); break;
            default: point_mul<F, 6>(m, w, p, x, v);
        }
        for (int k = 0; k < dim; k++) out[MOST_DIM * p + k] = with_aref ? v[k] + w.aref[MOST_DIM * p + k] : v[k];
    }
}

// A pyramid at basis values a: how far its two edges along k are inside.
template <class F> FN void edges(F a0, F ak, F& plus, F& minus) {
    plus = min_(a0 + ak, F(0.0f));
    minus = min_(a0 - ak, F(0.0f));
}

// Forces of a pyramid, or of a contact without friction, along its basis.
template <class F, int DIM> FN void pyramid_force(F D, Arr<F> a, F* f) {
    if (DIM == 1) {
        f[0] = -(D * min_(a[0], F(0.0f)));
        return;
    }
    f[0] = F(0.0f);
    for (int k = 1; k < DIM; k++) {
        F plus, minus;
        edges(a[0], a[k], plus, minus);
        f[0] = f[0] - D * (plus + minus);
        f[k] = -(D * (plus - minus));
    }
}

// force += J' f for the constraint forces at the residuals.
template <class F, int DIM> FN void point_force(const Model& m, Work<F>& w, int p, Arr<F> force) {
    Arr<F> a = w.ja.at(MOST_DIM * p);
    F f[DIM];
    if (DIM > 1 && m.elliptic) cone_force<F, DIM>(w.D[p], w.mu[MOST_DIM * p], a, f);
    else pyramid_force<F, DIM>(w.D[p], a, f);
    int pair = w.pt_pair[p];
    const i32* sup = m.I + m.i_sup + m.I[m.i_pair_supadr + pair];
    Arr<F> J = w.J.at(w.pt_jac[p]);
    for (int e = 0, n = m.I[m.i_pair_supnum + pair]; e < n; e++) {
        int dof = sup[e] >> 1;
        F q = force[dof];
        for (int k = 0; k < DIM; k++) q = fma_(J[e * DIM + k], f[k], q);
        force[dof] = q;
    }
}

template <class F, int DIM> FN F normal_force(const Model& m, const Work<F>& w, int p) {
    Arr<F> a = w.ja.at(MOST_DIM * p);
    F f[DIM];
    if (DIM > 1 && m.elliptic) {
        F mu = w.mu[MOST_DIM * p];
        cone_force<F, DIM>(w.D[p], mu, a, f);
        return f[0] * mu;
    }
    pyramid_force<F, DIM>(w.D[p], a, f);
    return f[0];
}

// Writes down the contacts of each world, at most as many as there is room for, in the order of pairs.
template <class F> FN_BIG void write_touches(const Model& m, const State<F>& s, const Work<F>& w) {
    int count[Lane<F>::W];
    for (int l = 0; l < Lane<F>::W; l++) count[l] = 0;
    for (int p = 0; p < w.npoint; p++) {
        int pair = w.pt_pair[p];
        F force;
        switch (m.I[m.i_pair_dim + pair]) {
            case 1: force = normal_force<F, 1>(m, w, p); break;
            case 3: force = normal_force<F, 3>(m, w, p); break;
            case 4: force = normal_force<F, 4>(m, w, p); break;
            default: force = normal_force<F, 6>(m, w, p);
        }
        for (int l = 0; l < Lane<F>::W; l++) {
            if (!bit_(w.pt_mask[p], l) || count[l] >= m.touches) continue;
            int at = TOUCH_COUNT * count[l]++;
            set_(s.touch[at + TOUCH_PAIR], l, (f32)pair);
            set_(s.touch[at + TOUCH_DISTANCE], l, get_(w.dist[p], l));
            set_(s.touch[at + TOUCH_FORCE], l, get_(force, l));
        }
    }
}

// Second derivative of a pyramid's cost along its basis, from the edges that push: each direction's own, and the
// normal's with each tangent.
template <class F, int DIM> struct PyramidWeights {
    F own[DIM], mixed[DIM];
    FN void of(const Work<F>& w, int p, PyramidWeights& to) {
        Arr<F> a = w.ja.at(MOST_DIM * p);
        F D = w.D[p], zero = F(0.0f);
        to.own[0] = DIM == 1 ? sel_(lt_(a[0], zero), D, zero) : zero;
        for (int k = 1; k < DIM; k++) {
            F plus = sel_(lt_(a[0] + a[k], zero), D, zero), minus = sel_(lt_(a[0] - a[k], zero), D, zero);
            to.own[k] = plus + minus;
            to.mixed[k] = plus - minus;
            to.own[0] = to.own[0] + to.own[k];
        }
    }
    // Times a column of the Jacobian.
    MEMBER void times(const F* j, F* g) const {
        g[0] = own[0] * j[0];
        for (int k = 1; k < DIM; k++) {
            g[0] = fma_(mixed[k], j[k], g[0]);
            g[k] = fma_(own[k], j[k], mixed[k] * j[0]);
        }
    }
    // As a stiffness in space, rows.
    MEMBER M3<F> spread(const Work<F>& w, int p) const {
        V3<F> n = load3(w.axes, 3 * p), g = scale(n, own[0]), t[3], h[3];
        for (int k = 1; k < DIM; k++) {
            t[k] = scale(load3(w.axes, 3 * p + k), w.mu[MOST_DIM * p + k]);
            g = axpy(mixed[k], t[k], g);
            h[k] = axpy(own[k], t[k], scale(n, mixed[k]));
        }
        M3<F> W = {scale(g, n.x), scale(g, n.y), scale(g, n.z)};
        for (int k = 1; k < DIM; k++) {
            W.r0 = axpy(t[k].x, h[k], W.r0);
            W.r1 = axpy(t[k].y, h[k], W.r1);
            W.r2 = axpy(t[k].z, h[k], W.r2);
        }
        return W;
    }
};

// H += J' A J for what pushes, by the packed rows.
template <class F, int DIM, class Weights> FN void rows_hessian(const Model& m, Work<F>& w, int p) {
    Weights A;
    Weights::of(w, p, A);
    if (!any_(lt_(F(0.0f), A.own[0]))) return;
    int pair = w.pt_pair[p];
    const i32* sup = m.I + m.i_sup + m.I[m.i_pair_supadr + pair];
    Arr<F> J = w.J.at(w.pt_jac[p]);
    for (int e = 0, n = m.I[m.i_pair_supnum + pair]; e < n; e++) {
        F j[DIM], g[DIM];
        for (int k = 0; k < DIM; k++) j[k] = J[e * DIM + k];
        A.times(j, g);
        Arr<F> row = w.H.at(tri(sup[e] >> 1));
        for (int c = 0; c <= e; c++) {
            F h = row[sup[c] >> 1];
            for (int k = 0; k < DIM; k++) h = fma_(g[k], J[c * DIM + k], h);
            row[sup[c] >> 1] = h;
        }
    }
}
template <class F, int DIM> FN void point_hessian(const Model& m, Work<F>& w, int p) {
    if (DIM > 1 && m.elliptic) rows_hessian<F, DIM, ConeWeights<F, DIM>>(m, w, p);
    else rows_hessian<F, DIM, PyramidWeights<F, DIM>>(m, w, p);
}

// Where one side stands still, J' A J is a spatial stiffness of the body that moves: it adds up over contacts and
// down the tree as inertias do, and is far less work than the rows. Upper triangle: xx xy xz yy yz zz of the angular
// part, the mixed part by rows, and of the linear part.
template <class F, class Weights> FN void body_stiffness(const Model& m, Work<F>& w, int p, int body) {
    Weights A;
    Weights::of(w, p, A);
    if (!any_(lt_(F(0.0f), A.own[0]))) return;
    M3<F> W = A.spread(w, p);
    V3<F> r = load3(w.pos, p) - centre(m, w, body);
    // Rows of [r] W, then of [r] W [r]'.
    V3<F> x = axpy(r.y, W.r2, scale(W.r1, -r.z)), y = axpy(r.z, W.r0, scale(W.r2, -r.x)), z = axpy(r.x, W.r1, scale(W.r0, -r.y));
    V3<F> xx = cross(r, x), yy = cross(r, y), zz = cross(r, z);
    F add[21] = {xx.x, xx.y, xx.z, yy.y, yy.z, zz.z, x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z, W.r0.x, W.r0.y, W.r0.z, W.r1.y, W.r1.z, W.r2.z};
    Arr<F> K = w.K.at(21 * body);
    for (int k = 0; k < 21; k++) K[k] = w.stiff[body] ? K[k] + add[k] : add[k];
    w.stiff[body] = 1;
}
template <class F, int DIM> FN void point_stiffness(const Model& m, Work<F>& w, int p, int body) {
    if (DIM > 1 && m.elliptic) body_stiffness<F, ConeWeights<F, DIM>>(m, w, p, body);
    else body_stiffness<F, PyramidWeights<F, DIM>>(m, w, p, body);
}

template <class F> FN Motion<F> stiffness_mul(Arr<F> K, Motion<F> s) {
    return {{fma_(K[0], s.w.x, fma_(K[1], s.w.y, fma_(K[2], s.w.z, fma_(K[6], s.v.x, fma_(K[7], s.v.y, K[8] * s.v.z))))),
             fma_(K[1], s.w.x, fma_(K[3], s.w.y, fma_(K[4], s.w.z, fma_(K[9], s.v.x, fma_(K[10], s.v.y, K[11] * s.v.z))))),
             fma_(K[2], s.w.x, fma_(K[4], s.w.y, fma_(K[5], s.w.z, fma_(K[12], s.v.x, fma_(K[13], s.v.y, K[14] * s.v.z)))))},
            {fma_(K[6], s.w.x, fma_(K[9], s.w.y, fma_(K[12], s.w.z, fma_(K[15], s.v.x, fma_(K[16], s.v.y, K[17] * s.v.z))))),
             fma_(K[7], s.w.x, fma_(K[10], s.w.y, fma_(K[13], s.w.z, fma_(K[16], s.v.x, fma_(K[18], s.v.y, K[19] * s.v.z))))),
             fma_(K[8], s.w.x, fma_(K[11], s.w.y, fma_(K[14], s.w.z, fma_(K[17], s.v.x, fma_(K[19], s.v.y, K[20] * s.v.z)))))}};
}

template <class F> FN void copy_rows(Work<F>& w, Pattern tree, int d, int rows) {
    for (int i = d; i < d + rows; i++) {
        Arr<F> to = w.H.at(tri(i)), from = w.M.at(tri(i));
        for (int a = tree.adr[i]; a < tree.adr[i + 1]; a++) to[tree.cols[a]] = from[tree.cols[a]];
        to[i] = from[i];
    }
}

// Rows of N dofs of one body together: each ancestor's motion is read once for them.
template <class F, int N> FN void stiff_rows(Work<F>& w, Pattern tree, int d, int body) {
    Motion<F> f[N];
    for (int r = 0; r < N; r++) f[r] = stiffness_mul(w.K.at(21 * body), load6(w.cdof, d + r));
    for (int a = tree.adr[d]; a < tree.adr[d + 1]; a++) {
        int c = tree.cols[a];
        Motion<F> axis = load6(w.cdof, c);
        for (int r = 0; r < N; r++) w.H[tri(d + r) + c] = w.M[tri(d + r) + c] + dot(axis, f[r]);
    }
    for (int r = 0; r < N; r++)
        for (int q = 0; q <= r; q++) w.H[tri(d + r) + d + q] = w.M[tri(d + r) + d + q] + dot(load6(w.cdof, d + q), f[r]);
}

// H = M plus the stiffness of contacts with what stands still.
template <class F> FN_BIG void tree_hessian(const Model& m, Work<F>& w, Pattern tree) {
    const i32* I = m.I;
    for (int b = 0; b < m.nbody; b++) w.stiff[b] = 0;
    for (int p = 0; p < w.npoint; p++) {
        int pair = w.pt_pair[p], body = I[m.i_pair_body + pair];
        if (body < 0) continue;
        if (I[m.i_pair_dim + pair] == 1) point_stiffness<F, 1>(m, w, p, body);
        else point_stiffness<F, 3>(m, w, p, body);
    }
    for (int b = m.nbody - 1; b > 0; b--) {
        int up = I[m.i_body_parent + b];
        if (up == 0 || !w.stiff[b]) continue;
        Arr<F> from = w.K.at(21 * b), to = w.K.at(21 * up);
        for (int k = 0; k < 21; k++) to[k] = w.stiff[up] ? to[k] + from[k] : from[k];
        w.stiff[up] = 1;
    }
    for (int b = 1; b < m.nbody; b++) {
        int first = I[m.i_body_dofadr + b], n = I[m.i_body_dofnum + b];
        for (int d = first; d < first + n; d += 3) {
            int rows = first + n - d;
            if (!w.stiff[b]) copy_rows(w, tree, d, rows < 3 ? rows : 3);
            else if (rows >= 3) stiff_rows<F, 3>(w, tree, d, b);
            else if (rows == 2) stiff_rows<F, 2>(w, tree, d, b);
            else stiff_rows<F, 1>(w, tree, d, b);
        }
    }
}
