# Reads orders, one per line, and answers each with `done` or `failed`:
#   +PGID  kill this process group when the orders end      -PGID  forget it
#   mDIR   make this directory and remove it at the end     rDIR   remove it now
# The orders end when the process that gives them is gone, however it went.

# Signals meant for the terminal's jobs, and an answer nobody reads, must not stop the cleaning up.
trap '' HUP INT QUIT TERM PIPE

remove() {
    # A dying process may still write a file while its directory is being removed.
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf -- "$1" && return
        sleep 0.1
    done
    return 1
}

groups=
while IFS= read -r order; do
    what=${order#?}
    answer=done
    case $order in
    +*) groups="$groups $what" ;;
    -*)
        kept=
        for group in $groups; do
            [ "$group" = "$what" ] || kept="$kept $group"
        done
        groups=$kept
        ;;
    m*) if mkdir -m 700 -- "$what"; then set -- "$@" "$what"; else answer=failed; fi ;;
    r*)
        remove "$what" || answer=failed
        for dir do
            shift
            [ "$dir" = "$what" ] || set -- "$@" "$dir"
        done
        ;;
    esac
    echo "$answer"
done

for group in $groups; do
    kill -s KILL -- "-$group"
done
for dir do
    remove "$dir"
done
