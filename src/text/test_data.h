// Tests only: the files of other people that tools/fetch_test_data fetches.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "text/gguf_vocabulary.h"
#include "text/tokenizer.h"

namespace mlxcel {

constexpr const char* kNoTestData = "not there: tools/fetch_test_data fetches it";

inline std::filesystem::path test_data() {
  const char* named = std::getenv("MLXCEL_TEST_DATA");
  return named && *named ? named : ".cache/testdata";
}

// Null if the file is not there; a file that is there must open.
inline std::unique_ptr<Tokenizer> open_test_vocabulary(const std::string& name) {
  const auto path = test_data() / name;
  if (!std::filesystem::exists(path)) return nullptr;
  auto file = GgufFile::open(path);
  EXPECT_TRUE(file) << file.error().message;
  if (!file) return nullptr;
  auto spec = tokenizer_spec(*file);
  EXPECT_TRUE(spec) << spec.error().message;
  if (!spec) return nullptr;
  auto tokenizer = Tokenizer::create(std::move(*spec));
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

}  // namespace mlxcel
