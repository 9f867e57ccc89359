// Goroutines that do little but wake each other, for as many milliseconds as the first argument says. All have ended when main does.
package main

import (
	"os"
	"strconv"
	"time"
)

func takes(ball chan int, done chan bool) {
	for range ball {
	}
	done <- true
}

func main() {
	milliseconds, _ := strconv.Atoi(os.Args[1])
	end := time.Now().Add(time.Duration(milliseconds) * time.Millisecond)
	for time.Now().Before(end) {
		ball, done := make(chan int), make(chan bool)
		go takes(ball, done)
		for turn := 0; turn < 1000; turn++ {
			ball <- turn
		}
		close(ball)
		<-done
	}
}
