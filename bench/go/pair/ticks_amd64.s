#include "textflag.h"

// func ticks(times int)
TEXT ·ticks(SB), NOSPLIT, $0-8
	MOVQ times+0(FP), CX
again:
	RDTSC
	RDTSC
	DECQ CX
	JNE again
	RET
