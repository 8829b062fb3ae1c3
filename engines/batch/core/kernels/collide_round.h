// Narrow phases that all worlds of a block take together: planes, spheres, capsules, cylinders, ellipsoids.
#pragma once
#include "contact.h"

template <class F> FN V3<F> no_hint() { return {F(0.0f), F(0.0f), F(0.0f)}; }

template <class F> FN void plane_point(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a, typename Lane<F>::Mask mask, V3<F> at, F radius, V3<F> hint) {
    V3<F> n = col(a.r1, 2);
    F dist = dot(at - a.p1, n) - radius;
    mask = and_(mask, le_(dist, a.detect));
    add_point(m, w, t, a.pair, mask, dist, axpy(-(dist * 0.5f) - radius, n, at), n, hint);
}

// A contact in the making.
template <class F> struct Touch {
    F dist;
    V3<F> pos, n;
};

// Two spheres; the normal is x where their centres coincide.
template <class F> FN Touch<F> spheres(V3<F> c1, F r1, V3<F> c2, F r2) {
    F length;
    V3<F> n = unit(c2 - c1, length);
    F dist = length - (r1 + r2);
    return {dist, axpy(r1 + dist * 0.5f, n, c1), n};
}

template <class F> FN void add_touch(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a, typename Lane<F>::Mask mask, const Touch<F>& c) {
    mask = and_(mask, le_(c.dist, a.detect));
    if (any_(mask)) add_point(m, w, t, a.pair, mask, c.dist, c.pos, c.n, no_hint<F>());
}

template <class F, class M> FN Touch<F> choose(M m, const Touch<F>& a, const Touch<F>& b) {
    return {sel_(m, a.dist, b.dist), sel3(m, a.pos, b.pos), sel3(m, a.n, b.n)};
}

template <class F> FN_BIG void plane_sphere(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    plane_point(m, w, t, a, a.near, a.p2, F(a.size2[0]), no_hint<F>());
}

template <class F> FN_BIG void plane_capsule(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    V3<F> axis = col(a.r2, 2);
    F half = F(a.size2[1]);
    plane_point(m, w, t, a, a.near, axpy(half, axis, a.p2), F(a.size2[0]), axis);
    plane_point(m, w, t, a, a.near, axpy(-half, axis, a.p2), F(a.size2[0]), axis);
}

template <class F> FN_BIG void plane_ellipsoid(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    V3<F> down = mul_t(a.r2, -col(a.r1, 2));
    V3<F> size = const3<F>(a.size2);
    V3<F> u = unit(V3<F>{down.x * size.x, down.y * size.y, down.z * size.z});
    V3<F> deepest = a.p2 + mul(a.r2, V3<F>{u.x * size.x, u.y * size.y, u.z * size.z});
    plane_point(m, w, t, a, a.near, deepest, F(0.0f), no_hint<F>());
}

// The lowest point of the near rim, its opposite on the far one, and two more of a triangle on the near rim.
template <class F> FN_BIG void plane_cylinder(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    V3<F> n = col(a.r1, 2), axis = col(a.r2, 2);
    F radius = F(a.size2[0]), half = F(a.size2[1]);
    F along = dot(n, axis);
    F flip = sel_(lt_(F(0.0f), along), F(-1.0f), F(1.0f));
    axis = scale(axis, flip);
    along = along * flip;
    V3<F> down = scale(axis, along) - n;
    F length2 = dot(down, down);
    auto flat = lt_(length2, F(1e-12f));
    F s = radius / sqrt_(sel_(flat, F(1.0f), length2));
    down = sel3(flat, scale(col(a.r2, 0), radius), scale(down, s));
    F rise = dot(down, n), centre = dot(a.p2 - a.p1, n);
    V3<F> end = scale(axis, half);
    along = along * half;
    F d1 = centre + along + rise, d2 = centre - along + rise, d3 = centre + along - rise * 0.5f;
    auto first = and_(a.near, le_(d1, a.detect));
    if (!any_(first)) return;
    V3<F> side = scale(unit(cross(down, end)), radius * 0.86602540378443865f);
    add_point(m, w, t, a.pair, first, d1, axpy(d1 * -0.5f, n, a.p2 + down + end), n, no_hint<F>());
    add_point(m, w, t, a.pair, and_(first, le_(d2, a.detect)), d2, axpy(d2 * -0.5f, n, a.p2 + down - end), n, no_hint<F>());
    auto third = and_(first, le_(d3, a.detect));
    V3<F> base = axpy(d3 * -0.5f, n, axpy(F(-0.5f), down, a.p2 + end));
    add_point(m, w, t, a.pair, third, d3, base + side, n, no_hint<F>());
    add_point(m, w, t, a.pair, third, d3, base - side, n, no_hint<F>());
}

