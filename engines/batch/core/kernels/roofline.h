// What a step costs, phase by phase: a lane type that counts its operations, and a clock that is read at phases.
// Included where ROOFLINE is 1 (count) or 2 (clock); one thread at a time.
#pragma once

enum {
    PHASE_KINEMATICS,
    PHASE_DYNAMICS,
    PHASE_SMOOTH,  // factor of the mass matrix, smooth accelerations
    PHASE_COLLIDE,
    PHASE_ROWS,
    PHASE_PRODUCTS,  // of matrices and Jacobians with a vector
    PHASE_GRADIENT,
    PHASE_HESSIAN,
    PHASE_FACTOR,
    PHASE_SOLVE,
    PHASE_LINE,
    PHASE_NEWTON,  // the rest of the solver's loop
    PHASE_INTEGRATE,
    PHASE_REST,
    PHASE_COUNT
};
enum { OP_ADD, OP_MUL, OP_FMA, OP_DIV, OP_SQRT, OP_OTHER, OP_COUNT };

static int roofline_phase = PHASE_REST;

#if ROOFLINE == 2

static unsigned long long roofline_ticks[PHASE_COUNT], roofline_last;
#define PHASE(p)                                              \
    do {                                                      \
        unsigned long long now = __rdtsc();                   \
        roofline_ticks[roofline_phase] += now - roofline_last; \
        roofline_last = now;                                  \
        roofline_phase = p;                                   \
    } while (0)

#else

static unsigned long long roofline_ops[PHASE_COUNT][OP_COUNT];
#define PHASE(p) roofline_phase = p

// As B, and counts an operation for each of its lanes.
template <class B> struct Counted {
    B v;
    Counted() = default;
    template <class T> MEMBER Counted(T x) : v(x) {}
};
template <class B> FN void count(int op) { roofline_ops[roofline_phase][op] += (unsigned long long)Lane<B>::W; }

template <class B> struct Lane<Counted<B>> {
    typedef typename Lane<B>::Mask Mask;
    static constexpr int W = Lane<B>::W;
    FN Mask none() { return Lane<B>::none(); }
    FN Mask all() { return Lane<B>::all(); }
    FN Mask first(int n) { return Lane<B>::first(n); }
};

#define COUNTED_OP(o, kind)                                                                              \
    template <class B> FN Counted<B> operator o(Counted<B> a, Counted<B> b) {                            \
        count<B>(kind);                                                                                  \
        return Counted<B>(B(a.v o b.v));                                                                 \
    }                                                                                                    \
    template <class B> FN Counted<B> operator o(f32 a, Counted<B> b) { return Counted<B>(B(a)) o b; }    \
    template <class B> FN Counted<B> operator o(Counted<B> a, f32 b) { return a o Counted<B>(B(b)); }
COUNTED_OP(+, OP_ADD)
COUNTED_OP(-, OP_ADD)
COUNTED_OP(*, OP_MUL)
COUNTED_OP(/, OP_DIV)
#undef COUNTED_OP

template <class B> FN Counted<B> min_(Counted<B> a, Counted<B> b) {
    count<B>(OP_OTHER);
    return Counted<B>(min_(a.v, b.v));
}
template <class B> FN Counted<B> max_(Counted<B> a, Counted<B> b) {
    count<B>(OP_OTHER);
    return Counted<B>(max_(a.v, b.v));
}
template <class B> FN Counted<B> min_(Counted<B> a, f32 b) { return min_(a, Counted<B>(B(b))); }
template <class B> FN Counted<B> max_(Counted<B> a, f32 b) { return max_(a, Counted<B>(B(b))); }
#define COUNTED_TEST(f)                                                                                  \
    template <class B> FN typename Lane<B>::Mask f(Counted<B> a, Counted<B> b) {                         \
        count<B>(OP_OTHER);                                                                              \
        return f(a.v, b.v);                                                                              \
    }                                                                                                    \
    template <class B> FN typename Lane<B>::Mask f(f32 a, Counted<B> b) { return f(Counted<B>(B(a)), b); } \
    template <class B> FN typename Lane<B>::Mask f(Counted<B> a, f32 b) { return f(a, Counted<B>(B(b))); }
COUNTED_TEST(lt_)
COUNTED_TEST(le_)
#undef COUNTED_TEST

template <class B> FN Counted<B> operator-(Counted<B> a) {
    count<B>(OP_OTHER);
    return Counted<B>(B(-a.v));
}
template <class B> FN Counted<B> abs_(Counted<B> a) {
    count<B>(OP_OTHER);
    return Counted<B>(abs_(a.v));
}
template <class B> FN Counted<B> sqrt_(Counted<B> a) {
    count<B>(OP_SQRT);
    return Counted<B>(sqrt_(a.v));
}
template <class B> FN Counted<B> sel_(typename Lane<B>::Mask m, Counted<B> a, Counted<B> b) {
    count<B>(OP_OTHER);
    return Counted<B>(sel_(m, a.v, b.v));
}
template <class B> FN Counted<B> fma_(Counted<B> a, Counted<B> b, Counted<B> c) {
    count<B>(OP_FMA);
    return Counted<B>(fma_(a.v, b.v, c.v));
}
template <class B> FN Counted<B> fma_(f32 a, Counted<B> b, Counted<B> c) { return fma_(Counted<B>(a), b, c); }
template <class B> FN Counted<B> fma_(Counted<B> a, f32 b, Counted<B> c) { return fma_(a, Counted<B>(b), c); }
template <class B> FN Counted<B> fma_(Counted<B> a, Counted<B> b, f32 c) { return fma_(a, b, Counted<B>(c)); }
template <class B> FN Counted<B> fma_(f32 a, Counted<B> b, f32 c) { return fma_(Counted<B>(a), b, Counted<B>(c)); }
template <class B> FN Counted<B> fma_(Counted<B> a, f32 b, f32 c) { return fma_(a, Counted<B>(b), Counted<B>(c)); }
template <class B> FN f32 get_(const Counted<B>& a, int l) { return get_(a.v, l); }
template <class B> FN void set_(Counted<B>& a, int l, f32 v) { set_(a.v, l, v); }

#endif
