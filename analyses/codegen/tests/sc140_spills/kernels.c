typedef short Word16;
typedef int Word32;

Word16 add(Word16, Word16);
Word16 sub(Word16, Word16);
Word16 mult(Word16, Word16);
Word16 negate(Word16);
Word16 abs_s(Word16);
Word16 extract_h(Word32);
Word16 extract_l(Word32);
Word16 round(Word32);
Word16 norm_l(Word32);
Word32 L_mult(Word16, Word16);
Word32 L_mac(Word32, Word16, Word16);
Word32 L_msu(Word32, Word16, Word16);
Word32 L_add(Word32, Word32);
Word32 L_sub(Word32, Word32);
Word32 L_shl(Word32, Word16);
Word32 L_shr(Word32, Word16);
Word32 L_deposit_h(Word16);
Word32 L_abs(Word32);
Word32 L_negate(Word32);

/* The product of two numbers in the split format: 16 high bits, 15 low ones. */
static Word32 product(Word16 high, Word16 low, Word16 other_high, Word16 other_low) {
    Word32 sum = L_mult(high, other_high);
    sum = L_mac(sum, mult(high, other_low), 1);
    return L_mac(sum, mult(low, other_high), 1);
}

/* One round of the recursion of Levinson and Durbin on four coefficients in registers, in the split format. */
Word32 levinson_round(const Word16 *high, const Word16 *low, Word16 *coefficients, Word16 n) {
    Word16 a1 = 4096, a2 = 0, a3 = 0, a4 = 0, b1 = 0, b2 = 0, b3 = 0, b4 = 0;
    Word32 error = L_deposit_h(high[0]);
    for (Word16 i = 1; i <= n; i++) {
        Word32 sum = product(a1, b1, high[i], low[i]);
        sum = L_add(sum, product(a2, b2, high[i + 1], low[i + 1]));
        sum = L_add(sum, product(a3, b3, high[i + 2], low[i + 2]));
        sum = L_add(sum, product(a4, b4, high[i + 3], low[i + 3]));
        Word16 shift = norm_l(sum);
        Word16 k = negate(round(L_shl(sum, shift)));
        Word16 m = extract_l(L_shr(sum, 3));
        Word32 t1 = L_add(L_deposit_h(a1), product(k, m, a4, b4));
        Word32 t2 = L_add(L_deposit_h(a2), product(k, m, a3, b3));
        Word32 t3 = L_add(L_deposit_h(a3), product(k, m, a2, b2));
        Word32 t4 = L_add(L_deposit_h(a4), product(k, m, a1, b1));
        a1 = extract_h(t1); b1 = extract_l(L_shr(t1, 1));
        a2 = extract_h(t2); b2 = extract_l(L_shr(t2, 1));
        a3 = extract_h(t3); b3 = extract_l(L_shr(t3, 1));
        a4 = extract_h(t4); b4 = extract_l(L_shr(t4, 1));
        error = L_sub(error, product(k, m, extract_h(error), extract_l(L_shr(error, 1))));
    }
    coefficients[0] = a1; coefficients[1] = a2; coefficients[2] = a3; coefficients[3] = a4;
    coefficients[4] = b1; coefficients[5] = b2; coefficients[6] = b3; coefficients[7] = b4;
    return error;
}

/* The best of the combinations of pulses in four tracks: energies and correlations of all pairs. */
Word32 pulse_search(const Word16 *dn, const Word16 *rr, Word16 *code, Word16 n) {
    Word16 best = -1, alpha = 1, p0 = 0, p1 = 1, p2 = 2, p3 = 3, index = 0;
    for (Word16 i0 = 0; i0 < n; i0++) {
        Word16 ps0 = dn[i0];
        Word32 alp0 = L_mult(rr[i0], 4096);
        for (Word16 i1 = 1; i1 < n; i1++) {
            Word16 ps1 = add(ps0, dn[i1]);
            Word32 alp1 = L_mac(alp0, rr[i1], 4096);
            alp1 = L_mac(alp1, rr[add(i0, i1)], 8192);
            for (Word16 i2 = 2; i2 < n; i2++) {
                Word16 ps2 = add(ps1, dn[i2]);
                Word32 alp2 = L_mac(alp1, rr[i2], 2048);
                alp2 = L_mac(alp2, rr[add(i0, i2)], 4096);
                alp2 = L_mac(alp2, rr[add(i1, i2)], 4096);
                Word16 square = mult(ps2, ps2);
                Word16 energy = round(alp2);
                Word32 s = L_msu(L_mult(alpha, square), best, energy);
                if (s > 0) {
                    best = square; alpha = energy;
                    p0 = i0; p1 = i1; p2 = i2; p3 = add(i0, i2);
                    index = add(index, 1);
                }
            }
        }
    }
    code[0] = p0; code[1] = p1; code[2] = p2; code[3] = p3; code[4] = index;
    return L_mac(L_deposit_h(best), alpha, 1);
}