// Corners below the centre and within reach, the first four counted x fastest. Worlds fill the same slots with
// different corners.
template <class F> FN_BIG void plane_box(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    V3<F> n = col(a.r1, 2);
    F centre = dot(a.p2 - a.p1, n), found = F(0.0f);
    F dist[4];
    V3<F> at[4];
    for (int k = 0; k < 4; k++) {
        dist[k] = F(1e10f);
        at[k] = no_hint<F>();
    }
    for (int i = 0; i < 8; i++) {
        V3<F> corner = {F(i & 1 ? a.size2[0] : -a.size2[0]), F(i & 2 ? a.size2[1] : -a.size2[1]), F(i & 4 ? a.size2[2] : -a.size2[2])};
        corner = mul(a.r2, corner);
        F drop = dot(n, corner);
        auto here = and_(and_(a.near, le_(drop, F(0.0f))), and_(le_(centre + drop, a.detect), lt_(found, F(3.5f))));
        if (!any_(here)) continue;
        for (int k = 0; k < 4; k++) {
            auto slot = and_(here, and_(lt_(F(k - 0.5f), found), lt_(found, F(k + 0.5f))));
            dist[k] = sel_(slot, centre + drop, dist[k]);
            at[k] = sel3(slot, corner, at[k]);
        }
        found = found + sel_(here, F(1.0f), F(0.0f));
    }
    for (int k = 0; k < 4; k++) {
        auto here = lt_(F(k + 0.5f), found);
        if (any_(here)) add_point(m, w, t, a.pair, here, dist[k], axpy(dist[k] * -0.5f, n, a.p2 + at[k]), n, no_hint<F>());
    }
}

template <class F> FN_BIG void sphere_sphere(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    add_touch(m, w, t, a, a.near, spheres(a.p1, F(a.size1[0]), a.p2, F(a.size2[0])));
}

template <class F> FN_BIG void sphere_capsule(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    V3<F> axis = col(a.r2, 2);
    F half = F(a.size2[1]);
    F x = min_(max_(dot(axis, a.p1 - a.p2), -half), half);
    add_touch(m, w, t, a, a.near, spheres(a.p1, F(a.size1[0]), axpy(x, axis, a.p2), F(a.size2[0])));
}

// The nearest points of two segments; where they are parallel, up to two pairs from their ends. What float32 cannot
// tell from parallel is taken as such.
template <class F> FN_BIG void capsule_capsule(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    typedef typename Lane<F>::Mask Mask;
    F one = F(1.0f);
    V3<F> e1 = scale(col(a.r1, 2), F(a.size1[1])), e2 = scale(col(a.r2, 2), F(a.size2[1]));
    V3<F> d = a.p1 - a.p2;
    F aa = dot(e1, e1), ab = -dot(e1, e2), bb = dot(e2, e2), u = -dot(e1, d), v = dot(e2, d);
    F det = fma_(aa, bb, -(ab * ab));
    Mask parallel = lt_(abs_(det), aa * bb * 4e-7f);
    F r1 = F(a.size1[0]), r2 = F(a.size2[0]);
    F inv = one / sel_(parallel, one, det);
    F x1 = fma_(bb, u, -(ab * v)) * inv, x2 = fma_(aa, v, -(ab * u)) * inv;
    F sign = sel_(lt_(x1, F(0.0f)), -one, one);
    Mask out = lt_(one, abs_(x1));
    x2 = sel_(out, (v - ab * sign) / bb, x2);
    x1 = sel_(out, sign, x1);
    sign = sel_(lt_(x2, F(0.0f)), -one, one);
    out = lt_(one, abs_(x2));
    x1 = sel_(out, min_(max_((u - ab * sign) / aa, -one), one), x1);
    x2 = sel_(out, sign, x2);
    Touch<F> first = spheres(axpy(x1, e1, a.p1), r1, axpy(x2, e2, a.p2), r2), second = first;
    Mask open = and_(a.near, parallel);
    F found = sel_(open, F(0.0f), one);
    if (any_(open)) {
        first.dist = sel_(open, F(1e10f), first.dist);
        for (int k = 0; k < 4; k++) {
            F end = F(k & 1 ? -1.0f : 1.0f);
            x1 = x2 = end;
            if (k < 2) x2 = min_(max_((v - ab * end) / bb, -one), one);
            else x1 = min_(max_((u - ab * end) / aa, -one), one);
            Touch<F> c = spheres(axpy(x1, e1, a.p1), r1, axpy(x2, e2, a.p2), r2);
            Mask hit = and_(and_(open, lt_(found, F(1.5f))), le_(c.dist, a.detect));
            Mask fresh = and_(hit, lt_(found, F(0.5f)));
            first = choose(fresh, c, first);
            second = choose(and_(hit, not_(fresh)), c, second);
            found = found + sel_(hit, one, F(0.0f));
        }
    }
    add_touch(m, w, t, a, a.near, first);
    Mask twice = and_(open, lt_(F(1.5f), found));
    if (any_(twice)) add_touch(m, w, t, a, twice, second);
}

