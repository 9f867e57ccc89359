(* Collections find what is alive by the return addresses on the stack; exceptions leave many frames at once. *)
exception Found of int

module Numbers = Map.Make (Int)

let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let rec search depth = if depth = 0 then raise (Found 3) else 1 + search (depth - 1)

let () =
  let sum = ref 0 in
  for round = 1 to 2000 do
    sum := !sum + (try search (round mod 50) with Found value -> value)
  done;
  let names = ref Numbers.empty in
  for number = 1 to 20_000 do
    names := Numbers.add (number * 7919 mod 10_007) (string_of_int number) !names
  done;
  Gc.compact ();
  let rows = Hashtbl.create 10 in
  for number = 1 to 20_000 do
    Hashtbl.replace rows (number mod 5000) (Array.make 10 number)
  done;
  Gc.full_major ();
  Printf.printf "%d %d %d %d\n" !sum (Numbers.cardinal !names) (Hashtbl.length rows) (fib 18)