/* The nearest of a codebook's rows to six weighted values. */
Word16 nearest_row(const Word16 *values, const Word16 *weights, const Word16 *rows, Word16 n) {
    Word16 v0 = values[0], v1 = values[1], v2 = values[2], v3 = values[3], v4 = values[4], v5 = values[5];
    Word16 w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3], w4 = weights[4], w5 = weights[5];
    Word32 least = 0x7fffffff;
    Word16 index = 0;
    for (Word16 i = 0; i < n; i++) {
        Word16 t = mult(w0, sub(v0, *rows++));
        Word32 distance = L_mult(t, t);
        t = mult(w1, sub(v1, *rows++)); distance = L_mac(distance, t, t);
        t = mult(w2, sub(v2, *rows++)); distance = L_mac(distance, t, t);
        t = mult(w3, sub(v3, *rows++)); distance = L_mac(distance, t, t);
        t = mult(w4, sub(v4, *rows++)); distance = L_mac(distance, t, t);
        t = mult(w5, sub(v5, *rows++)); distance = L_mac(distance, t, t);
        if (distance < least) {
            least = distance;
            index = i;
        }
    }
    return index;
}

/* Correlations of an excitation that is moved by one sample a round, with their energies. */
void correlations(const Word16 *restrict exc, const Word16 *restrict xn, const Word16 *restrict h, Word16 *restrict out, Word16 from, Word16 to, Word16 n) {
    for (Word16 lag = from; lag <= to; lag++) {
        Word32 energy = 1, correlation = 0, high = 0, low = 0;
        for (Word16 j = 0; j < n; j++) {
            Word16 x = xn[j], e = exc[j + lag];
            energy = L_mac(energy, e, e);
            correlation = L_mac(correlation, x, e);
            high = L_mac(high, h[j], e);
            low = L_msu(low, h[j], x);
        }
        Word16 shift = norm_l(energy);
        Word16 scale = extract_h(L_shl(energy, shift));
        Word32 norm = L_mult(scale, extract_h(L_shl(correlation, shift)));
        out[lag - from] = round(L_add(norm, L_sub(high, low)));
    }
}

/* A fractional pitch: eight sums are kept while a window moves. */
Word16 fractional_pitch(const Word16 *corr, const Word16 *filter, Word16 *best, Word16 n) {
    Word32 s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, top = 0;
    Word16 at = 0;
    for (Word16 i = 0; i < n; i++) {
        Word16 c = corr[i], f0 = filter[i], f1 = filter[i + 1], f2 = filter[i + 2], f3 = filter[i + 3];
        s0 = L_mac(s0, c, f0); s1 = L_mac(s1, c, f1); s2 = L_mac(s2, c, f2); s3 = L_mac(s3, c, f3);
        s4 = L_msu(s4, c, f3); s5 = L_msu(s5, c, f2); s6 = L_msu(s6, c, f1); s7 = L_msu(s7, c, f0);
        Word32 most = L_abs(s0);
        if (L_abs(s1) > most) most = L_abs(s1);
        if (L_abs(s5) > most) most = L_abs(s5);
        if (most > top) {
            top = most;
            at = i;
        }
    }
    best[0] = round(s0); best[1] = round(s1); best[2] = round(s2); best[3] = round(s3);
    best[4] = round(s4); best[5] = round(s5); best[6] = round(s6); best[7] = round(L_negate(s7));
    return add(at, abs_s(best[0]));
}
