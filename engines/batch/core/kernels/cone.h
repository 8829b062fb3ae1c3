// The elliptic friction cone of one contact point.
//
// Coordinates u are the residuals of its rows times friction: the normal's by that of the regularised cone, mu, and
// each tangent's by its own. Every row's D divided by its friction squared is then the same, and the cone is round.
// With N = u0 and T the length of the tangents, there are three zones:
//   top,    N >= mu T:   nothing pushes;
//   bottom, mu N <= -T:  D/2 |u|^2, all rows push;
//   middle:              D/2 (N - mu T)^2 / (1 + mu^2), the distance to the cone.
#pragma once
#include "contact.h"

template <class F> struct Zone {
    typename Lane<F>::Mask middle, bottom;
    F T, inverse;  // length of the tangents, and one by it
    F gap;         // N - mu T
};

template <class F> FN Zone<F> zone(F N, F squares, F mu) {
    Zone<F> z;
    z.T = sqrt_(squares);
    z.gap = N - mu * z.T;
    auto off = le_(F(0.0f), z.gap), all = le_(fma_(mu, N, z.T), F(0.0f));
    z.bottom = and_(not_(off), all);
    z.middle = not_(or_(off, all));
    // Where the tangents vanish there is no middle zone.
    z.inverse = F(1.0f) / max_(z.T, F(1e-30f));
    return z;
}

template <class F, int DIM> FN Zone<F> zone(Arr<F> u, F mu) {
    F squares = F(0.0f);
    for (int k = 1; k < DIM; k++) squares = fma_(u[k], u[k], squares);
    return zone(F(u[0]), squares, mu);
}

template <class F, int DIM> FN void cone_force(F D, F mu, Arr<F> u, F* f) {
    Zone<F> z = zone<F, DIM>(u, mu);
    F zero = F(0.0f), pull = D / fma_(mu, mu, F(1.0f)) * z.gap;
    f[0] = sel_(z.middle, -pull, sel_(z.bottom, -(D * u[0]), zero));
    F slide = sel_(z.middle, pull * mu * z.inverse, sel_(z.bottom, -D, zero));
    for (int k = 1; k < DIM; k++) f[k] = slide * u[k];
}

// Second derivative of the cost: with t the tangents' direction, own[0] of the normal, `cross` t of the normal with
// the tangents, `along` t t' + `round` of the tangents.
template <class F, int DIM> struct ConeWeights {
    F own[1], cross, along, round, t[DIM];
    FN void of(const Work<F>& w, int p, ConeWeights& to) {
        Arr<F> u = w.ja.at(MOST_DIM * p);
        F D = w.D[p], mu = w.mu[MOST_DIM * p], zero = F(0.0f);
        Zone<F> z = zone<F, DIM>(u, mu);
        F part = D / fma_(mu, mu, F(1.0f)), bend = -(z.gap * mu * z.inverse);
        to.own[0] = sel_(z.middle, part, sel_(z.bottom, D, zero));
        to.cross = sel_(z.middle, -(part * mu), zero);
        to.along = sel_(z.middle, part * fma_(mu, mu, -bend), zero);
        to.round = sel_(z.middle, part * bend, sel_(z.bottom, D, zero));
        for (int k = 1; k < DIM; k++) to.t[k] = u[k] * z.inverse;
    }
    // Times a column of the Jacobian.
    MEMBER void times(const F* j, F* g) const {
        F s = F(0.0f);
        for (int k = 1; k < DIM; k++) s = fma_(t[k], j[k], s);
        g[0] = fma_(own[0], j[0], cross * s);
        s = fma_(cross, j[0], along * s);
        for (int k = 1; k < DIM; k++) g[k] = fma_(t[k], s, round * j[k]);
    }
    // As a stiffness in space, rows.
    MEMBER M3<F> spread(const Work<F>& w, int p) const {
        V3<F> n = scale(load3(w.axes, 3 * p), w.mu[MOST_DIM * p]);
        V3<F> q = {F(0.0f), F(0.0f), F(0.0f)}, axis[3];
        for (int k = 1; k < DIM; k++) {
            axis[k] = scale(load3(w.axes, 3 * p + k), w.mu[MOST_DIM * p + k]);
            q = axpy(t[k], axis[k], q);
        }
        V3<F> g = axpy(own[0], n, scale(q, cross)), h = axpy(cross, n, scale(q, along));
        M3<F> W = {axpy(n.x, g, scale(h, q.x)), axpy(n.y, g, scale(h, q.y)), axpy(n.z, g, scale(h, q.z))};
        for (int k = 1; k < DIM; k++) {
            V3<F> stiff = scale(axis[k], round);
            W.r0 = axpy(axis[k].x, stiff, W.r0);
            W.r1 = axpy(axis[k].y, stiff, W.r1);
            W.r2 = axpy(axis[k].z, stiff, W.r2);
        }
        return W;
    }
};

// First and second derivative of the cost, in units of D, at u + alpha v along v.
template <class F> FN void cone_slope(int dim, F alpha, F mu, Arr<F> u, Arr<F> v, F& s1, F& s2) {
    F N = fma_(alpha, v[0], u[0]), squares = F(0.0f), mixed = F(0.0f), rate = F(0.0f);
    for (int k = 1; k < dim; k++) {
        F x = fma_(alpha, v[k], u[k]);
        squares = fma_(x, x, squares);
        mixed = fma_(x, v[k], mixed);
        rate = fma_(v[k], v[k], rate);
    }
    Zone<F> z = zone(N, squares, mu);
    F zero = F(0.0f), part = F(1.0f) / fma_(mu, mu, F(1.0f));
    F longer = mixed * z.inverse, turn = max_(fma_(-longer, longer, rate), zero) * z.inverse;
    F closer = fma_(-mu, longer, F(v[0]));
    s1 = sel_(z.middle, part * z.gap * closer, sel_(z.bottom, fma_(N, v[0], mixed), zero));
    s2 = sel_(z.middle, part * fma_(closer, closer, -(z.gap * mu * turn)), sel_(z.bottom, fma_(v[0], v[0], rate), zero));
}
