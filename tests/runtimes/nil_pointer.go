// A fault in the first instruction of a function becomes a panic, and is recovered from.
package main

import "fmt"

type node struct{ first, second int }

//go:noinline
func sum(n *node) int { return n.first*7 + n.second }

func attempt(n *node) (result int) {
	defer func() {
		if problem := recover(); problem != nil {
			result = -1
		}
	}()
	return sum(n)
}

func main() {
	total := 0
	for round := 0; round < 500; round++ {
		var n *node
		if round%3 != 0 {
			n = &node{round, 1}
		}
		total += attempt(n)
	}
	fmt.Println(total)
}
