#include "base/sha256.h"

#include <gtest/gtest.h>

#include <fstream>

namespace mlxcel {
namespace {

// Digests of FIPS 180-4's examples and of coreutils' sha256sum.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, ShortAndLongPartsAgree) {
  const std::string text(1000, 'a');
  for (size_t part : {1, 3, 63, 64, 65, 200}) {
    Sha256 s;
    for (size_t i = 0; i < text.size(); i += part) s.update(text.substr(i, part));
    EXPECT_EQ(s.hex(), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3") << part;
  }
}

TEST(Sha256, File) {
  const std::string path = testing::TempDir() + "sha256_test";
  std::ofstream(path) << "abc";
  EXPECT_EQ(*sha256_of_file(path),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_FALSE(sha256_of_file(path + ".missing"));
}

}  // namespace
}  // namespace mlxcel
