// Vectors, rotations and spatial quantities over a lane type.
//
// Motions are (angular, linear) and forces (torque, force), both about the centre of mass of the body's tree.
// A spatial inertia is xx yy zz xy xz yz, mass times offset, mass.
#pragma once
#include "lane.h"

#define TINY 1e-15f

template <class F> struct V3 {
    F x, y, z;
};
template <class F> struct M3 {  // rows
    V3<F> r0, r1, r2;
};
template <class F> struct Quat {
    F w, x, y, z;
};
template <class F> struct Motion {
    V3<F> w, v;
};

template <class F> FN V3<F> operator+(V3<F> a, V3<F> b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
template <class F> FN V3<F> operator-(V3<F> a, V3<F> b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
template <class F> FN V3<F> operator-(V3<F> a) { return {-a.x, -a.y, -a.z}; }
template <class F> FN V3<F> scale(V3<F> a, F s) { return {a.x * s, a.y * s, a.z * s}; }
template <class F> FN V3<F> axpy(F s, V3<F> a, V3<F> b) { return {fma_(s, a.x, b.x), fma_(s, a.y, b.y), fma_(s, a.z, b.z)}; }
template <class F> FN F dot(V3<F> a, V3<F> b) { return fma_(a.x, b.x, fma_(a.y, b.y, a.z * b.z)); }
template <class F> FN V3<F> cross(V3<F> a, V3<F> b) {
    return {fma_(a.y, b.z, -(a.z * b.y)), fma_(a.z, b.x, -(a.x * b.z)), fma_(a.x, b.y, -(a.y * b.x))};
}
template <class F> FN V3<F> mul(const M3<F>& m, V3<F> v) { return {dot(m.r0, v), dot(m.r1, v), dot(m.r2, v)}; }
template <class F> FN V3<F> mul_t(const M3<F>& m, V3<F> v) {
    return axpy(v.x, m.r0, axpy(v.y, m.r1, scale(m.r2, v.z)));
}
template <class F> FN V3<F> col(const M3<F>& m, int k) {
    return k == 0 ? V3<F>{m.r0.x, m.r1.x, m.r2.x} : k == 1 ? V3<F>{m.r0.y, m.r1.y, m.r2.y} : V3<F>{m.r0.z, m.r1.z, m.r2.z};
}
template <class F> FN M3<F> mul(const M3<F>& a, const M3<F>& b) { return {mul_t(b, a.r0), mul_t(b, a.r1), mul_t(b, a.r2)}; }
template <class F, class M> FN V3<F> sel3(M m, V3<F> a, V3<F> b) {
    return {sel_(m, a.x, b.x), sel_(m, a.y, b.y), sel_(m, a.z, b.z)};
}

// A vector of length one, and the length it had; (1, 0, 0) where that is nothing.
template <class F> FN V3<F> unit(V3<F> a, F& length) {
    length = sqrt_(dot(a, a));
    auto none = lt_(length, F(TINY));
    F s = F(1.0f) / sel_(none, F(1.0f), length);
    return sel3(none, V3<F>{F(1.0f), F(0.0f), F(0.0f)}, scale(a, s));
}
template <class F> FN V3<F> unit(V3<F> a) {
    F length;
    return unit(a, length);
}

template <class F> FN Quat<F> mul(Quat<F> a, Quat<F> b) {
    return {fma_(a.w, b.w, -fma_(a.x, b.x, fma_(a.y, b.y, a.z * b.z))),
            fma_(a.w, b.x, fma_(a.x, b.w, fma_(a.y, b.z, -(a.z * b.y)))),
            fma_(a.w, b.y, fma_(a.y, b.w, fma_(a.z, b.x, -(a.x * b.z)))),
            fma_(a.w, b.z, fma_(a.z, b.w, fma_(a.x, b.y, -(a.y * b.x))))};
}
template <class F> FN Quat<F> unit(Quat<F> q) {
    F n = sqrt_(fma_(q.w, q.w, fma_(q.x, q.x, fma_(q.y, q.y, q.z * q.z))));
    auto none = lt_(n, F(TINY));
    F s = F(1.0f) / sel_(none, F(1.0f), n);
    return {sel_(none, F(1.0f), q.w * s), sel_(none, F(0.0f), q.x * s), sel_(none, F(0.0f), q.y * s),
            sel_(none, F(0.0f), q.z * s)};
}
template <class F> FN M3<F> matrix(Quat<F> q) {
    F ww = q.w * q.w, xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    F wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z, xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    return {{ww + xx - yy - zz, 2.0f * (xy - wz), 2.0f * (xz + wy)},
            {2.0f * (xy + wz), ww - xx + yy - zz, 2.0f * (yz - wx)},
            {2.0f * (xz - wy), 2.0f * (yz + wx), ww - xx - yy + zz}};
}

template <class F> FN V3<F> load3(Arr<F> a, int i) { return {a[3 * i], a[3 * i + 1], a[3 * i + 2]}; }
template <class F> FN void store3(Arr<F> a, int i, V3<F> v) {
    a[3 * i] = v.x;
    a[3 * i + 1] = v.y;
    a[3 * i + 2] = v.z;
}
template <class F> FN M3<F> load9(Arr<F> a, int i) {
    Arr<F> b = a.at(9 * i);
    return {{b[0], b[1], b[2]}, {b[3], b[4], b[5]}, {b[6], b[7], b[8]}};
}
template <class F> FN void store9(Arr<F> a, int i, const M3<F>& m) {
    Arr<F> b = a.at(9 * i);
    store3(b, 0, m.r0);
    store3(b, 1, m.r1);
    store3(b, 2, m.r2);
}
template <class F> FN Motion<F> load6(Arr<F> a, int i) {
    Arr<F> b = a.at(6 * i);
    return {{b[0], b[1], b[2]}, {b[3], b[4], b[5]}};
}
template <class F> FN void store6(Arr<F> a, int i, Motion<F> m) {
    Arr<F> b = a.at(6 * i);
    store3(b, 0, m.w);
    store3(b, 1, m.v);
}
// A constant vector of the model.
template <class F> FN V3<F> const3(const f32* p) { return {F(p[0]), F(p[1]), F(p[2])}; }

template <class F> FN Motion<F> operator+(Motion<F> a, Motion<F> b) { return {a.w + b.w, a.v + b.v}; }
template <class F> FN Motion<F> axpy(F s, Motion<F> a, Motion<F> b) { return {axpy(s, a.w, b.w), axpy(s, a.v, b.v)}; }
template <class F> FN F dot(Motion<F> a, Motion<F> b) {
    return fma_(a.w.x, b.w.x, fma_(a.w.y, b.w.y, fma_(a.w.z, b.w.z, fma_(a.v.x, b.v.x, fma_(a.v.y, b.v.y, a.v.z * b.v.z)))));
}
// Rate of change of motion s carried along with motion m.
template <class F> FN Motion<F> cross_motion(Motion<F> m, Motion<F> s) {
    return {cross(m.w, s.w), cross(m.w, s.v) + cross(m.v, s.w)};
}
// Rate of change of force f carried along with motion m.
template <class F> FN Motion<F> cross_force(Motion<F> m, Motion<F> f) {
    return {cross(m.w, f.w) + cross(m.v, f.v), cross(m.w, f.v)};
}
// A spatial inertia times a motion: a force.
template <class F> FN Motion<F> inertia_mul(Arr<F> I, Motion<F> m) {
    V3<F> h = {I[6], I[7], I[8]};
    V3<F> hv = cross(h, m.v), hw = cross(h, m.w);
    return {{fma_(I[0], m.w.x, fma_(I[3], m.w.y, fma_(I[4], m.w.z, hv.x))),
             fma_(I[3], m.w.x, fma_(I[1], m.w.y, fma_(I[5], m.w.z, hv.y))),
             fma_(I[4], m.w.x, fma_(I[5], m.w.y, fma_(I[2], m.w.z, hv.z)))},
            {fma_(I[9], m.v.x, -hw.x), fma_(I[9], m.v.y, -hw.y), fma_(I[9], m.v.z, -hw.z)}};
}

// A contact frame: the normal, and two tangents the first of which is as near to `hint` as it can be; where the hint
// is shorter than a half, to y or, for normals along y, to z.
template <class F> FN void frame(V3<F> n, V3<F> hint, V3<F>& t1, V3<F>& t2) {
    auto along = not_(lt_(abs_(n.y), F(0.5f)));
    V3<F> other = {F(0.0f), sel_(along, F(0.0f), F(1.0f)), sel_(along, F(1.0f), F(0.0f))};
    V3<F> y = sel3(lt_(dot(hint, hint), F(0.25f)), other, hint);
    t1 = unit(axpy(-dot(n, y), n, y));
    t2 = cross(n, t1);
}
