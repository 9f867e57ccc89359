// Threads, collections, and faults in generated code that are exceptions.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;

class Managed {
    class Node { public int Value; public Node Next; }

    static int Fib(int n) => n < 2 ? n : Fib(n - 1) + Fib(n - 2);
    static int NextValue(Node node) => node.Next.Value;

    static int Main() {
        long sum = 0;
        var threads = Enumerable.Range(0, 6).Select(number => new Thread(() => {
            for (int round = 0; round < 40; round++) {
                int part = Fib(8 + number);
                try {
                    if (round % 5 == 0) throw new InvalidOperationException();
                    if (round % 7 == 0) part += NextValue(new Node());
                } catch (NullReferenceException) {
                    part += 1;
                } catch (InvalidOperationException) {
                    part += 2;
                }
                Interlocked.Add(ref sum, part);
            }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        Console.WriteLine(sum);
        var names = new Dictionary<string, int>();
        for (int number = 0; number < 20000; number++) names["name " + number % 500] = number;
        GC.Collect();
        Console.WriteLine(names.Values.Sum());
        int zero = 0;
        try {
            Console.WriteLine(1 / zero);
        } catch (DivideByZeroException) {
            Console.WriteLine("division");
        }
        return 5;
    }
}
