// SPDX-License-Identifier: Apache-2.0
// Orders are read, and answers written, as a JSON value a line.

#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace json {

// An Object gives what an order has, or nothing (0, "") where it has no such field.
class Object {
 public:
  explicit Object(google::protobuf::Struct s) : s_(std::move(s)) {}

  static Object Parse(const std::string& line) {
    google::protobuf::Struct s;
    auto status = google::protobuf::util::JsonStringToMessage(line, &s);
    if (!status.ok()) throw std::runtime_error("reading an order: " + status.ToString());
    return Object(std::move(s));
  }

  Object Of(const std::string& name) const { return Object(Get(name).struct_value()); }
  std::string Text(const std::string& name) const { return Get(name).string_value(); }
  int64_t Number(const std::string& name) const { return static_cast<int64_t>(Get(name).number_value()); }

  std::vector<std::string> Texts(const std::string& name) const {
    std::vector<std::string> all;
    for (const auto& v : Get(name).list_value().values()) all.push_back(v.string_value());
    return all;
  }

 private:
  const google::protobuf::Value& Get(const std::string& name) const {
    auto field = s_.fields().find(name);
    return field == s_.fields().end() ? google::protobuf::Value::default_instance() : field->second;
  }

  google::protobuf::Struct s_;
};

inline std::string Quote(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + '"';
}

}  // namespace json
