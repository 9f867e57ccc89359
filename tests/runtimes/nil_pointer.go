// A fault in the first instructions of a function, or in later ones, becomes a panic with the program's own callers, and is recovered
// from.
package main

import (
	"fmt"
	"runtime"
)

type node struct {
	first, second int
	next          *node
}

//go:noinline
func sum(n *node) int { return n.first*7 + n.second }

//go:noinline
func behind(n *node) int { return n.next.first }

//go:noinline
func last(n *node, numbers []int) int {
	numbers[0] = 5
	return len(numbers) + n.second
}

func callers() (all string) {
	addresses := make([]uintptr, 20)
	frames := runtime.CallersFrames(addresses[:runtime.Callers(0, addresses)])
	for {
		frame, more := frames.Next()
		all += fmt.Sprintf(" %s:%d", frame.Function, frame.Line)
		if !more {
			return all
		}
	}
}

func attempt(run func() int, seen map[string]int) (result int) {
	defer func() {
		if problem := recover(); problem != nil {
			seen[fmt.Sprint(problem, callers())]++
			result = -1
		}
	}()
	return run()
}

func main() {
	total, seen := 0, map[string]int{}
	for round := 0; round < 500; round++ {
		var n *node
		if round%3 != 0 {
			n = &node{round, 1, nil}
		}
		total += attempt(func() int { return sum(n) }, seen)
		total += attempt(func() int { return behind(n) }, seen)
		total += attempt(func() int { return last(n, make([]int, 3)) }, seen)
	}
	fmt.Println(total, seen)
}
