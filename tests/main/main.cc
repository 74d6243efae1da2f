// The main function of every test. A test that crashes says where: the machine that it crashed on
// may be gone when somebody reads its log.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// A sanitizer prints a better stack.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define QUORUM_SANITIZED 1
#endif
#endif

int main(int argc, char** argv) {
#if !defined(QUORUM_SANITIZED)
  google::InstallFailureSignalHandler();
#endif
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
