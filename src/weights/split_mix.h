// The random bits of synthetic weights: one value for each (key, i), from integer arithmetic, so
// that every machine makes the same model.
#pragma once

#include <cstdint>

namespace mlxcel {

// SplitMix64. Source: Steele, Lea and Flood 2014.
inline uint64_t mix(uint64_t key, uint64_t i) {
  uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

// Uniform in (-1, 1), a multiple of 2^-24 apart.
inline float uniform(uint64_t bits) {
  return (static_cast<float>(bits >> 40) - 8388607.5f) * 0x1p-23f;
}

}  // namespace mlxcel
