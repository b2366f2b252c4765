// exp, log, sine and cosine in double from additions, multiplications and divisions alone: equal
// bits on every machine.
//
// libm differs between machines and versions; what reaches a model's float comes from here or from
// a kernel's polynomial. Errors are below 2 units in the last place over the ranges given;
// math_test.cc measures them.
#pragma once

namespace mlxcel {

double exact_exp(double x);  // x in [-700, 700]
double exact_log(double x);  // x positive and finite
double exact_pow(
    double base,
    double exponent);  // base > 0: exp(exponent * log(base)), error ~ |result exponent| ulp
void exact_sincos(double x, double* sine, double* cosine);  // |x| <= 2^27

}  // namespace mlxcel
