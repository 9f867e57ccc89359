# needs erl
erl -noshell -eval 'S=self(), [spawn(fun()->S!lists:sum(lists:seq(1,N)) end)||N<-lists:seq(1,500)], R=lists:sum([receive X->X end||_<-lists:seq(1,500)]), io:format("~p~n",[R]), halt().'
