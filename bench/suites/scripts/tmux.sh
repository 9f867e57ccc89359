# needs tmux
tmux -L ada$$ new-session -d 'echo hi > out; sleep 0.2'; sleep 1.5; cat out; tmux -L ada$$ kill-server 2>/dev/null; true
