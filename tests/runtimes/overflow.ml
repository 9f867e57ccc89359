(* The runtime's handler of SIGSEGV asks where the fault was, and makes an exception of it. *)
let rec descend n = if n = 0 then 0 else 1 + descend (n - 1)

let () =
  for _ = 1 to 3 do
    print_endline (match descend 100_000_000 with _ -> "came back" | exception Stack_overflow -> "overflow")
  done
