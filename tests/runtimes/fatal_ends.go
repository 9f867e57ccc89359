// Ends as its argument says: by a panic of a goroutine that nobody recovers, after one that is recovered, or by a deadlock.
package main

import (
	"fmt"
	"os"
)

type failure struct{ number int }

func (it failure) Error() string {
	return fmt.Sprint("failure ", it.number)
}

//go:noinline
func recovers() {
	defer func() { recover() }()
	panic("caught")
}

//go:noinline
func panics() {
	panic(failure{7})
}

func main() {
	recovers()
	never := make(chan int)
	if os.Args[1] == "panic" {
		go func() {
			panics()
		}()
	}
	<-never
}
