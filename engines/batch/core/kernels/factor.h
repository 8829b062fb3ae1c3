// Cholesky factors of sparse symmetric matrices A = L'L, from the last row to the first: a dof's ancestors come
// before it, so eliminating from the leaves fills nothing in a tree's matrix.
//
// A row's pattern is the ascending list of its columns left of the diagonal; entries lie in a packed lower triangle.
#pragma once
#include "dynamics.h"

struct Pattern {
    const i32* adr;
    const i32* cols;
};

FN Pattern tree_pattern(const Model& m) { return {m.I + m.i_row_adr, m.I + m.i_row_cols}; }

// Row k by its reciprocal root.
template <class F> FN void scale_row(Pattern p, Arr<F> A, int k) {
    Arr<F> row = A.at(tri(k));
    F inv = F(1.0f) / sqrt_(max_(row[k], F(1e-15f)));
    row[k] = inv;
    for (int a = p.adr[k]; a < p.adr[k + 1]; a++) row[p.cols[a]] = row[p.cols[a]] * inv;
}

// The first `count` columns of rows k, k-1, ..., of which there are N, taken off the rows that they name.
template <class F, int N> FN void eliminate(const i32* cols, int count, Arr<F> A, int k) {
    Arr<F> row[N];
    for (int r = 0; r < N; r++) row[r] = A.at(tri(k - r));
    int a = 0;
    // Two rows at a time: what is read of the pivots serves both.
    for (; a + 1 < count; a += 2) {
        F x[N], y[N];
        for (int r = 0; r < N; r++) {
            x[r] = -row[r][cols[a]];
            y[r] = -row[r][cols[a + 1]];
        }
        Arr<F> first = A.at(tri(cols[a])), second = A.at(tri(cols[a + 1]));
        for (int b = 0; b <= a; b++) {
            int c = cols[b];
            F s = first[c], t = second[c];
            for (int r = 0; r < N; r++) {
                F z = row[r][c];
                s = fma_(x[r], z, s);
                t = fma_(y[r], z, t);
            }
            first[c] = s;
            second[c] = t;
        }
        F t = second[cols[a + 1]];
        for (int r = 0; r < N; r++) t = fma_(y[r], row[r][cols[a + 1]], t);
        second[cols[a + 1]] = t;
    }
    if (a < count) {
        Arr<F> to = A.at(tri(cols[a]));
        F x[N];
        for (int r = 0; r < N; r++) x[r] = -row[r][cols[a]];
        for (int b = 0; b <= a; b++) {
            F sum = to[cols[b]];
            for (int r = 0; r < N; r++) sum = fma_(x[r], row[r][cols[b]], sum);
            to[cols[b]] = sum;
        }
    }
}

// In place; the diagonal becomes its reciprocal root. Up to three rows of one chain, whose patterns are the same but
// for themselves, are eliminated together: each entry is read and written once for the three. The order of its terms
// stays that of one row after the other.
template <class F> FN_BIG void factor(int n, Pattern p, Arr<F> A) {
    int k = n - 1;
    while (k >= 0) {
        int count = p.adr[k + 1] - p.adr[k], rows = 1;
        while (rows < 3 && k - rows >= 0 && p.adr[k - rows + 1] - p.adr[k - rows] == count - rows && count >= rows &&
               p.cols[p.adr[k] + count - rows] == k - rows)
            rows++;
        const i32* cols = p.cols + p.adr[k];
        for (int r = 0; r < rows; r++) {
            scale_row(p, A, k - r);
            // Off the rows of this group that come after it.
            Arr<F> row = A.at(tri(k - r));
            for (int q = r + 1; q < rows; q++) {
                F x = -row[k - q];
                Arr<F> to = A.at(tri(k - q));
                for (int b = 0; b < count - q; b++) to[cols[b]] = fma_(x, row[cols[b]], to[cols[b]]);
                to[k - q] = fma_(x, row[k - q], to[k - q]);
            }
        }
        int left = count - rows + 1;
        if (rows == 3) eliminate<F, 3>(cols, left, A, k);
        else if (rows == 2) eliminate<F, 2>(cols, left, A, k);
        else eliminate<F, 1>(cols, left, A, k);
        k -= rows;
    }
}

