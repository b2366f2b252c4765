#include "formats/json_events.h"

#include <boost/json/basic_parser_impl.hpp>
#include <optional>
#include <string>

#include "base/cat.h"
#include "base/json.h"

namespace mlxcel {
namespace {

// Boost.JSON's handler: joins the parts of strings, and keeps the first error of the events.
struct Handler {
  static constexpr size_t max_object_size = -1, max_array_size = -1, max_key_size = -1,
                          max_string_size = -1;
  using Code = boost::system::error_code;

  JsonEvents* events = nullptr;
  std::string text{};  // the parts of a string so far
  std::optional<Error> error{};

  bool pass(const Status& status, Code& code) {
    if (status) return true;
    error = status.error();
    code = json::error::exception;
    return false;
  }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code& code) { return pass(events->begin_object(), code); }
  bool on_object_end(size_t, Code& code) { return pass(events->end_object(), code); }
  bool on_array_begin(Code& code) { return pass(events->begin_array(), code); }
  bool on_array_end(size_t, Code& code) { return pass(events->end_array(), code); }
  bool on_string_part(json::string_view part, size_t, Code&) {
    text.append(part.data(), part.size());
    return true;
  }
  bool on_key_part(json::string_view part, size_t size, Code& code) {
    return on_string_part(part, size, code);
  }
  bool on_string(json::string_view part, size_t, Code& code) {
    text.append(part.data(), part.size());
    const Status status = events->string(text);
    text.clear();
    return pass(status, code);
  }
  bool on_key(json::string_view part, size_t, Code& code) {
    text.append(part.data(), part.size());
    const Status status = events->key(text);
    text.clear();
    return pass(status, code);
  }
  bool on_number_part(json::string_view, Code&) { return true; }
  bool on_int64(int64_t value, json::string_view, Code& code) {
    return pass(events->integer(value), code);
  }
  bool on_uint64(uint64_t value, json::string_view, Code& code) {
    return pass(events->other(cat(value)), code);
  }
  bool on_double(double value, json::string_view, Code& code) {
    return pass(events->other(cat(value)), code);
  }
  bool on_bool(bool value, Code& code) { return pass(events->other(cat(value)), code); }
  bool on_null(Code& code) { return pass(events->other("null"), code); }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }
};

}  // namespace

Status parse_json(std::string_view where, std::string_view text, JsonEvents& events) {
  json::basic_parser<Handler> parser(json::parse_options{}, Handler{&events});
  boost::system::error_code code;
  const size_t read = parser.write_some(false, text.data(), text.size(), code);
  if (parser.handler().error) return *parser.handler().error;
  if (!code && read < text.size()) code = json::error::extra_data;
  if (code) {
    return Error{mlxcel::Code::kCorrupt, cat(where, ": expected JSON, found ", code.message(),
                                             " at byte ", read, " of ", text.size())};
  }
  return Ok{};
}

}  // namespace mlxcel
