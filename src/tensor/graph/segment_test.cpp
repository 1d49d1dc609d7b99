// Segments of a graph on a device that captures, one that does not, and one that fails half-way.
#include "tensor/graph/segment.h"

#include <gtest/gtest.h>

#include "tests/fake_device.h"

namespace infinicore::detail {
namespace {

using infini::FakeDevice;

// Adds one to a number, on the fake device's stream.
class Count : public Step {
 public:
  Count(infini::Place& place, int& number, bool capturable = true, bool fails = false)
      : Step(place, {}), number_(number), capturable_(capturable), fails_(fails) {}
  void run(void* stream) const override {
    auto& device = static_cast<FakeDevice&>(place().device);
    infini::require(!fails_ || device.capturing == nullptr, INFINI_STATUS_INTERNAL_ERROR,
                    "no capture of this, please");
    device.submit(stream, [this] { ++number_; });
  }
  std::string describe() const override { return "count"; }
  bool can_capture() const override { return capturable_; }

 private:
  int& number_;
  bool capturable_, fails_;
};

struct Segments : testing::Test {
  FakeDevice device;
  infini::Place place{device};
  int number = 0;
};

TEST_F(Segments, AreOneLaunchWhereTheDeviceCaptures) {
  Count step(place, number);
  Segment segment(step);
  segment.add(step);
  segment.add(step);
  segment.prepare();
  EXPECT_EQ(number, 0) << "capturing must run nothing";
  segment.run(nullptr);
  segment.run(nullptr);
  EXPECT_EQ(number, 4);
  EXPECT_EQ(device.launches, 2);
  EXPECT_EQ(device.captures, 1);
  EXPECT_NE(segment.describe().find("2 operators, one captured launch"), std::string::npos);
}

TEST_F(Segments, AreCapturedAnewAfterTheirTensorsChanged) {
  Count step(place, number);
  Segment segment(step);
  segment.add(step);
  segment.prepare();
  segment.forget_capture();
  EXPECT_EQ(device.synchronized, 1) << "a launch may still be running";
  segment.run(nullptr);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(device.captures, 2);
}

TEST_F(Segments, AreAListWhereTheDeviceCannotCapture) {
  device.can_capture = false;
  Count step(place, number);
  Segment segment(step);
  segment.add(step);
  segment.prepare();
  segment.run(nullptr);
  EXPECT_EQ(number, 1);
  EXPECT_NE(segment.describe().find("run one by one (device qy 0 cannot capture"),
            std::string::npos)
      << segment.describe();
}

TEST_F(Segments, AreAListWhereAStepFailsInCapture) {
  Count fine(place, number), failing(place, number, true, true);
  Segment segment(fine);
  segment.add(fine);
  segment.add(failing);
  segment.prepare();
  EXPECT_EQ(number, 0);
  EXPECT_EQ(device.capturing, nullptr) << "the capture was ended";
  segment.run(nullptr);
  EXPECT_EQ(number, 2);
  EXPECT_NE(segment.describe().find("no capture of this, please"), std::string::npos);
}

TEST_F(Segments, TakeStepsOfOnePlaceThatCaptureAlike) {
  infini::Place other{device};
  Count step(place, number), elsewhere(other, number), host(place, number, false);
  Segment segment(step);
  EXPECT_TRUE(segment.accepts(step));
  EXPECT_FALSE(segment.accepts(elsewhere));
  EXPECT_FALSE(segment.accepts(host));
}

}  // namespace
}  // namespace infinicore::detail
