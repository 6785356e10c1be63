complete --keep-order --exclusive --command butleradm --arguments "(BUTLER_COMPLETE=fish butleradm -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
