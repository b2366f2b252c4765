#include "evidence/record.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace mlxcel {
namespace {

RecordParts parts() {
  RecordParts p;
  p.kind = "decode";
  p.command = {"/opt/bin/mlxcel", "bench", "decode", "-m", "/data/models/tiny.gguf"};
  p.program.version = "0.1.0", p.program.commit = "0123abcd-dirty", p.program.compiler = "GCC 12";
  p.machine = machine_facts();
  p.model = {"tiny", "Q4_1", {{"tiny.gguf", 3, std::string(64, 'a')}}};
  p.run = {.order = "repetitions in order", .warmup = "1 repetition, not counted"};
  p.metrics = {{"decode_tok_s", "tok/s", {100, 101, 102}}};
  p.results = {{"weight_bytes", 78000000}};
  return p;
}

std::string text_of(const std::string& path) {
  std::stringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}

// A fresh directory; the record's file name in it.
struct Written {
  std::string directory, name;
  explicit Written(const RecordParts& p, const char* test) {
    directory = testing::TempDir() + "record_test_" + test;
    std::filesystem::remove_all(directory);
    const auto result = write_record(directory, make_record(p));
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    name = result ? *result : "";
  }
  std::string text() const { return text_of(directory + "/" + name); }
};

// What check_record says of the record after `edit`, sealed again.
std::vector<std::string> problems_after(const std::function<void(json::object&)>& edit) {
  json::object r = make_record(parts());
  edit(r);
  return check_record("", seal(r));
}

void expect_problem(const std::vector<std::string>& problems, const std::string& wanted) {
  std::string all;
  for (const std::string& p : problems) all += p + "\n";
  EXPECT_NE(all.find(wanted), std::string::npos) << "wanted: " << wanted << "\nfound: " << all;
}

TEST(Record, WrittenRecordIsAccepted) {
  const Written w(parts(), "accepted");
  EXPECT_EQ(check_record(w.name, w.text()), std::vector<std::string>{});
  const json::object r = json::parse(w.text()).as_object();
  EXPECT_EQ(r.at("command").as_string(), "mlxcel bench decode -m tiny.gguf");
  const json::object m = r.at("metrics").at("decode_tok_s").as_object();
  EXPECT_EQ(m.at("median").to_number<double>(), 101);
  EXPECT_NEAR(m.at("spread").to_number<double>(), 2.0 / 101, 1e-15);
}

TEST(Record, EveryEditedByteShows) {
  const Written w(parts(), "edited");
  const std::string text = w.text();
  for (size_t i = 0; i < text.size(); i++) {
    std::string edited = text;
    edited[i] = edited[i] == '7' ? '8' : '7';
    EXPECT_FALSE(check_record(w.name, edited).empty()) << "byte " << i;
  }
}

TEST(Record, SealedAgainShowsInTheName) {
  const Written w(parts(), "sealed");
  json::object r = json::parse(w.text()).as_object();
  r["command"] = "mlxcel bench decode";
  const std::string edited = seal(r);
  EXPECT_TRUE(check_record("", edited).empty());
  expect_problem(check_record(w.name, edited), "file name");
}

TEST(Record, IsNeverWrittenOver) {
  const std::string directory = testing::TempDir() + "record_test_twice";
  std::filesystem::remove_all(directory);
  const json::object r = make_record(parts());
  ASSERT_TRUE(write_record(directory, r));
  const auto again = write_record(directory, r);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("File exists"), std::string::npos);
}

TEST(Record, Refusals) {
  expect_problem(problems_after([](json::object& r) { r.erase("machine"); }), "machine: missing");
  expect_problem(problems_after([](json::object& r) { r["kind"] = 3; }), "kind: expected a string");
  expect_problem(problems_after([](json::object& r) { r["schema"] = "mlxcel-record-9"; }),
                 "schema: expected mlxcel-record-1");
  expect_problem(
      problems_after([](json::object& r) { r.at("program").as_object()["mlxcel_commit"] = "xyz"; }),
      "mlxcel_commit");
  expect_problem(problems_after([](json::object& r) {
                   r.at("model").at("files").at(0).as_object()["sha256"] = "abc";
                 }),
                 "64 hexadecimal digits");
  expect_problem(problems_after([](json::object& r) {
                   r.at("metrics").at("decode_tok_s").as_object()["median"] = 150.0;
                 }),
                 "median: expected 101");
  expect_problem(problems_after([](json::object& r) {
                   r.at("metrics").at("decode_tok_s").as_object()["samples"] =
                       json::array{100.0, 101.0, 120.0};
                 }),
                 "decode_tok_s.spread: expected");
  expect_problem(problems_after([](json::object& r) {
                   r.at("run").as_object()["refusals"] = json::array{"contention"};
                 }),
                 "run.refusals: contradict");
  for (const char* path : {"/home/x/model.gguf", "-m=/srv/x", "see /etc/passwd"}) {
    expect_problem(problems_after([&](json::object& r) { r["command"] = path; }), "absolute path");
  }
  EXPECT_TRUE(
      problems_after([](json::object& r) { r["command"] = "at 5 tok/s, https://a/b"; }).empty());
}

TEST(Record, NamesOfThisMachineAreRefused) {
  setenv("USER", "somebody-here", 1);
  RecordParts p = parts();
  p.results["note"] = "measured by somebody-here";
  const auto result = write_record(testing::TempDir() + "record_test_names", make_record(p));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("somebody-here"), std::string::npos);
}

TEST(Record, NoisyRunsAreNotPublishable) {
  RecordParts p = parts();
  EXPECT_TRUE(make_record(p).at("run").at("publishable").as_bool());
  p.metrics[0].samples = {100, 100, 104.1};
  EXPECT_FALSE(make_record(p).at("run").at("publishable").as_bool());
  p.metrics[0].samples = {100, 100, 103.9};
  EXPECT_TRUE(make_record(p).at("run").at("publishable").as_bool());
  p.run.contention.samples = 100, p.run.contention.contended = 20;
  EXPECT_TRUE(make_record(p).at("run").at("publishable").as_bool());
  p.run.contention.contended = 21;
  EXPECT_FALSE(make_record(p).at("run").at("publishable").as_bool());
  p.run.contention.contended = 0;
  p.metrics[0].samples = {100, 100};
  EXPECT_FALSE(make_record(p).at("run").at("publishable").as_bool());
  p.metrics[0].samples = {100, 100, 150};
  // A record that claims otherwise.
  json::object r = make_record(p);
  r.at("run").as_object()["publishable"] = true;
  r.at("run").as_object()["refusals"] = json::array{};
  expect_problem(check_record("", seal(r)), "run.publishable");
}

TEST(Record, PathsInCommandsBecomeNames) {
  EXPECT_EQ(reduced_command({"./a/b", "--x=/q/r.gguf", "two words", "it's"}),
            "b --x=r.gguf 'two words' 'it'\\''s'");
  EXPECT_EQ(file_name("models/tiny/"), "tiny");
  EXPECT_EQ(reduced_paths("'/usr/bin/x' -m a/b.gguf --unit tok/s 2>/dev/null"),
            "'x' -m b.gguf --unit tok/s 2>null");
}

}  // namespace
}  // namespace mlxcel
