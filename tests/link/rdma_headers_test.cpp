// What the design takes for granted of rdma-core (design.md, sections 5 and 6), checked against the
// headers that this build has. Nothing is linked: the library will open rdma-core by dlopen.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <catch2/catch.hpp>
#include <type_traits>

namespace {

TEST_CASE("a write may carry an immediate of 32 bits, and its completion a length") {
  STATIC_REQUIRE(sizeof(ibv_send_wr::imm_data) == 4);
  STATIC_REQUIRE(sizeof(ibv_wc::imm_data) == 4);
  STATIC_REQUIRE(sizeof(ibv_wc::byte_len) == 4);
  STATIC_REQUIRE(IBV_WR_RDMA_WRITE_WITH_IMM != IBV_WR_RDMA_WRITE);
  STATIC_REQUIRE(IBV_WC_RECV_RDMA_WITH_IMM != IBV_WC_RECV);
}

TEST_CASE("a connection request of the TCP port space carries private data") {
  STATIC_REQUIRE(RDMA_PS_TCP == 0x0106);
  STATIC_REQUIRE(std::is_same_v<decltype(rdma_conn_param::private_data), const void*>);
}

TEST_CASE("hot verbs go through the context, so fakes of the libraries can stand in") {
  STATIC_REQUIRE(std::is_pointer_v<decltype(ibv_context_ops::post_send)>);
  STATIC_REQUIRE(std::is_pointer_v<decltype(ibv_context_ops::poll_cq)>);
}

}  // namespace
