// Lane types: F is float (one world: a CUDA thread, or the scalar CPU build) or a vector of 8 or 16 worlds (CPU).
//
// Every operation below is one IEEE operation, or a fixed sequence of them, the same for every lane type, so that
// a world's numbers do not depend on the width. The CPU objects are compiled with -ffp-contract=off and the CUDA
// one with --fmad=false: a fused multiply-add happens where fma_() is written and nowhere else.
#pragma once

typedef float f32;
typedef int i32;

#if defined(__CUDACC__)
#define FN static __device__ __forceinline__
#define FN_BIG static __device__ __noinline__
#define MEMBER __device__ __forceinline__
#else
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#define FN static inline __attribute__((always_inline))
#define FN_BIG static __attribute__((noinline))
#define MEMBER inline __attribute__((always_inline))
#endif

// ---- one world -------------------------------------------------------------------------------------------------

FN f32 fma_(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
FN f32 sqrt_(f32 a) { return sqrtf(a); }
FN f32 abs_(f32 a) { return fabsf(a); }
FN f32 sel_(bool m, f32 a, f32 b) { return m ? a : b; }
FN f32 min_(f32 a, f32 b) { return a < b ? a : b; }
FN f32 max_(f32 a, f32 b) { return a > b ? a : b; }
FN bool lt_(f32 a, f32 b) { return a < b; }
FN bool le_(f32 a, f32 b) { return a <= b; }
FN bool and_(bool a, bool b) { return a && b; }
FN bool or_(bool a, bool b) { return a || b; }
FN bool not_(bool a) { return !a; }
FN bool any_(bool a) { return a; }
FN bool bit_(bool a, int) { return a; }
FN f32 get_(const f32& a, int) { return a; }
FN void set_(f32& a, int, f32 v) { a = v; }

// What goes with a lane type: its mask, how many worlds it holds.
template <class F> struct Lane;
template <> struct Lane<f32> {
    typedef bool Mask;
    static constexpr int W = 1;
    FN bool none() { return false; }
    FN bool all() { return true; }
    FN bool first(int n) { return n > 0; }
};

#if !defined(__CUDACC__)

// ---- vectors of worlds -------------------------------------------------------------------------------------------

// A vector whose size depends on a template parameter is dropped by gcc, hence the two explicit forms.
template <int W> struct Raw;
template <> struct Raw<8> { typedef f32 T __attribute__((vector_size(32))); };
template <> struct Raw<16> { typedef f32 T __attribute__((vector_size(64))); };

template <int W> struct Vec {
    typedef typename Raw<W>::T T;
    T v;
    Vec() = default;
    MEMBER Vec(T x) : v(x) {}
    MEMBER Vec(f32 s) : v(s - T{}) {}
};

#define LANE_OP(o)                                                                                      \
    template <int W> FN Vec<W> operator o(Vec<W> a, Vec<W> b) { return Vec<W>(a.v o b.v); }             \
    template <int W> FN Vec<W> operator o(f32 a, Vec<W> b) { return Vec<W>(a) o b; }                    \
    template <int W> FN Vec<W> operator o(Vec<W> a, f32 b) { return a o Vec<W>(b); }
LANE_OP(+)
LANE_OP(-)
LANE_OP(*)
LANE_OP(/)
#undef LANE_OP
template <int W> FN Vec<W> operator-(Vec<W> a) { return Vec<W>(-a.v); }
template <int W> FN f32 get_(const Vec<W>& a, int l) { return ((const f32*)&a)[l]; }
template <int W> FN void set_(Vec<W>& a, int l, f32 v) { ((f32*)&a)[l] = v; }

#if defined(__AVX2__) && defined(__FMA__)
struct Mask8 {
    __m256 m;
};
FN __m256 r8(Vec<8> a) { return (__m256)a.v; }
FN Vec<8> v8(__m256 a) { return Vec<8>((Vec<8>::T)a); }
FN Vec<8> fma_(Vec<8> a, Vec<8> b, Vec<8> c) { return v8(_mm256_fmadd_ps(r8(a), r8(b), r8(c))); }
FN Vec<8> sqrt_(Vec<8> a) { return v8(_mm256_sqrt_ps(r8(a))); }
FN Vec<8> abs_(Vec<8> a) { return v8(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), r8(a))); }
FN Vec<8> min_(Vec<8> a, Vec<8> b) { return v8(_mm256_min_ps(r8(a), r8(b))); }
FN Vec<8> max_(Vec<8> a, Vec<8> b) { return v8(_mm256_max_ps(r8(a), r8(b))); }
FN Mask8 lt_(Vec<8> a, Vec<8> b) { return {_mm256_cmp_ps(r8(a), r8(b), _CMP_LT_OQ)}; }
FN Mask8 le_(Vec<8> a, Vec<8> b) { return {_mm256_cmp_ps(r8(a), r8(b), _CMP_LE_OQ)}; }
FN Vec<8> sel_(Mask8 m, Vec<8> a, Vec<8> b) { return v8(_mm256_blendv_ps(r8(b), r8(a), m.m)); }
FN Mask8 and_(Mask8 a, Mask8 b) { return {_mm256_and_ps(a.m, b.m)}; }
FN Mask8 or_(Mask8 a, Mask8 b) { return {_mm256_or_ps(a.m, b.m)}; }
FN Mask8 not_(Mask8 a) { return {_mm256_xor_ps(a.m, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))}; }
FN bool any_(Mask8 a) { return _mm256_movemask_ps(a.m) != 0; }
FN bool bit_(Mask8 a, int l) { return (_mm256_movemask_ps(a.m) >> l) & 1; }
template <> struct Lane<Vec<8>> {
    typedef Mask8 Mask;
    static constexpr int W = 8;
    FN Mask8 none() { return {_mm256_setzero_ps()}; }
    FN Mask8 all() { return {_mm256_castsi256_ps(_mm256_set1_epi32(-1))}; }
    FN Mask8 first(int n) {
        __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane))};
    }
};
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
struct Mask16 {
    __mmask16 m;
};
FN __m512 r16(Vec<16> a) { return (__m512)a.v; }
FN Vec<16> v16(__m512 a) { return Vec<16>((Vec<16>::T)a); }
FN Vec<16> fma_(Vec<16> a, Vec<16> b, Vec<16> c) { return v16(_mm512_fmadd_ps(r16(a), r16(b), r16(c))); }
FN Vec<16> sqrt_(Vec<16> a) { return v16(_mm512_sqrt_ps(r16(a))); }
FN Vec<16> abs_(Vec<16> a) { return v16(_mm512_andnot_ps(_mm512_set1_ps(-0.0f), r16(a))); }
FN Vec<16> min_(Vec<16> a, Vec<16> b) { return v16(_mm512_min_ps(r16(a), r16(b))); }
FN Vec<16> max_(Vec<16> a, Vec<16> b) { return v16(_mm512_max_ps(r16(a), r16(b))); }
FN Mask16 lt_(Vec<16> a, Vec<16> b) { return {_mm512_cmp_ps_mask(r16(a), r16(b), _CMP_LT_OQ)}; }
FN Mask16 le_(Vec<16> a, Vec<16> b) { return {_mm512_cmp_ps_mask(r16(a), r16(b), _CMP_LE_OQ)}; }
FN Vec<16> sel_(Mask16 m, Vec<16> a, Vec<16> b) { return v16(_mm512_mask_blend_ps(m.m, r16(b), r16(a))); }
FN Mask16 and_(Mask16 a, Mask16 b) { return {(__mmask16)(a.m & b.m)}; }
FN Mask16 or_(Mask16 a, Mask16 b) { return {(__mmask16)(a.m | b.m)}; }
FN Mask16 not_(Mask16 a) { return {(__mmask16)~a.m}; }
FN bool any_(Mask16 a) { return a.m != 0; }
FN bool bit_(Mask16 a, int l) { return (a.m >> l) & 1; }
template <> struct Lane<Vec<16>> {
    typedef Mask16 Mask;
    static constexpr int W = 16;
    FN Mask16 none() { return {0}; }
    FN Mask16 all() { return {0xffff}; }
    FN Mask16 first(int n) { return {(__mmask16)(n >= 16 ? 0xffff : (1 << n) - 1)}; }
};
#endif

