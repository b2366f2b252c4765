#include "evidence/contention.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mlxcel {
namespace {

void spin(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// A machine may be so busy that nothing runs for a while: one of several looks must be right.
template <class Look>
bool once(const Look& look) {
  for (int i = 0; i < 20; i++) {
    if (look()) return true;
  }
  return false;
}

TEST(Contention, SeesAnotherProcess) {
  EXPECT_TRUE(once([] {
    // A grandchild whose parent has ended is nobody's descendant of ours.
    const pid_t middle = fork();
    if (middle == 0) {
      if (fork() == 0) {
        setpgid(0, 0);
        spin(1.2);
      }
      _exit(0);
    }
    waitpid(middle, nullptr, 0);
    ContentionWatch watch(200);
    usleep(900000);
    const ContentionFacts facts = watch.stop();
    return facts.samples >= 3 && facts.contended >= facts.samples / 2 && facts.mean_others > 0.2;
  }));
}

TEST(Contention, OwnWorkIsNotContention) {
  EXPECT_TRUE(once([] {
    ContentionWatch idle(200);
    usleep(700000);
    const double before = idle.stop().mean_others;
    ContentionWatch watch(200);
    const pid_t child = fork();
    if (child == 0) {
      spin(0.7);
      _exit(0);
    }
    spin(0.7);
    waitpid(child, nullptr, 0);
    // Others may be busy while this test runs; our two processors must not be added to them.
    return watch.stop().mean_others < std::max(before, 0.0) + 0.9;
  }));
}

}  // namespace
}  // namespace mlxcel
