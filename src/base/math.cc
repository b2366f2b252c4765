#include "base/math.h"

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "base/check.h"

namespace mlxcel {
namespace {

// 2^n. REQUIRES: n in [-1022, 1023].
double power_of_two(int64_t n) {
  return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

// The nearest integer, ties to even, for |x| < 2^51.
double round_even(double x) {
  constexpr double kMagic = 0x1.8p52;
  const volatile double shifted = x + kMagic;
  return shifted - kMagic;
}

// ln 2 and pi/2 in parts; the leading parts are short, so that n times a part is exact (25 bits for
// |n| < 2^28).
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfPi[] = {0x1.921fb5p+0, 0x1.110b46p-26, 0x1.1a6263p-54, 0x1.8a2e03707344ap-81};

}  // namespace

// exp(n ln 2 + r) = 2^n exp(r), |r| <= ln 2 / 2; Taylor to degree 13 leaves 2^-57.
double exact_exp(double x) {
  CHECK(x >= -700 && x <= 700);
  const double n = round_even(x * 0x1.71547652b82fep0);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1.0 / 6227020800.0;
  for (const double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                                 720.0, 120.0, 24.0, 6.0, 2.0}) {
    sum = sum * r + 1.0 / factorial;
  }
  return (1.0 + (r + r * r * sum)) * power_of_two(static_cast<int64_t>(n));
}

// x = 2^e m, m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...), s = (m
// - 1) / (m + 1).
double exact_log(double x) {
  CHECK(x > 0 && x < 0x1p1023);
  if (x < 0x1p-1022) return exact_log(x * 0x1p60) - 60 * 0x1.62e42fefa39efp-1;
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int64_t e = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 0x1.6a09e667f3bcdp0) m *= 0.5, e++;
  const double f = m - 1, s = f / (2 + f), z = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2)
    sum = sum * z + 1.0 / k;  // |s| <= 0.1716: the next term is below 2^-60
  // 2 atanh(s) = f - s (f - 2 z sum): the large part f is exact.
  const double log_m = f - s * (f - 2 * z * sum);
  return e * kLn2High + (log_m + e * kLn2Low);
}

double exact_pow(double base, double exponent) { return exact_exp(exponent * exact_log(base)); }

void exact_sincos(double x, double* sine, double* cosine) {
  CHECK(x >= -0x1p27 && x <= 0x1p27);
  const double n = round_even(x * 0x1.45f306dc9c883p-1);
  // x - n pi/2 = high + low. The first difference is exact (the two are close), the second one's
  // error is kept.
  const double a = x - n * kHalfPi[0], b = n * kHalfPi[1];
  const double high = a - b, back = high - a, error = (a - (high - back)) - (b + back);
  const double low = error - n * kHalfPi[2] - n * kHalfPi[3];
  const double r = high + low, z = r * r;
  double s = -1.0 / 1307674368000.0 * z + 1.0 / 6227020800.0;  // degree 15
  for (const double f : {-39916800.0, 362880.0, -5040.0, 120.0, -6.0}) s = s * z + 1.0 / f;
  double c = 1.0 / 20922789888000.0 * z - 1.0 / 87178291200.0;  // degree 16
  for (const double f : {479001600.0, -3628800.0, 40320.0, -720.0, 24.0}) c = c * z + 1.0 / f;
  const double tail = low - (r - high);
  const double sin_r = r + (r * z * s + tail), cos_r = 1 - (0.5 * z - (z * z * c - r * tail));
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      *sine = sin_r, *cosine = cos_r;
      break;
    case 1:
      *sine = cos_r, *cosine = -sin_r;
      break;
    case 2:
      *sine = -sin_r, *cosine = -cos_r;
      break;
    default:
      *sine = -cos_r, *cosine = sin_r;
  }
}

}  // namespace mlxcel
