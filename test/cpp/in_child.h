// test/cpp/in_child.h: running code in a forked child, which an alarm ends if it hangs.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace opyard {

constexpr unsigned kLongestChild = 60;  // seconds

// Gives what `body` gives; 98 if it throws, -1 if the child does not end by itself.
template <typename Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kLongestChild);
    int answer = 99;
    try {
      answer = body();
    } catch (...) {
      answer = 98;
    }
    _exit(answer);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace opyard
