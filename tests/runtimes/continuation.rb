# A piece of the stack that is copied away once and back again and again.
require 'continuation'

def nest(depth, &block) = depth.zero? ? callcc(&block) : nest(depth - 1, &block)

count = 0
again = nil
value = nest(20) { |continuation| again = continuation; 0 }
count += 1
again.call(value + count) if count < 40
puts count, value
