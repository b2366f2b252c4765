// Result<T>: a value, or an Error that says what went wrong.
//
// Whatever a file, a client or a device can cause is returned as an Error. Only our own bugs abort
// (base/check.h).
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace mlxcel {

enum class Code {
  kInvalid,      // the caller asked for something that makes no sense
  kNotFound,     // a file, a model, a name
  kUnsupported,  // valid, but not done here
  kCorrupt,      // a file contradicts itself or its format
  kIo,           // the operating system said no
  kDevice,       // a GPU or its driver said no
  kExhausted,    // memory, pages, queue
  kCancelled,
};

const char* name(Code code);

struct Error {
  Code code;
  std::string message;  // where: expected, found
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }

  // REQUIRES: the result holds a value.
  T& value() {
    CHECK(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    CHECK(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: the result holds an error.
  const Error& error() const {
    CHECK(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;

}  // namespace mlxcel

// TRY(auto file, open(path));   file = the value, or return the error to the caller.
// TRY_OK(check(file));          continue, or return the error to the caller.
#define MLXCEL_JOIN_(a, b) a##b
#define MLXCEL_JOIN(a, b) MLXCEL_JOIN_(a, b)
#define MLXCEL_TRY_(result, declaration, expression) \
  auto result = (expression);                        \
  if (!result) return result.error();                \
  declaration = std::move(*result)
#define TRY(declaration, expression) \
  MLXCEL_TRY_(MLXCEL_JOIN(try_, __LINE__), declaration, expression)
#define TRY_OK(expression) \
  if (auto status = (expression); !status) return status.error()