// x = A^-1 b, with A's factor; x may be b.
template <class F> FN_BIG void solve(int n, Pattern p, Arr<F> L, Arr<F> b, Arr<F> x) {
    for (int k = 0; k < n; k++) x[k] = b[k];
    for (int k = n - 1; k >= 0; k--) {
        Arr<F> row = L.at(tri(k));
        F y = x[k] * row[k];
        x[k] = y;
        for (int a = p.adr[k]; a < p.adr[k + 1]; a++) x[p.cols[a]] = fma_(-y, row[p.cols[a]], x[p.cols[a]]);
    }
    for (int k = 0; k < n; k++) {
        Arr<F> row = L.at(tri(k));
        F y = x[k];
        for (int a = p.adr[k]; a < p.adr[k + 1]; a++) y = fma_(-row[p.cols[a]], x[p.cols[a]], y);
        x[k] = y * row[k];
    }
}

// y = A x for a symmetric matrix.
template <class F> FN_BIG void sym_mul(int n, Pattern p, Arr<F> A, Arr<F> x, Arr<F> y) {
    for (int k = 0; k < n; k++) {
        Arr<F> row = A.at(tri(k));
        F xk = x[k], sum = row[k] * xk;
        for (int a = p.adr[k]; a < p.adr[k + 1]; a++) {
            int c = p.cols[a];
            sum = fma_(row[c], x[c], sum);
            y[c] = fma_(row[c], xk, y[c]);
        }
        y[k] = sum;
    }
}

// Number of the lowest bit that is set.
FN int low_bit(unsigned x) {
#if defined(__CUDACC__)
    return __ffs((int)x) - 1;
#else
    return __builtin_ctz(x);
#endif
}

// The pattern of H: the tree's, and what contacts between branches of it (or between trees) couple, with fill.
template <class F> FN_BIG void contact_pattern(const Model& m, Work<F>& w) {
    const i32* I = m.I;
    Pattern tree = tree_pattern(m);
    int words = (m.nv + 31) / 32;
    unsigned* bits = (unsigned*)w.bits;
    for (int k = 0; k < m.nv * words; k++) bits[k] = 0;
    for (int i = 0; i < m.nv; i++)
        for (int a = tree.adr[i]; a < tree.adr[i + 1]; a++) bits[i * words + tree.cols[a] / 32] |= 1u << (tree.cols[a] % 32);
    int last = -1;
    for (int p = 0; p < w.npoint; p++) {
        int pair = w.pt_pair[p];
        if (pair == last || !I[m.i_pair_cross + pair]) continue;
        last = pair;
        const i32* sup = I + m.i_sup + I[m.i_pair_supadr + pair];
        int n = I[m.i_pair_supnum + pair];
        for (int a = 0; a < n; a++)
            for (int b = 0; b < a; b++) bits[(sup[a] >> 1) * words + (sup[b] >> 1) / 32] |= 1u << ((sup[b] >> 1) % 32);
    }
    // Eliminating a dof couples its neighbours: they all meet in the largest of them.
    for (int k = m.nv - 1; k > 0; k--) {
        unsigned* row = bits + k * words;
        int up = -1;
        for (int q = words - 1; q >= 0 && up < 0; q--)
            for (int b = 31; b >= 0; b--)
                if (row[q] >> b & 1u) {
                    up = 32 * q + b;
                    break;
                }
        if (up < 0) continue;
        for (int q = 0; q < words; q++) bits[up * words + q] |= row[q];
        bits[up * words + up / 32] &= ~(1u << (up % 32));
    }
    int at = 0;
    w.nfill = 0;
    for (int i = 0; i < m.nv; i++) {
        w.row_adr[i] = at;
        int own = tree.adr[i], end = tree.adr[i + 1];
        for (int q = 0; q < words; q++) {
            for (unsigned left = bits[i * words + q]; left != 0; left &= left - 1) {
                int j = 32 * q + low_bit(left);
                w.row_cols[at++] = j;
                if (own < end && tree.cols[own] == j) own++;
                else w.fill[w.nfill++] = tri(i) + j;
            }
        }
    }
    w.row_adr[m.nv] = at;
}