template <int W> FN Vec<W> fma_(f32 a, Vec<W> b, Vec<W> c) { return fma_(Vec<W>(a), b, c); }
template <int W> FN Vec<W> fma_(Vec<W> a, f32 b, Vec<W> c) { return fma_(a, Vec<W>(b), c); }
template <int W> FN Vec<W> fma_(Vec<W> a, Vec<W> b, f32 c) { return fma_(a, b, Vec<W>(c)); }
template <int W> FN Vec<W> fma_(f32 a, Vec<W> b, f32 c) { return fma_(Vec<W>(a), b, Vec<W>(c)); }
template <int W> FN Vec<W> fma_(Vec<W> a, f32 b, f32 c) { return fma_(a, Vec<W>(b), Vec<W>(c)); }
template <int W> FN Vec<W> min_(Vec<W> a, f32 b) { return min_(a, Vec<W>(b)); }
template <int W> FN Vec<W> max_(Vec<W> a, f32 b) { return max_(a, Vec<W>(b)); }
template <int W> FN auto lt_(Vec<W> a, f32 b) { return lt_(a, Vec<W>(b)); }
template <int W> FN auto lt_(f32 a, Vec<W> b) { return lt_(Vec<W>(a), b); }
template <int W> FN auto le_(Vec<W> a, f32 b) { return le_(a, Vec<W>(b)); }
template <int W> FN auto le_(f32 a, Vec<W> b) { return le_(Vec<W>(a), b); }

