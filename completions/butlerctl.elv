set edit:completion:arg-completer[butlerctl] = { |@words|
    var index = (count $words)
    set index = (- $index 1)

    put (env _CLAP_IFS="\n" _CLAP_COMPLETE_INDEX=(to-string $index) BUTLER_COMPLETE="elvish" butlerctl -- $@words) | to-lines
}
