// Candidates that bid: each says whether it can run a plan and how long that would take on this machine,
// without a word about any other. The cheapest runs.
//
// A candidate that cannot says why. One that can has made its schedule for the bid; its kernel is made
// of that, so that nothing is planned twice.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "contract/choice.h"

namespace infini {

// A kernel that could be made.
template <class Kernel>
struct Offer {
  virtual ~Offer() = default;
  virtual std::unique_ptr<Kernel> make() = 0;  // once
};

template <class Kernel>
struct Bid {
  double nanoseconds = std::numeric_limits<double>::infinity();  // infinite: cannot
  const char* why_not = "";                                      // in words, where it cannot
  std::unique_ptr<Offer<Kernel>> offer = nullptr;  // null also where the limit was passed
};

template <class Kernel>
Bid<Kernel> cannot(const char* why) {
  return {.why_not = why};
}

// It would take at least so long, which is more than the limit it was asked with.
template <class Kernel>
Bid<Kernel> at_least(double nanoseconds) {
  return {.nanoseconds = nanoseconds};
}

// `make` gives the kernel; it holds the schedule that the time was estimated from.
template <class Kernel, class Make>
Bid<Kernel> would_take(double nanoseconds, Make make) {
  struct Holder final : Offer<Kernel> {
    explicit Holder(Make m) : make_(std::move(m)) {}
    std::unique_ptr<Kernel> make() override { return make_(); }
    Make make_;
  };
  return {.nanoseconds = nanoseconds, .offer = std::make_unique<Holder>(std::move(make))};
}

// Machine: whatever the candidates of a backend decide by. `limit`: as soon as a candidate knows that it
// takes longer it may answer at_least(); what is small is not worth a long calculation.
template <class Kernel, class Machine, class Plan>
struct Candidate {
  const char* name;
  Bid<Kernel> (*bid)(const Machine&, const Plan&, double limit);
};

// The name asked for (an environment variable's, or Choice::wanted) is this candidate's; '!' behind it
// is an older spelling.
inline bool names(const char* wanted, const char* candidate) {
  const size_t length = std::char_traits<char>::length(candidate);
  const std::string_view asked(wanted);
  return asked.starts_with(candidate) &&
         (asked.size() == length || asked.substr(length) == std::string_view("!"));
}

template <class List>
std::string list_names(const List& list) {
  std::string text;
  for (const auto& candidate : list)
    text += (text.empty() ? "" : ", ") + std::string(candidate.name);
  return text;
}

// A list's state while the cheapest is looked for.
template <class Kernel, class Machine, class Plan, size_t N>
class Bidding {
 public:
  Bidding(const Candidate<Kernel, Machine, Plan> (&list)[N], const Machine& machine,
          const Plan& plan)
      : list_(list), machine_(machine), plan_(plan) {}

  // The named one, where it can; null: it cannot or there is none.
  std::unique_ptr<Kernel> make_named(const char* wanted) {
    for (size_t i = 0; i < N; ++i) {
      if (!names(wanted, list_[i].name)) continue;
      auto bid = list_[i].bid(machine_, plan_, std::numeric_limits<double>::infinity());
      if (bid.offer == nullptr) return nullptr;
      return bid.offer->make();
    }
    return nullptr;
  }
  // A maker may still decline (a library that refuses): the next cheapest then. `lines` may be null.
  std::unique_ptr<Kernel> make_cheapest(std::vector<BidLine>* lines) {
    for (size_t tries = 0; tries < N; ++tries) {
      const size_t best = find_cheapest(tries == 0 ? lines : nullptr);
      if (best == N) return nullptr;
      if (auto kernel = offer_->make()) return kernel;
      declined_[best] = true;
    }
    return nullptr;
  }

 private:
  size_t find_cheapest(std::vector<BidLine>* lines) {
    double limit = std::numeric_limits<double>::infinity();
    size_t best = N;
    for (size_t i = 0; i < N; ++i) {
      if (declined_[i]) continue;
      auto bid =
          list_[i].bid(machine_, plan_, lines ? std::numeric_limits<double>::infinity() : limit);
      if (lines) lines->push_back({list_[i].name, bid.nanoseconds, bid.why_not});
      if (bid.offer == nullptr || !(bid.nanoseconds < limit)) continue;
      limit = bid.nanoseconds;
      best = i;
      offer_ = std::move(bid.offer);
    }
    return best;
  }

  const Candidate<Kernel, Machine, Plan> (&list_)[N];
  const Machine& machine_;
  const Plan& plan_;
  std::unique_ptr<Offer<Kernel>> offer_;
  bool declined_[N] = {};
};

// The cheapest of the list for this plan, or the one that is asked for wherever it can: by `choice`, else
// by the first of `variables` that is set. A name that is none of the list's is an error from `choice`
// and told of the environment.
template <class Kernel, class Machine, class Plan, size_t N>
std::unique_ptr<Kernel> cheapest(const Candidate<Kernel, Machine, Plan> (&list)[N],
                                 const Machine& machine, const Plan& plan, const Choice& choice,
                                 std::initializer_list<const char*> variables) {
  Bidding<Kernel, Machine, Plan, N> bidding(list, machine, plan);
  const char *wanted = choice.wanted, *by = nullptr;
  for (const char* variable : variables)
    if (wanted == nullptr && (wanted = environment(variable)) != nullptr) by = variable;
  std::unique_ptr<Kernel> named;
  if (wanted != nullptr && *wanted != 0) {
    bool exists = false;
    for (const auto& candidate : list) exists = exists || names(wanted, candidate.name);
    if (!exists && by != nullptr) tell_not_understood(by, "one of " + list_names(list));
    require(exists || by != nullptr, INFINI_STATUS_BAD_PARAM, "there is no candidate \"", wanted,
            "\"; expected one of ", list_names(list));
    if (exists) named = bidding.make_named(wanted);
  }
  if (named && choice.lines == nullptr) return named;
  auto best = bidding.make_cheapest(choice.lines);
  return named ? std::move(named) : std::move(best);
}

}  // namespace infini
