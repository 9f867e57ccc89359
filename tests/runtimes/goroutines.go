// Goroutines that end, and whose stacks grow while they are deep in calls: Go copies them elsewhere.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

//go:noinline
func descend(depth int) int {
	var room [64]int
	room[depth%64] = depth
	if depth == 0 {
		return 1
	}
	return descend(depth-1) + room[depth%64]
}

func main() {
	var all sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for number := 0; number < 50; number++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			for round := 0; round < 20; round++ {
				part := descend(number + round)
				lock.Lock()
				sum += part
				lock.Unlock()
				runtime.Gosched()
			}
			if number%2 == 0 {
				runtime.Goexit()
			}
		}(number)
	}
	all.Wait()
	runtime.GC()
	fmt.Println(sum)
}