// Against the side, a cap or a rim, whichever the sphere's centre faces.
template <class F> FN_BIG void sphere_cylinder(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    typedef typename Lane<F>::Mask Mask;
    F r1 = F(a.size1[0]), radius = F(a.size2[0]), half = F(a.size2[1]);
    V3<F> axis = col(a.r2, 2), d = a.p1 - a.p2;
    F x = dot(axis, d);
    V3<F> out = axpy(-x, axis, d);
    F off2 = dot(out, out), off = sqrt_(off2);
    Mask side = lt_(abs_(x), half), cap = lt_(off2, radius * radius);
    Mask both = and_(side, cap), capwards = lt_(half - abs_(x), radius - off);
    side = and_(side, not_(and_(both, capwards)));
    cap = and_(cap, not_(side));
    F up = sel_(lt_(F(0.0f), x), F(1.0f), F(-1.0f));
    F s = radius / sel_(or_(side, cap), F(1.0f), off);
    V3<F> rim = axpy(s, out, axpy(half * up, axis, a.p2));
    Touch<F> round = spheres(a.p1, r1, sel3(side, axpy(x, axis, a.p2), rim), sel_(side, radius, F(0.0f)));
    V3<F> n = scale(axis, up);
    F dist = dot(a.p1 - axpy(half, n, a.p2), n) - r1;
    Touch<F> flat = {dist, axpy(-(dist * 0.5f) - r1, n, a.p1), -n};
    add_touch(m, w, t, a, a.near, choose(cap, flat, round));
}

// The box's nearest point, or the nearest face where the centre is inside.
template <class F> FN_BIG void sphere_box(const Model& m, Work<F>& w, Tally<F>& t, const Ask<F>& a) {
    F r = F(a.size1[0]), zero = F(0.0f);
    V3<F> h = const3<F>(a.size2), c = mul_t(a.r2, a.p1 - a.p2);
    V3<F> near = {min_(max_(c.x, -h.x), h.x), min_(max_(c.y, -h.y), h.y), min_(max_(c.z, -h.z), h.z)};
    V3<F> d = near - c;
    F length = sqrt_(dot(d, d));
    auto inside = le_(length, F(1e-15f));
    F s = F(1.0f) / sel_(inside, F(1.0f), length);
    V3<F> n = scale(d, s);
    F dist = length - r;
    V3<F> pos = axpy(r * 0.5f, n, scale(near + c, F(0.5f)));
    // Inside: the normal points to the box's centre side of the nearest face, so that it pushes the sphere out.
    F best = (h.x + h.y + h.z) * 2.0f;
    V3<F> face = {zero, zero, zero};
    for (int k = 0; k < 6; k++) {
        int axis = k / 2;
        f32 sign = k % 2 ? 1.0f : -1.0f;
        F cc = axis == 0 ? c.x : axis == 1 ? c.y : c.z, hh = axis == 0 ? h.x : axis == 1 ? h.y : h.z;
        F gap = abs_(hh * sign - cc);
        auto nearer = lt_(gap, best);
        best = sel_(nearer, gap, best);
        V3<F> f = {F(axis == 0 ? -sign : 0.0f), F(axis == 1 ? -sign : 0.0f), F(axis == 2 ? -sign : 0.0f)};
        face = sel3(nearer, f, face);
    }
    n = sel3(inside, face, n);
    pos = sel3(inside, axpy((r - best) * 0.5f, face, c), pos);
    dist = sel_(inside, -best - r, dist);
    auto mask = and_(a.near, le_(dist, a.detect));
    add_point(m, w, t, a.pair, mask, dist, a.p2 + mul(a.r2, pos), mul(a.r2, n), no_hint<F>());
}
