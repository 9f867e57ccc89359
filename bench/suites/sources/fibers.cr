# Fibers that hand numbers on, and exceptions that come out of them.
class Odd < Exception
end

def fib(n : Int32) : Int64
  n < 2 ? n.to_i64 : fib(n - 1) + fib(n - 2)
end

def check(n : Int32)
  raise Odd.new("odd") if n.odd?
  fib(n % 15)
end

numbers = Channel(Int64).new
200.times do |number|
  spawn do
    numbers.send(begin
      check(number)
    rescue Odd
      -1_i64
    end)
  end
end
sum = 0_i64
200.times { sum += numbers.receive }
GC.collect
puts sum
