// JSON is Boost.JSON, compiled once from its headers (base/json.cc), so that a static binary needs
// no library.
#pragma once

#include <boost/json.hpp>

namespace mlxcel {
namespace json = boost::json;
}
