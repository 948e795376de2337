// A test harness in one header: TEST(name) { ... } with CHECK, CHECK_EQ and CHECK_THROWS.
//
// Why our own: the tests must build offline with nothing but a compiler, and this is all they
// need. A failed check is printed with its place and the test goes on; an exception that nobody
// expects fails its test.
// Use: include it in one .cc per program, it brings main(). `program [part of a name]` runs the
// tests whose name contains that part; the last line is `N passed, N failed`.
#pragma once

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace catena::check {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Register {
  Register(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  // Enough to see what is wrong; a loop of checks may fail a million times.
  if (++failures() <= 20) std::cout << file << ":" << line << ": " << what << "\n";
}

template <typename T>
std::string show(const T& value) {
  if constexpr (requires { std::cout << value; }) {
    std::ostream& stream = std::cout;
    (void)stream;
    if constexpr (requires { std::to_string(value); }) {
      return std::to_string(value);
    } else if constexpr (requires { std::string(value); }) {
      return "\"" + std::string(value) + "\"";
    }
  }
  return "(value)";
}

template <typename A, typename B>
void check_equal(const char* file, int line, const char* text, const A& a, const B& b) {
  if (a == b) return;
  fail(file, line, std::string(text) + " is not so: " + show(a) + " and " + show(b));
}

template <typename Run>
void check_throws(const char* file, int line, const char* text, ErrorKind kind, Run run) {
  try {
    run();
  } catch (const Error& error) {
    if (error.kind != kind) {
      fail(file, line, std::string(text) + " threw another kind: " + error.what());
    }
    return;
  }
  fail(file, line, std::string(text) + " threw nothing");
}

inline bool run_one(const Test& test) {
  const int before = failures();
  try {
    test.run();
  } catch (const std::exception& error) {
    fail(test.name, 0, std::string("unexpected exception: ") + error.what());
  }
  const bool passed = failures() == before;
  if (!passed) std::cout << "FAILED " << test.name << "\n";
  failures() = 0;
  return passed;
}

inline int run_all(std::string_view part) {
  int passed = 0;
  int failed = 0;
  for (const Test& test : tests()) {
    if (std::string_view(test.name).find(part) == std::string_view::npos) continue;
    run_one(test) ? ++passed : ++failed;
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace catena::check

#define TEST(name)                                                          \
  static void test_##name();                                                \
  static const catena::check::Register register_##name(#name, test_##name); \
  static void test_##name()

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) catena::check::fail(__FILE__, __LINE__, #condition); \
  } while (false)

#define CHECK_EQ(a, b) catena::check::check_equal(__FILE__, __LINE__, #a " == " #b, (a), (b))

#define CHECK_THROWS(expression, kind) \
  catena::check::check_throws(__FILE__, __LINE__, #expression, kind, [&]() { (void)(expression); })

int main(int argc, char** argv) { return catena::check::run_all(argc > 1 ? argv[1] : ""); }
