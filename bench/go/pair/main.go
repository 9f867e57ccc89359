// What a call and its return cost in Go: rounds of calls of a function that does nothing, and of two readings of the clock for each, in
// turn. Prints the median and the best tenth of both in nanoseconds, and the ratios.
package main

import (
	"fmt"
	"sort"
	"time"
)

const calls = 20000

// ticks reads the clock twice, so many times.
func ticks(times int)

//go:noinline
func leaf(number int) int { return number + 1 }

func main() {
	var leaves, clocks []float64
	for round := 0; round < 400; round++ {
		start := time.Now()
		for number := 0; number < calls; number++ {
			leaf(number)
		}
		middle := time.Now()
		ticks(calls)
		leaves = append(leaves, float64(middle.Sub(start))/calls)
		clocks = append(clocks, float64(time.Since(middle))/calls)
	}
	sort.Float64s(leaves)
	sort.Float64s(clocks)
	for _, at := range []int{len(leaves) / 2, len(leaves) / 10} {
		fmt.Printf("%.1f ns / %.1f ns = %.2f\n", leaves[at], clocks[at], leaves[at]/clocks[at])
	}
}
