// The channel markup of gpt-oss ("harmony"): a stream of messages, each with a header.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/parse/stream_parser.h"

namespace mlxcel::text {

std::unique_ptr<MessageParser> make_harmony_parser(ParseOptions options);
std::vector<std::string_view> harmony_marks();

}  // namespace mlxcel::text
