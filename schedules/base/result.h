// Errors as values.
//
// Purpose: every function that can fail for a reason outside the program returns Result<T>.
// Exceptions stay at the edge of libraries that throw them. What fails on a device is data
// (schedules/outcome.h), not an Error.
#pragma once

#include <string>
#include <utility>

#include <boost/system/result.hpp>

namespace kindred {

enum class ErrorKind {
  kBadInput,     // what the user gave is wrong: exit code 2
  kNotFound,     // something named does not exist: exit code 2
  kUnsupported,  // well-formed, but outside what Kindred can do: exit code 2
  kEnvironment,  // disk, permissions, compiler, database: exit code 1
  kInternal,     // a promise of our own was broken: exit code 1
};

// `message` is one sentence for a person: what was wrong, where, and what to do.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
};

inline int ExitCode(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kBadInput:
    case ErrorKind::kNotFound:
    case ErrorKind::kUnsupported: return 2;
    case ErrorKind::kEnvironment:
    case ErrorKind::kInternal: return 1;
  }
  return 1;
}

// Found by boost::system::result when value() is asked of an error: a programming mistake.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

template <typename T>
using Result = boost::system::result<T, Error>;

inline Error BadInput(std::string message) { return {ErrorKind::kBadInput, std::move(message)}; }
inline Error NotFound(std::string message) { return {ErrorKind::kNotFound, std::move(message)}; }
inline Error Unsupported(std::string message) {
  return {ErrorKind::kUnsupported, std::move(message)};
}
inline Error Environment(std::string message) {
  return {ErrorKind::kEnvironment, std::move(message)};
}
inline Error Internal(std::string message) { return {ErrorKind::kInternal, std::move(message)}; }

}  // namespace kindred

#define KINDRED_CONCAT_INNER(a, b) a##b
#define KINDRED_CONCAT(a, b) KINDRED_CONCAT_INNER(a, b)

// KINDRED_TRY(auto x, F()) declares x from F()'s value or returns F()'s error from the enclosing
// function.
#define KINDRED_TRY(declaration, expression)                          \
  auto KINDRED_CONCAT(kindred_try_, __LINE__) = (expression);         \
  if (!KINDRED_CONCAT(kindred_try_, __LINE__))                        \
    return std::move(KINDRED_CONCAT(kindred_try_, __LINE__)).error(); \
  declaration = std::move(*KINDRED_CONCAT(kindred_try_, __LINE__))

// KINDRED_CHECK(F()) returns F()'s error, if it has one, from the enclosing function.
#define KINDRED_CHECK(expression)                                  \
  do {                                                             \
    auto kindred_check_ = (expression);                            \
    if (!kindred_check_) return std::move(kindred_check_).error(); \
  } while (false)
