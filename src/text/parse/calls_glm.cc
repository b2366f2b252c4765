// NAME <arg_key>K</arg_key><arg_value>V</arg_value>...: GLM 4.5 and later.
#include <algorithm>

#include "text/parse/dialect.h"
#include "text/parse/json_scan.h"

namespace mlxcel::text {
namespace {

constexpr std::string_view kKey = "<arg_key>", kKeyEnd = "</arg_key>";
constexpr std::string_view kValue = "<arg_value>", kValueEnd = "</arg_value>";

class GlmBody final : public CallBody {
 public:
  explicit GlmBody(const ToolSchemas& schemas) : writer_(schemas) {}

  void push(std::string_view text, Calls& calls) override {
    body_ += text;
    while (step(calls)) {
    }
  }

  std::string finish(Calls& calls) override {
    if (state_ == State::kName && !open(body_.size(), calls)) return std::move(body_);
    if (state_ == State::kInValue) {
      writer_.value(std::string_view(body_).substr(at_), calls);
      at_ = body_.size();
    }
    writer_.close(calls);
    const std::string rest = body_.substr(at_);
    return trim_blanks(rest).empty() ? "" : rest;
  }

  bool opened() const override { return state_ != State::kName; }

 private:
  enum class State { kName, kBetween, kInValue };

  bool step(Calls& calls) {
    const std::string_view body = body_;
    if (state_ == State::kName) {
      const size_t key = body.find(kKey);
      return key != body.npos && open(key, calls);
    }
    if (state_ == State::kBetween) {
      const size_t key = body.find(kKey, at_), key_end = body.find(kKeyEnd, key);
      const size_t value = body.find(kValue, key_end);
      if (value == body.npos) return false;
      const size_t begin = key + kKey.size();
      writer_.key(trim_blanks(body.substr(begin, key_end - begin)), calls);
      at_ = searched_ = value + kValue.size();
      state_ = State::kInValue;
      return true;
    }
    if (state_ != State::kInValue) return false;
    const size_t held = kValueEnd.size();
    const size_t end = body.find(kValueEnd, std::max(at_, searched_ - std::min(searched_, held)));
    if (end == body.npos) {
      searched_ = body.size();
      if (body.size() > at_ + held) writer_.grow(body.substr(at_, body.size() - held - at_), calls);
      return false;
    }
    writer_.value(body.substr(at_, end - at_), calls);
    at_ = end + kValueEnd.size();
    state_ = State::kBetween;
    return true;
  }

  bool open(size_t name_end, Calls& calls) {
    const std::string_view name = trim_blanks(std::string_view(body_).substr(0, name_end));
    if (name.empty() || name.find_first_of(" \n{<") != name.npos) {
      return false;
    }
    writer_.open(name, calls);
    at_ = name_end;
    state_ = State::kBetween;
    return true;
  }

  ArgumentWriter writer_;
  State state_ = State::kName;
  std::string body_;
  size_t at_ = 0;        // everything before is done
  size_t searched_ = 0;  // of a value: no end before this
};

}  // namespace

std::unique_ptr<CallBody> glm_body(const ToolSchemas& schemas) {
  return std::make_unique<GlmBody>(schemas);
}

}  // namespace mlxcel::text
