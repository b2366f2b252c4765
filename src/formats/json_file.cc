#include "formats/json_file.h"

#include "base/cat.h"
#include "formats/mapped_file.h"

namespace mlxcel {

const char* kind_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a bool";
    case json::kind::int64:
    case json::kind::uint64:
      return "an integer";
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "nothing";
}

Result<json::object> parse_json_object(std::string_view where, std::string_view text) {
  json::parse_options options;
  options.max_depth = 32;
  json::stream_parser parser({}, options);
  boost::system::error_code error;
  const size_t read = parser.write(text.data(), text.size(), error);
  if (!error) parser.finish(error);
  if (error) {
    return Error{Code::kCorrupt, cat(where, ": expected JSON, found ", error.message(), " at byte ",
                                     read, " of ", text.size())};
  }
  json::value value = parser.release();
  if (!value.is_object()) {
    return Error{Code::kCorrupt, cat(where, ": expected a JSON object, found ", kind_name(value))};
  }
  return std::move(value.get_object());
}

Result<json::object> read_json_object(const std::string& path, size_t limit) {
  TRY(const std::string text, read_text_file(path, limit));
  return parse_json_object(path, text);
}

}  // namespace mlxcel
