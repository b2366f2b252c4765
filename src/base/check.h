// CHECK: an assumption that only a bug of ours can break. No file, client or device may reach one.
#pragma once

namespace mlxcel {

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace mlxcel

#define CHECK(condition) \
  ((condition) ? (void)0 : ::mlxcel::check_failed(__FILE__, __LINE__, #condition))
