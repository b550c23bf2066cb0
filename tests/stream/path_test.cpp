#include "core/stream/path.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <set>
#include <utility>

using namespace rsock::stream;

namespace {

constexpr Path kPaths[] = {Path::tcp, Path::switching, Path::accelerated, Path::fencing};
constexpr Half kHalves[] = {Half::open, Half::fin_queued, Half::closed, Half::reset};

}  // namespace

TEST_CASE("a path changes as the protocol says and in no other way") {
  const std::set<std::pair<Path, Path>> legal = {
      {Path::tcp, Path::switching},   {Path::switching, Path::accelerated},
      {Path::switching, Path::tcp},   {Path::accelerated, Path::fencing},
      {Path::accelerated, Path::tcp}, {Path::fencing, Path::tcp},
  };
  for (const Path from : kPaths) {
    for (const Path to : kPaths) {
      CAPTURE(to_string(from), to_string(to));
      CHECK(may_change(from, to) == legal.contains({from, to}));
    }
  }
}

TEST_CASE("a direction ends once") {
  const std::set<std::pair<Half, Half>> legal = {
      {Half::open, Half::fin_queued},
      {Half::open, Half::reset},
      {Half::fin_queued, Half::closed},
      {Half::fin_queued, Half::reset},
  };
  for (const Half from : kHalves) {
    for (const Half to : kHalves) CHECK(may_change(from, to) == legal.contains({from, to}));
  }
}
