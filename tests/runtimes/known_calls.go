// A program that knows what it does: each goroutine makes calls whose number follows from its own, waits in between, and needs more
// stack than it began with. How often each function was called is printed.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

var calls [4]int64

//go:noinline
func leaf(n int) int {
	atomic.AddInt64(&calls[0], 1)
	return n + 1
}

//go:noinline
func branch(n int) int {
	atomic.AddInt64(&calls[1], 1)
	if n == 0 {
		return leaf(n)
	}
	return branch(n-1) + leaf(n)
}

//go:noinline
func deep(n int) int {
	var room [100]int
	room[n%100] = n
	atomic.AddInt64(&calls[2], 1)
	if n == 0 {
		return 0
	}
	return deep(n-1) + room[n%100] - n + 1
}

//go:noinline
func work(i int, in, out chan int) {
	atomic.AddInt64(&calls[3], 1)
	n := <-in
	n += branch(i % 5)
	out <- n + deep(i%50)
}

func main() {
	goroutines, _ := strconv.Atoi(os.Args[1])
	in, out := make(chan int), make(chan int)
	var group sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			work(i, in, out)
		}(i)
	}
	go func() {
		for i := 0; i < goroutines; i++ {
			in <- i
		}
	}()
	sum := 0
	for i := 0; i < goroutines; i++ {
		sum += <-out
	}
	group.Wait()
	fmt.Println(sum, calls[0], calls[1], calls[2], calls[3])
}
