#include "evidence/quiet.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/cat.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

// A process that sleeps under a name of its own, and is no descendant of this one.
class Sleeper {
 public:
  explicit Sleeper(const std::string& name) {
    const fs::path folder = fs::path(testing::TempDir()) / cat("quiet_test_", getpid());
    fs::create_directories(folder);
    const fs::path program = folder / name;
    fs::copy_file("/bin/sleep", program, fs::copy_options::skip_existing);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t middle = fork();
    if (middle == 0) {
      const pid_t child = fork();
      if (child == 0) execl(program.c_str(), name.c_str(), "60", static_cast<char*>(nullptr));
      const ssize_t size = write(ends[1], &child, sizeof child);
      _exit(size == sizeof child ? 0 : 1);
    }
    EXPECT_EQ(read(ends[0], &id_, sizeof id_), static_cast<ssize_t>(sizeof id_));
    waitpid(middle, nullptr, 0);
    close(ends[0]), close(ends[1]);
    EXPECT_TRUE(becomes("SRD"));
    for (int i = 0; i < 500 && entry().name != name.substr(0, 15); i++) rest();
  }
  ~Sleeper() {
    kill(id_, SIGKILL);
    kill(id_, SIGCONT);
  }
  void send(int signal_number) const { kill(id_, signal_number); }
  // Waits up to five seconds for one of the states.
  bool becomes(const std::string& states) const {
    for (int i = 0; i < 500; i++, rest()) {
      if (states.find(entry().state) != std::string::npos) return true;
    }
    return false;
  }
  pid_t id() const { return id_; }

 private:
  static void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }
  ProcessEntry entry() const {
    for (const ProcessEntry& p : all_processes()) {
      if (p.id == id_) return p;
    }
    return {};
  }
  pid_t id_ = 0;
};

std::string unique(const std::string& name) { return cat(name, getpid()); }

TEST(Processes, TreesAndLines) {
  std::vector<ProcessEntry> all;
  for (const auto& [id, parent] : {std::pair{1, 0}, {2, 1}, {3, 2}, {4, 1}, {5, 3}})
    all.push_back({id, parent, 0, 0, "", 'S', 0});
  EXPECT_EQ(tree_of(2, all), (std::set<int64_t>{2, 3, 5}));
  EXPECT_EQ(ancestors_of(5, all), (std::set<int64_t>{5, 3, 2, 1}));
  bool found = false;
  for (const ProcessEntry& p : all_processes())
    found |= p.id == getpid() && p.parent == getppid() && p.user == getuid() && p.started > 0;
  EXPECT_TRUE(found);
  EXPECT_EQ(lines_of("a b\n\nc \r\n"), (std::vector<std::string>{"a b", "c"}));
}

TEST(Quiet, PausesAndResumes) {
  const std::string name = unique("mlx_a");
  const Sleeper s(name), stopped(name), other(unique("mlx_b"));
  stopped.send(SIGSTOP);
  ASSERT_TRUE(stopped.becomes("T"));
  {
    const auto paused = PausedProcesses::pause({name});
    ASSERT_TRUE(paused);
    EXPECT_TRUE(s.becomes("T"));
    EXPECT_TRUE(other.becomes("S"));
    ASSERT_EQ((*paused)->paused().size(), 1u);
    EXPECT_EQ((*paused)->paused()[0].id, s.id());
  }
  EXPECT_TRUE(s.becomes("S"));
  EXPECT_TRUE(stopped.becomes("T"));  // it was stopped by someone else
}

TEST(Quiet, ResumesAfterItsOwnSigkill) {
  const std::string name = unique("mlx_c");
  const Sleeper s(name);
  const pid_t child = fork();
  if (child == 0) {
    const auto paused = PausedProcesses::pause({name});
    ::pause();
    _exit(paused ? 0 : 1);
  }
  EXPECT_TRUE(s.becomes("T"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(s.becomes("S"));
}

TEST(Quiet, NeverPausesItselfOrItsOwn) {
  std::string own;
  for (const ProcessEntry& p : all_processes()) own = p.id == getpid() ? p.name : own;
  const auto paused = PausedProcesses::pause({own});
  ASSERT_TRUE(paused);
  for (const ProcessEntry& p : (*paused)->paused()) EXPECT_NE(p.id, getpid());
}

TEST(Quiet, SeesWhoIsBusy) {
  // A busy process that is not ours: a grandchild whose parent is gone.
  const Sleeper quiet(unique("mlx_d"));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t middle = fork();
  if (middle == 0) {
    const pid_t busy = fork();
    if (busy == 0) {
      alarm(20);
      for (std::atomic<unsigned> n = 0;;) n++;
    }
    const ssize_t size = write(ends[1], &busy, sizeof busy);
    _exit(size == sizeof busy ? 0 : 1);
  }
  pid_t busy = 0;
  ASSERT_EQ(read(ends[0], &busy, sizeof busy), static_cast<ssize_t>(sizeof busy));
  waitpid(middle, nullptr, 0);
  close(ends[0]), close(ends[1]);
  double processors = 0;
  for (int i = 0; i < 20 && processors == 0; i++) {  // it may get no time on a full machine
    for (const ProcessUse& u : look_at_machine(0.3).users) {
      if (u.process.id == busy) processors = u.processors;
      EXPECT_NE(u.process.id, quiet.id());
    }
  }
  EXPECT_GT(processors, 0);
  int looks = 0;
  EXPECT_FALSE(wait_for_quiet(0.05, 0.1, [&](const MachineUse&, double) { return ++looks < 2; }));
  kill(busy, SIGKILL);
}

}  // namespace
}  // namespace mlxcel
