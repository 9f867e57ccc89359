# needs elixir
elixir -e 'IO.puts(Enum.reduce(1..1000, 0, fn x, a -> a + Task.await(Task.async(fn -> x * x end)) end))'
