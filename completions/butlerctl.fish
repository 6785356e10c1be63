complete --keep-order --exclusive --command butlerctl --arguments "(BUTLER_COMPLETE=fish butlerctl -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
