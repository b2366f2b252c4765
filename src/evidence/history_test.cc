#include "evidence/history.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/cat.h"
#include "evidence/process.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

// A repository of two commits, the first of the year 2020.
class Repository {
 public:
  explicit Repository(const std::string& name)
      : path_(fs::path(testing::TempDir()) / ("history_test_" + name)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
    sh("git init -q -b trunk && git config user.email a@b && git config user.name x");
    sh("export GIT_COMMITTER_DATE=2020-01-01T00:00:00Z; git commit -q --allow-empty -m first");
    sh("git commit -q --allow-empty -m second");
  }
  std::string sh(const std::string& command) const {
    const auto r = run_process(cat("cd '", path_.string(), "' && ", command));
    EXPECT_TRUE(r && r->status == 0) << command;
    return r ? r->output : "";
  }
  std::string head(const char* which = "HEAD") const {
    return sh(cat("git rev-parse --short=8 ", which)).substr(0, 8);
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

HistoryCheck checked(const std::string& root, const std::string& commit,
                     const std::string& time = "2026-11-30T12:00:00Z") {
  RecordStore store;
  const json::object program = {{"mlxcel_commit", commit}};
  store.records.push_back({"r.json", {{"program", program}, {"time", time}}});
  const auto c = check_history(root, store);
  EXPECT_TRUE(c) << (c ? "" : c.error().message);
  return c ? *c : HistoryCheck{};
}

TEST(History, KnowsTheCommitsOfAWholeClone) {
  if (run_process("git --version >/dev/null 2>&1")->status != 0) GTEST_SKIP() << "no git";
  const Repository r("whole");
  for (const std::string& commit : {r.head(), r.head("HEAD~1"), r.head() + "-dirty"}) {
    EXPECT_TRUE(checked(r.path(), commit).problems.empty()) << commit;
    EXPECT_TRUE(checked(r.path(), commit).notes.empty()) << commit;
  }
  for (const char* commit : {"0123abcd", "unknown"}) {
    const HistoryCheck c = checked(r.path(), commit);
    ASSERT_EQ(c.problems.size(), 1u) << commit;
    EXPECT_NE(c.problems[0].find(cat("this history, found ", commit)), std::string::npos);
  }
  // A commit of another branch is not of this history.
  r.sh("git checkout -q --orphan side && git commit -q --allow-empty -m side");
  const std::string side = r.head();
  r.sh("git checkout -q trunk");
  EXPECT_EQ(checked(r.path(), side).problems.size(), 1u);
}

TEST(History, SaysWhatItCannotKnow) {
  if (run_process("git --version >/dev/null 2>&1")->status != 0) GTEST_SKIP() << "no git";
  const Repository r("part");
  const auto noted = [](const HistoryCheck& c) {
    EXPECT_TRUE(c.problems.empty());
    return c.notes.empty() ? "" : c.notes[0];
  };
  EXPECT_NE(noted(checked(r.path(), "0123abcd", "2019-12-31T23:59:59Z")).find("older"),
            std::string::npos);
  EXPECT_EQ(checked(r.path(), "0123abcd", "2020-01-01T00:00:00Z").problems.size(), 1u);
  r.sh(cat("git clone -q --depth 1 'file://", r.path(), "' shallow"));
  EXPECT_NE(noted(checked(r.path() + "/shallow", "0123abcd")).find("shallow"), std::string::npos);
  EXPECT_NE(noted(checked(testing::TempDir(), "0123abcd")).find("no git checkout"),
            std::string::npos);
}

}  // namespace
}  // namespace mlxcel
