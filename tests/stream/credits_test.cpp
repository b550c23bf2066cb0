#include "core/stream/credits.h"

#include <catch2/catch.hpp>

using namespace rsock::stream;

TEST_CASE("data leaves the reserve to control messages") {
  Credits credits(4, 2);
  CHECK(credits.may_send_data());
  credits.take();
  credits.take();
  CHECK_FALSE(credits.may_send_data());
  CHECK(credits.may_send_control());
  credits.take();
  credits.take();
  CHECK_FALSE(credits.may_send_control());
  credits.give_back(1);
  CHECK(credits.may_send_control());
  CHECK_FALSE(credits.may_send_data());
  credits.give_back(2);
  CHECK(credits.may_send_data());
  CHECK(credits.left() == 3);
}

TEST_CASE("credits are returned with any message, and are worth one of their own when many") {
  CreditsToReturn returns(3);
  returns.add(2);
  CHECK_FALSE(returns.worth_a_message());
  CHECK(returns.take() == 2);
  CHECK(returns.take() == 0);
  returns.add(1);
  returns.add(2);
  CHECK(returns.worth_a_message());
  CHECK(returns.take() == 3);
}
