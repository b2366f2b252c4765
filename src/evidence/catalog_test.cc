#include "evidence/catalog.h"

#include <gtest/gtest.h>

#include "evidence/table.h"

namespace mlxcel {
namespace {

FoundModel stored(const std::string& name, const std::string& identity) {
  return {name, "/models/" + name, "/models/" + name, 1500000000, identity, ""};
}

Result<CheckpointFacts> inspect(const std::string& path) {
  if (path.ends_with("broken"))
    return Error{Code::kCorrupt, "model-2.safetensors: expected 100 bytes, found 50"};
  return CheckpointFacts{"safetensors", "llama", "affine 4 bits, groups of 64", 291};
}

const std::string kOne(64, '1'), kTwo(64, '2');

TEST(Catalog, HoldsWhatIsThere) {
  RecordStore store;
  store.records = {{"decode_a.json", {{"model", json::object{{"name", "b"}}}}},
                   {"decode_b.json", {{"model", json::object{{"name", "x"}}}}},
                   {"kernel.json", {}}};
  const auto c = make_catalog({stored("a", kOne), stored("b", kOne), stored("broken", kTwo)}, store,
                              inspect, "");
  ASSERT_TRUE(c);
  ASSERT_EQ(c->size(), 2u);
  EXPECT_EQ((*c)[0].name, "a");
  EXPECT_EQ((*c)[0].aliases, (std::vector<std::string>{"b"}));
  EXPECT_EQ((*c)[0].records, (std::vector<std::string>{"decode_a.json"}));
  EXPECT_EQ((*c)[0].shards, "ok, 291 tensors");
  EXPECT_NE((*c)[1].shards.find("found 50"), std::string::npos);
  const std::string tsv = catalog_tsv(*c);
  EXPECT_NE(tsv.find("\na\tb\t1111111111111111\tsafetensors\tllama\taffine 4 bits, groups of 64\t"
                     "1500000000\tok, 291 tensors\tdecode_a.json\n"),
            std::string::npos)
      << tsv;
  EXPECT_NE(catalog_markdown(*c).find("| a | b | llama | affine 4 bits, groups of 64 | 1.50 GB |"),
            std::string::npos);
  const auto names = ModelNames::parse("catalog.tsv", tsv);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_EQ(names->resolved("b"), "a");
}

TEST(Catalog, ARenameKeepsTheOldNames) {
  const auto first = make_catalog({stored("old", kOne)}, {}, inspect, "");
  const auto second = make_catalog({stored("new", kOne)}, {}, inspect, catalog_tsv(*first));
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)[0].aliases, (std::vector<std::string>{"old"}));
  const auto third = make_catalog({stored("newer", kOne)}, {}, inspect, catalog_tsv(*second));
  EXPECT_EQ((*third)[0].aliases, (std::vector<std::string>{"new", "old"}));
  // Another checkpoint under the old name takes nothing over.
  const auto other = make_catalog({stored("old", kTwo)}, {}, inspect, catalog_tsv(*first));
  EXPECT_TRUE((*other)[0].aliases.empty());
  EXPECT_FALSE(make_catalog({}, {}, inspect, "something else\n"));
  EXPECT_FALSE(make_catalog({}, {}, inspect, "name\taliases\tidentity\tx\ncut"));
}

}  // namespace
}  // namespace mlxcel
