// f32 <-> f16 and bf16 arrays, rounded to nearest even; base/half.h is the definition of every
// element.
#pragma once

#include <cstdint>

namespace mlxcel {

void convert_f16_to_f32(const uint16_t* x, float* y, int64_t n);
void convert_bf16_to_f32(const uint16_t* x, float* y, int64_t n);
void convert_f32_to_f16(const float* x, uint16_t* y, int64_t n);
void convert_f32_to_bf16(const float* x, uint16_t* y, int64_t n);

}  // namespace mlxcel
