# needs raku
raku -e 'say (^1000).map({$_ * 2}).sum; my @p = (^10).map({ start { (^1000).sum } }); say [+] await @p; try { die "x"; CATCH { default { say "caught" } } }'
