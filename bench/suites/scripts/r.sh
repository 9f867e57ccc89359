# needs Rscript
Rscript -e 'set.seed(1); x<-matrix(rnorm(10000),100); print(sum(solve(x)%*%x)>99.9); f<-function(n) if(n<2) n else f(n-1)+f(n-2); print(f(15)); tryCatch(stop("a"),error=function(e) cat(conditionMessage(e),"\n"))'