#endif  // !__CUDACC__

// What a phase costs is asked by one program only, see roofline.h.
#if !defined(ROOFLINE)
#define PHASE(p)
#endif

// Values of a quantity, one F each. On the CPU the lanes of a value lie side by side; on CUDA neighbouring threads
// hold neighbouring worlds.
#if defined(__CUDACC__)
template <class F> struct Arr {
    F* p;
    int stride;
    MEMBER F& operator[](int i) const { return p[(size_t)i * stride]; }
    MEMBER Arr at(int i) const { return {p + (size_t)i * stride, stride}; }
};
#else
template <class F> struct Arr {
    F* p;
    MEMBER F& operator[](int i) const { return p[i]; }
    MEMBER Arr at(int i) const { return {p + i}; }
};
#endif

// Sine and cosine, by reduction to a quarter turn in two parts and polynomials; good to 1e-7 for |x| below 1e4.
template <class F> FN void sincos_(F x, F& s, F& c) {
    F k = (x * 0.63661977236758134f + 12582912.0f) - 12582912.0f;
    F r = fma_(k, -1.5707962512969971f, x);
    r = fma_(k, -7.5497894158615964e-8f, r);
    F r2 = r * r;
    F ps = fma_(fma_(fma_(r2, -1.9515295891e-4f, 8.3321608736e-3f), r2, F(-1.6666654611e-1f)), r2 * r, r);
    F pc = fma_(fma_(fma_(r2, 2.443315711809948e-5f, -1.388731625493765e-3f), r2, F(4.166664568298827e-2f)), r2 * r2,
                fma_(r2, -0.5f, 1.0f));
    // The quarter turn, -2 to 2.
    F q = k - 4.0f * ((k * 0.25f + 12582912.0f) - 12582912.0f);
    F a = abs_(q);
    auto odd = and_(lt_(F(0.5f), a), lt_(a, F(1.5f)));
    F half = sel_(lt_(F(1.5f), a), F(-1.0f), F(1.0f));
    F one = sel_(lt_(q, F(0.0f)), F(-1.0f), F(1.0f));
    s = sel_(odd, pc * one, ps * half);
    c = sel_(odd, -(ps * one), pc * half);
}
