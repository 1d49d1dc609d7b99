// Reading problem texts: words, numbers and lists, with errors that quote what is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace infini::harness {

// Words between blanks.
std::vector<std::string> split_words(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);

// Throw BAD_PARAM; `what` names the thing in the message.
int64_t parse_integer(std::string_view text, std::string_view what);
std::vector<int64_t> parse_integers(std::string_view text, char separator, std::string_view what);
// "2x3x4"; "scalar" or "" is rank 0.
std::vector<size_t> parse_shape(std::string_view text);
// Throws BAD_PARAM when two of the words are "key=..." with the same key: which one counts is not for us to say.
void require_keys_once(const std::vector<std::string>& words);
// The bytes by which a base pointer lies past an aligned address: 0..4095.
int64_t parse_misalignment(std::string_view text, std::string_view what);
// As did_you_mean(), of the key in "key=value".
std::string did_you_mean_key(std::string_view word, const std::vector<std::string>& keys);
// If word is "key=value" sets value and returns true.
bool take_key(std::string_view word, std::string_view key, std::string_view& value);

std::string join(const std::vector<int64_t>& numbers, char separator);

}  // namespace infini::harness
