# needs swipl
swipl -g "numlist(1,100000,L),sum_list(L,S),print(S),nl,catch(atom_length(_,_),_,(write(caught),nl)),thread_create(true,T),thread_join(T),garbage_collect" -t halt
