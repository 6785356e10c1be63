module completions {

  def "nu-complete butleradm color" [] {
    [ "auto" "always" "never" ]
  }

  # Install and run the Butler platform
  export extern butleradm [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
    --version(-V)             # Print version
  ]

  def "nu-complete butleradm backup color" [] {
    [ "auto" "always" "never" ]
  }

  # Keep a management cluster in an encrypted file, and make it again
  export extern "butleradm backup" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm backup color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm backup create events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm backup create color" [] {
    [ "auto" "always" "never" ]
  }

  # Write a backup of a management cluster
  export extern "butleradm backup create" [
    --recipient(-r): string   # Encrypt to this public key, age1…; may be given several times, and each opens the backup alone
    --recipients-file(-R): path # Encrypt to the public keys in this file, one on a line
    --out: path               # The file to write [default: BUTLER_HOME/backups/CLUSTER-TIME.butler-backup]
    --events: string@"nu-complete butleradm backup create events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm backup create color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    cluster?: string          # Name of the cluster, or id of the run that made it [default: the newest run]
  ]

  def "nu-complete butleradm backup list color" [] {
    [ "auto" "always" "never" ]
  }

  # List backups: of which cluster, how old, how large, and who opens them
  export extern "butleradm backup list" [
    --dir: directory          # Where to look [default: BUTLER_HOME/backups]
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm backup list color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm backup verify color" [] {
    [ "auto" "always" "never" ]
  }

  # Read a backup to its end and say whether it could be used
  export extern "butleradm backup verify" [
    --identity(-i): path      # The identity that opens it; a file that only you can read
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm backup verify color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    file: path                # The backup
  ]

  def "nu-complete butleradm backup restore events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm backup restore color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster again from its backup
  export extern "butleradm backup restore" [
    --identity(-i): path      # The identity that opens it; a file that only you can read
    --dry-run                 # Only say what would be done
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm backup restore events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm backup restore color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    file: path                # The backup
  ]

  def "nu-complete butleradm backup keygen color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a pair of keys for backups
  export extern "butleradm backup keygen" [
    --out: path               # The file for the identity; one that is there already is left alone
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm backup keygen color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm backup help" [
  ]

  # Write a backup of a management cluster
  export extern "butleradm backup help create" [
  ]

  # List backups: of which cluster, how old, how large, and who opens them
  export extern "butleradm backup help list" [
  ]

  # Read a backup to its end and say whether it could be used
  export extern "butleradm backup help verify" [
  ]

  # Make a management cluster again from its backup
  export extern "butleradm backup help restore" [
  ]

  # Make a pair of keys for backups
  export extern "butleradm backup help keygen" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm backup help help" [
  ]

  def "nu-complete butleradm bootstrap runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster, from a configuration file or question by question
  export extern "butleradm bootstrap" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --resume                  # Go on with the draft that was kept when the questions were left
    --plain                   # Ask line by line instead of on a full screen; for screen readers
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap plan color" [] {
    [ "auto" "always" "never" ]
  }

  # Show what a bootstrap would do
  export extern "butleradm bootstrap plan" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --out: path               # Also write the plan to this file, readable by you alone
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap plan color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap run runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap run events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap run color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster
  export extern "butleradm bootstrap run" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap run runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap run events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap run color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap resume events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap resume color" [] {
    [ "auto" "always" "never" ]
  }

  # Go on with a run that was stopped, interrupted or has failed
  export extern "butleradm bootstrap resume" [
    --config(-c): path        # A changed configuration to go on with [default: the one in the run's directory]
    --accept-config           # Take the changes of the configuration that are safe in a run that is this far
    --repair                  # Repair a damaged journal first, as `bootstrap repair --yes` does
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap resume events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap resume color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    run?: string              # Id of the run, its beginning, or the name of the cluster [default: the newest run]
  ]

  def "nu-complete butleradm bootstrap abort color" [] {
    [ "auto" "always" "never" ]
  }

  # Stop a run and keep what it made
  export extern "butleradm bootstrap abort" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap abort color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    run?: string              # Id of the run, its beginning, or the name of the cluster [default: the newest run]
  ]

  def "nu-complete butleradm bootstrap destroy events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap destroy color" [] {
    [ "auto" "always" "never" ]
  }

  # Remove everything that a run made
  export extern "butleradm bootstrap destroy" [
    --config(-c): path        # The configuration, when the run's directory does not have it any more
    --yes(-y): string         # Do not ask; must be the name of the cluster
    --dry-run                 # Say what would be removed, but remove nothing
    --events: string@"nu-complete butleradm bootstrap destroy events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap destroy color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    run: string               # Id of the run, its beginning, or the name of the cluster
  ]

  def "nu-complete butleradm bootstrap repair color" [] {
    [ "auto" "always" "never" ]
  }

  # Repair the journal of a run
  export extern "butleradm bootstrap repair" [
    --config(-c): path        # The configuration, when neither directory nor journal has it any more
    --yes(-y)                 # Do not ask
    --dry-run                 # Say what would be kept and assumed, but change nothing
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap repair color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    run: string               # Id of the run, its beginning, or the name of the cluster
  ]

  def "nu-complete butleradm bootstrap rehearse events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap rehearse color" [] {
    [ "auto" "always" "never" ]
  }

  # Run a configuration on simulated machines
  export extern "butleradm bootstrap rehearse" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --keep                    # Leave the simulated cluster running
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap rehearse events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap rehearse color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap validate color" [] {
    [ "auto" "always" "never" ]
  }

  # Check a configuration file without making anything
  export extern "butleradm bootstrap validate" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --strict                  # Take warnings for errors
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap validate color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap schema color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the JSON Schema of the configuration
  export extern "butleradm bootstrap schema" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap schema color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap list color" [] {
    [ "auto" "always" "never" ]
  }

  # List the runs of bootstraps, oldest first
  export extern "butleradm bootstrap list" [
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap list color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap status color" [] {
    [ "auto" "always" "never" ]
  }

  # Show how far a run is
  export extern "butleradm bootstrap status" [
    --watch(-w)               # Go on until nobody works on the run any more; off a terminal, print what changes
    --tui                     # Watch it on a full screen, with machines, addons and log; leaving it leaves the run going
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap status color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    run?: string              # Id of the run, the beginning of one, or the name of its cluster; the newest run if left out
  ]

  def "nu-complete butleradm bootstrap logs level" [] {
    [ "debug" "info" "warn" "error" ]
  }

  def "nu-complete butleradm bootstrap logs color" [] {
    [ "auto" "always" "never" ]
  }

  # Show what was said in a run
  export extern "butleradm bootstrap logs" [
    --follow(-f)              # Go on, and show what is added
    --tail: string            # How many lines to begin with; all if left out
    --level: string@"nu-complete butleradm bootstrap logs level" # The least that a line must matter; debug also shows every effect and its result
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap logs color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    run?: string              # Id of the run, the beginning of one, or the name of its cluster; the newest run if left out
  ]

  def "nu-complete butleradm bootstrap replay events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap replay color" [] {
    [ "auto" "always" "never" ]
  }

  # Show a run again, as it was shown when it ran
  export extern "butleradm bootstrap replay" [
    --speed: string           # How many times as fast as it was, or max for no pause at all
    --tui                     # Show it on a full screen
    --events: string@"nu-complete butleradm bootstrap replay events" # Print every event of the job to stdout in this format
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap replay color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    run?: string              # Id of the run, the beginning of one, or the name of its cluster; the newest run if left out
  ]

  def "nu-complete butleradm bootstrap harvester runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap harvester events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap harvester color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster on Harvester
  export extern "butleradm bootstrap harvester" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap harvester runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap harvester events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap harvester color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap nutanix runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap nutanix events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap nutanix color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster on Nutanix
  export extern "butleradm bootstrap nutanix" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap nutanix runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap nutanix events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap nutanix color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap proxmox runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap proxmox events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap proxmox color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster on Proxmox VE
  export extern "butleradm bootstrap proxmox" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap proxmox runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap proxmox events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap proxmox color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap aws runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap aws events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap aws color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster on Amazon Web Services
  export extern "butleradm bootstrap aws" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap aws runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap aws events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap aws color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap azure runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap azure events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap azure color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster on Microsoft Azure
  export extern "butleradm bootstrap azure" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap azure runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap azure events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap azure color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap gcp runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap gcp events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap gcp color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster on Google Cloud
  export extern "butleradm bootstrap gcp" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap gcp runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap gcp events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap gcp color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap local runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap local events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap local color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster of a KIND cluster on this computer
  export extern "butleradm bootstrap local" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap local runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap local events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap local color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm bootstrap sandbox runtime" [] {
    [ "kind" "process" ]
  }

  def "nu-complete butleradm bootstrap sandbox events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm bootstrap sandbox color" [] {
    [ "auto" "always" "never" ]
  }

  # Make a management cluster of simulated machines on this computer
  export extern "butleradm bootstrap sandbox" [
    --config(-c): path        # Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the Butler home]
    --runtime: string@"nu-complete butleradm bootstrap sandbox runtime" # What the temporary control plane is made of [default: the configuration's, else kind]
    --dry-run                 # Only say what would be done, as `bootstrap plan` does
    --plan: path              # Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    --timeout: string         # Give up after this time, whatever the progress; the run can be resumed
    --skip-cleanup            # Leave the temporary control plane behind
    --merge-kubeconfig: string # Add the new cluster to this kubeconfig too, and make it current there
    --tui                     # Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    --events: string@"nu-complete butleradm bootstrap sandbox events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm bootstrap sandbox color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm bootstrap help" [
  ]

  # Show what a bootstrap would do
  export extern "butleradm bootstrap help plan" [
  ]

  # Make a management cluster
  export extern "butleradm bootstrap help run" [
  ]

  # Go on with a run that was stopped, interrupted or has failed
  export extern "butleradm bootstrap help resume" [
  ]

  # Stop a run and keep what it made
  export extern "butleradm bootstrap help abort" [
  ]

  # Remove everything that a run made
  export extern "butleradm bootstrap help destroy" [
  ]

  # Repair the journal of a run
  export extern "butleradm bootstrap help repair" [
  ]

  # Run a configuration on simulated machines
  export extern "butleradm bootstrap help rehearse" [
  ]

  # Check a configuration file without making anything
  export extern "butleradm bootstrap help validate" [
  ]

  # Print the JSON Schema of the configuration
  export extern "butleradm bootstrap help schema" [
  ]

  # List the runs of bootstraps, oldest first
  export extern "butleradm bootstrap help list" [
  ]

  # Show how far a run is
  export extern "butleradm bootstrap help status" [
  ]

  # Show what was said in a run
  export extern "butleradm bootstrap help logs" [
  ]

  # Show a run again, as it was shown when it ran
  export extern "butleradm bootstrap help replay" [
  ]

  # Make a management cluster on Harvester
  export extern "butleradm bootstrap help harvester" [
  ]

  # Make a management cluster on Nutanix
  export extern "butleradm bootstrap help nutanix" [
  ]

  # Make a management cluster on Proxmox VE
  export extern "butleradm bootstrap help proxmox" [
  ]

  # Make a management cluster on Amazon Web Services
  export extern "butleradm bootstrap help aws" [
  ]

  # Make a management cluster on Microsoft Azure
  export extern "butleradm bootstrap help azure" [
  ]

  # Make a management cluster on Google Cloud
  export extern "butleradm bootstrap help gcp" [
  ]

  # Make a management cluster of a KIND cluster on this computer
  export extern "butleradm bootstrap help local" [
  ]

  # Make a management cluster of simulated machines on this computer
  export extern "butleradm bootstrap help sandbox" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm bootstrap help help" [
  ]

  def "nu-complete butleradm completion shell" [] {
    [ "bash" "zsh" "fish" "powershell" "nushell" "elvish" ]
  }

  def "nu-complete butleradm completion color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the completion script of a shell
  export extern "butleradm completion" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm completion color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    shell: string@"nu-complete butleradm completion shell" # The shell
  ]

  def "nu-complete butleradm config color" [] {
    [ "auto" "always" "never" ]
  }

  # See and change settings
  export extern "butleradm config" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm config color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm config list color" [] {
    [ "auto" "always" "never" ]
  }

  # List every setting and its value
  export extern "butleradm config list" [
    --origin                  # Show where each value comes from
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm config list color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm config get color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the value of a setting
  export extern "butleradm config get" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm config get color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    key: string               # Name of the setting, such as namespace
  ]

  def "nu-complete butleradm config set color" [] {
    [ "auto" "always" "never" ]
  }

  # Set a value in the user's config.toml
  export extern "butleradm config set" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm config set color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    key: string               # Name of the setting, such as namespace
    value: string             # New value
  ]

  def "nu-complete butleradm config unset color" [] {
    [ "auto" "always" "never" ]
  }

  # Remove a value from the user's config.toml
  export extern "butleradm config unset" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm config unset color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    key: string               # Name of the setting, such as namespace
  ]

  def "nu-complete butleradm config path color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the path of the user's config.toml
  export extern "butleradm config path" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm config path color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm config help" [
  ]

  # List every setting and its value
  export extern "butleradm config help list" [
  ]

  # Print the value of a setting
  export extern "butleradm config help get" [
  ]

  # Set a value in the user's config.toml
  export extern "butleradm config help set" [
  ]

  # Remove a value from the user's config.toml
  export extern "butleradm config help unset" [
  ]

  # Print the path of the user's config.toml
  export extern "butleradm config help path" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm config help help" [
  ]

  def "nu-complete butleradm crds color" [] {
    [ "auto" "always" "never" ]
  }

  # Print or install the custom resource definitions
  export extern "butleradm crds" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm crds color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm crds apply color" [] {
    [ "auto" "always" "never" ]
  }

  # Install the definitions on the management cluster, or update them
  export extern "butleradm crds apply" [
    --dry-run                 # Let the API server check the definitions, but store nothing
    --timeout: string         # How long to wait until the definitions are established
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm crds apply color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm crds help" [
  ]

  # Install the definitions on the management cluster, or update them
  export extern "butleradm crds help apply" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm crds help help" [
  ]

  def "nu-complete butleradm doctor color" [] {
    [ "auto" "always" "never" ]
  }

  # Check the management cluster and say what to do about each problem
  export extern "butleradm doctor" [
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm doctor color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm explain color" [] {
    [ "auto" "always" "never" ]
  }

  # Explain an error code, or list all of them
  export extern "butleradm explain" [
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm explain color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    code?: string             # Code to explain, such as BTL-1001
  ]

  def "nu-complete butleradm machine color" [] {
    [ "auto" "always" "never" ]
  }

  # Make, look at and remove machines
  export extern "butleradm machine" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm machine color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm machine list color" [] {
    [ "auto" "always" "never" ]
  }

  # List machines
  export extern "butleradm machine list" [
    --namespace(-n): string   # Namespace to look in
    --all-namespaces(-A)      # Look in all namespaces
    --selector(-l): string    # Only requests with these labels, e.g. tier=gold,region!=eu
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm machine list color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm machine get color" [] {
    [ "auto" "always" "never" ]
  }

  # Show one machine with its conditions
  export extern "butleradm machine get" [
    --namespace(-n): string   # Namespace of the machine request
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm machine get color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the machine request
  ]

  def "nu-complete butleradm machine create role" [] {
    [ "control-plane" "worker" ]
  }

  def "nu-complete butleradm machine create color" [] {
    [ "auto" "always" "never" ]
  }

  # Ask for a machine
  export extern "butleradm machine create" [
    --namespace(-n): string   # Namespace of the machine request
    --provider: string        # ProviderConfig to use, as NAME or NAMESPACE/NAME
    --role: string@"nu-complete butleradm machine create role" # What the machine is for
    --cpu: string             # Number of CPUs
    --memory: string          # Memory, e.g. 4Gi or 4096Mi; a plain number is in MB
    --disk: string            # Root disk, e.g. 20Gi; a plain number is in GB
    --image: string           # Image in the provider's words, in place of the provider's default
    --user-data: path         # File with data for the first boot, such as a Talos machine configuration
    --dry-run                 # Let the API server check the request, but store nothing
    --wait                    # Wait until the machine is ready
    --timeout: string         # How long to wait
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm machine create color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the request, and of the machine
  ]

  def "nu-complete butleradm machine delete color" [] {
    [ "auto" "always" "never" ]
  }

  # Remove a machine with its disks
  export extern "butleradm machine delete" [
    --namespace(-n): string   # Namespace of the machine request
    --yes(-y)                 # Do not ask
    --dry-run                 # Say what would be removed, but remove nothing
    --wait                    # Wait until the machine is gone
    --timeout: string         # How long to wait
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm machine delete color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the machine request
  ]

  def "nu-complete butleradm machine power action" [] {
    [ "on" "off" "reset" ]
  }

  def "nu-complete butleradm machine power color" [] {
    [ "auto" "always" "never" ]
  }

  # Switch a machine on or off, or reset it
  export extern "butleradm machine power" [
    --namespace(-n): string   # Namespace of the machine request
    --owner: string           # Whose the machine is, as given to `butleradm serve` [default: the UID of the namespace kube-system]
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --dry-run                 # Find the machine, but leave it as it is
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm machine power color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the machine request
    action: string@"nu-complete butleradm machine power action" # What to do
  ]

  def "nu-complete butleradm machine console color" [] {
    [ "auto" "always" "never" ]
  }

  # Print what a machine has written to its console
  export extern "butleradm machine console" [
    --namespace(-n): string   # Namespace of the machine request
    --owner: string           # Whose the machine is, as given to `butleradm serve` [default: the UID of the namespace kube-system]
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --tail: string            # Only the last lines
    --follow(-f)              # Go on printing until Ctrl-C
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm machine console color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
    name: string              # Name of the machine request
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm machine help" [
  ]

  # List machines
  export extern "butleradm machine help list" [
  ]

  # Show one machine with its conditions
  export extern "butleradm machine help get" [
  ]

  # Ask for a machine
  export extern "butleradm machine help create" [
  ]

  # Remove a machine with its disks
  export extern "butleradm machine help delete" [
  ]

  # Switch a machine on or off, or reset it
  export extern "butleradm machine help power" [
  ]

  # Print what a machine has written to its console
  export extern "butleradm machine help console" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm machine help help" [
  ]

  def "nu-complete butleradm man color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the manual page, or write the pages of all commands
  export extern "butleradm man" [
    --dir: directory          # Write one page per command into this directory; it is created if it is missing
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm man color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
  ]

  def "nu-complete butleradm sandbox color" [] {
    [ "auto" "always" "never" ]
  }

  # Try the platform on this machine
  export extern "butleradm sandbox" [
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm sandbox up events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm sandbox up color" [] {
    [ "auto" "always" "never" ]
  }

  # Start the sandbox
  export extern "butleradm sandbox up" [
    --wait: string            # How long to wait until everything is ready
    --events: string@"nu-complete butleradm sandbox up events" # Print every event of the job to stdout in this format
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox up color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm sandbox status color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the parts and machines of the sandbox
  export extern "butleradm sandbox status" [
    --watch(-w)               # Go on, and show it again every two seconds
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox status color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm sandbox down color" [] {
    [ "auto" "always" "never" ]
  }

  # Stop the sandbox
  export extern "butleradm sandbox down" [
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox down color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm sandbox reset color" [] {
    [ "auto" "always" "never" ]
  }

  # Stop the sandbox and remove everything in it
  export extern "butleradm sandbox reset" [
    --yes(-y): string         # Do not ask; must be the name of the sandbox
    --dry-run                 # Say what would be removed, but remove nothing
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox reset color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm sandbox logs color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the logs of the sandbox
  export extern "butleradm sandbox logs" [
    --follow(-f)              # Go on, and show what is added
    --tail: string            # How many lines of each log to begin with
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox logs color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    part?: string             # Part or machine; all if none is given
  ]

  def "nu-complete butleradm sandbox node color" [] {
    [ "auto" "always" "never" ]
  }

  # Look at the simulated machines, and let them fail on purpose
  export extern "butleradm sandbox node" [
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox node color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
  ]

  def "nu-complete butleradm sandbox node list color" [] {
    [ "auto" "always" "never" ]
  }

  # List the simulated machines
  export extern "butleradm sandbox node list" [
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox node list color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
  ]

  def "nu-complete butleradm sandbox node fault color" [] {
    [ "auto" "always" "never" ]
  }

  # Show or set what goes wrong with a machine on purpose
  export extern "butleradm sandbox node fault" [
    --set: string             # Set a fault; can be repeated
    --clear                   # Remove the faults that are set, before any --set
    --ahead                   # The machine is not there yet; every machine of that name will be made with these faults
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox node fault color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    machine: string           # Name of the machine
  ]

  def "nu-complete butleradm sandbox node run color" [] {
    [ "auto" "always" "never" ]
  }

  # Run a simulated machine
  export extern "butleradm sandbox node run" [
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox node run color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    dir: directory            # Directory of the machine, with its machine.json
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm sandbox node help" [
  ]

  # List the simulated machines
  export extern "butleradm sandbox node help list" [
  ]

  # Show or set what goes wrong with a machine on purpose
  export extern "butleradm sandbox node help fault" [
  ]

  # Run a simulated machine
  export extern "butleradm sandbox node help run" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm sandbox node help help" [
  ]

  def "nu-complete butleradm sandbox fault color" [] {
    [ "auto" "always" "never" ]
  }

  # Show or set what goes wrong with the host of machines on purpose
  export extern "butleradm sandbox fault" [
    --set: string             # Set a fault; can be repeated
    --clear                   # Remove the faults that are set, before any --set
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox fault color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm sandbox supervise color" [] {
    [ "auto" "always" "never" ]
  }

  # Own the processes of a sandbox
  export extern "butleradm sandbox supervise" [
    --name: string            # Which sandbox; each has its own data, addresses and processes
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox supervise color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm sandbox help" [
  ]

  # Start the sandbox
  export extern "butleradm sandbox help up" [
  ]

  # Show the parts and machines of the sandbox
  export extern "butleradm sandbox help status" [
  ]

  # Stop the sandbox
  export extern "butleradm sandbox help down" [
  ]

  # Stop the sandbox and remove everything in it
  export extern "butleradm sandbox help reset" [
  ]

  # Show the logs of the sandbox
  export extern "butleradm sandbox help logs" [
  ]

  # Look at the simulated machines, and let them fail on purpose
  export extern "butleradm sandbox help node" [
  ]

  # List the simulated machines
  export extern "butleradm sandbox help node list" [
  ]

  # Show or set what goes wrong with a machine on purpose
  export extern "butleradm sandbox help node fault" [
  ]

  # Run a simulated machine
  export extern "butleradm sandbox help node run" [
  ]

  # Show or set what goes wrong with the host of machines on purpose
  export extern "butleradm sandbox help fault" [
  ]

  # Own the processes of a sandbox
  export extern "butleradm sandbox help supervise" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm sandbox help help" [
  ]

  def "nu-complete butleradm serve color" [] {
    [ "auto" "always" "never" ]
  }

  # Run the controllers of the platform
  export extern "butleradm serve" [
    --controllers: string     # Controllers to run, separated by commas; all if left out
    --metrics: string         # Serve /metrics, /healthz and /readyz on this address; port 0 takes any that is free
    --leader-elect            # Act only while holding the lease; this is the default
    --no-leader-elect         # Act at once, for a process that has no rival
    --lease-namespace: string # Namespace of the lease
    --lease-duration: string  # How long the lease lasts when its holder is gone
    --owner: string           # Whose machines are ours, as marked at the provider [default: the UID of the namespace kube-system]
    --machine-timeout: string # How long a machine may be without an address
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm serve color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm status color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the components, providers and tenant clusters of the platform
  export extern "butleradm status" [
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm status color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm support-bundle events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm support-bundle color" [] {
    [ "auto" "always" "never" ]
  }

  # Gather what somebody needs to help, without secrets
  export extern "butleradm support-bundle" [
    --out: path               # The file to write [default: support-TIME.tar.gz]
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --events: string@"nu-complete butleradm support-bundle events" # Print every event of the job to stdout in this format
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm support-bundle color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    run?: string              # Name of the cluster, or id of a run [default: the newest runs, and the cluster that commands use]
  ]

  def "nu-complete butleradm sweep color" [] {
    [ "auto" "always" "never" ]
  }

  # Find what runs left behind at a provider
  export extern "butleradm sweep" [
    --config(-c): path        # Look at the provider of this configuration
    --provider: string        # Look at the provider of this ProviderConfig of a management cluster
    --namespace(-n): string   # Namespace of the ProviderConfig
    --older-than: string      # How old an orphan must be
    --delete                  # Remove the orphans
    --yes(-y): string         # Do not ask; must be the name of the provider or sandbox
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sweep color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm tools color" [] {
    [ "auto" "always" "never" ]
  }

  # Find and install the programs Butler works with
  export extern "butleradm tools" [
    --tools-dir: directory    # Directory to look in before all others
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm tools color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm tools list color" [] {
    [ "auto" "always" "never" ]
  }

  # List the programs Butler works with
  export extern "butleradm tools list" [
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --tools-dir: directory    # Directory to look in before all others
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm tools list color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm tools install parts" [] {
    [ "etcd" "kube-apiserver" "kube-controller-manager" "kube-scheduler" "kubectl" "helm" "kind" "talosctl" "etcdutl" ]
  }

  def "nu-complete butleradm tools install events" [] {
    [ "ndjson" ]
  }

  def "nu-complete butleradm tools install color" [] {
    [ "auto" "always" "never" ]
  }

  # Install the programs Butler works with
  export extern "butleradm tools install" [
    --events: string@"nu-complete butleradm tools install events" # Print every event of the job to stdout in this format
    --tools-dir: directory    # Directory to look in before all others
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm tools install color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    ...parts: string@"nu-complete butleradm tools install parts" # Names of programs; all if none is given
  ]

  def "nu-complete butleradm tools path part" [] {
    [ "etcd" "kube-apiserver" "kube-controller-manager" "kube-scheduler" "kubectl" "helm" "kind" "talosctl" "etcdutl" ]
  }

  def "nu-complete butleradm tools path color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the path of a program
  export extern "butleradm tools path" [
    --tools-dir: directory    # Directory to look in before all others
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm tools path color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    part: string@"nu-complete butleradm tools path part" # Name of the program
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm tools help" [
  ]

  # List the programs Butler works with
  export extern "butleradm tools help list" [
  ]

  # Install the programs Butler works with
  export extern "butleradm tools help install" [
  ]

  # Print the path of a program
  export extern "butleradm tools help path" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm tools help help" [
  ]

  def "nu-complete butleradm tui color" [] {
    [ "auto" "always" "never" ]
  }

  # See the platform on a full screen, and work on it
  export extern "butleradm tui" [
    --read-only               # Only look: keys that change something are not there
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm tui color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butleradm version color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the version of this program and of the cluster
  export extern "butleradm version" [
    --client                  # Ask nobody: print the version of this program only
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm version color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm help" [
  ]

  # Keep a management cluster in an encrypted file, and make it again
  export extern "butleradm help backup" [
  ]

  # Write a backup of a management cluster
  export extern "butleradm help backup create" [
  ]

  # List backups: of which cluster, how old, how large, and who opens them
  export extern "butleradm help backup list" [
  ]

  # Read a backup to its end and say whether it could be used
  export extern "butleradm help backup verify" [
  ]

  # Make a management cluster again from its backup
  export extern "butleradm help backup restore" [
  ]

  # Make a pair of keys for backups
  export extern "butleradm help backup keygen" [
  ]

  # Make a management cluster, from a configuration file or question by question
  export extern "butleradm help bootstrap" [
  ]

  # Show what a bootstrap would do
  export extern "butleradm help bootstrap plan" [
  ]

  # Make a management cluster
  export extern "butleradm help bootstrap run" [
  ]

  # Go on with a run that was stopped, interrupted or has failed
  export extern "butleradm help bootstrap resume" [
  ]

  # Stop a run and keep what it made
  export extern "butleradm help bootstrap abort" [
  ]

  # Remove everything that a run made
  export extern "butleradm help bootstrap destroy" [
  ]

  # Repair the journal of a run
  export extern "butleradm help bootstrap repair" [
  ]

  # Run a configuration on simulated machines
  export extern "butleradm help bootstrap rehearse" [
  ]

  # Check a configuration file without making anything
  export extern "butleradm help bootstrap validate" [
  ]

  # Print the JSON Schema of the configuration
  export extern "butleradm help bootstrap schema" [
  ]

  # List the runs of bootstraps, oldest first
  export extern "butleradm help bootstrap list" [
  ]

  # Show how far a run is
  export extern "butleradm help bootstrap status" [
  ]

  # Show what was said in a run
  export extern "butleradm help bootstrap logs" [
  ]

  # Show a run again, as it was shown when it ran
  export extern "butleradm help bootstrap replay" [
  ]

  # Make a management cluster on Harvester
  export extern "butleradm help bootstrap harvester" [
  ]

  # Make a management cluster on Nutanix
  export extern "butleradm help bootstrap nutanix" [
  ]

  # Make a management cluster on Proxmox VE
  export extern "butleradm help bootstrap proxmox" [
  ]

  # Make a management cluster on Amazon Web Services
  export extern "butleradm help bootstrap aws" [
  ]

  # Make a management cluster on Microsoft Azure
  export extern "butleradm help bootstrap azure" [
  ]

  # Make a management cluster on Google Cloud
  export extern "butleradm help bootstrap gcp" [
  ]

  # Make a management cluster of a KIND cluster on this computer
  export extern "butleradm help bootstrap local" [
  ]

  # Make a management cluster of simulated machines on this computer
  export extern "butleradm help bootstrap sandbox" [
  ]

  # Print the completion script of a shell
  export extern "butleradm help completion" [
  ]

  # See and change settings
  export extern "butleradm help config" [
  ]

  # List every setting and its value
  export extern "butleradm help config list" [
  ]

  # Print the value of a setting
  export extern "butleradm help config get" [
  ]

  # Set a value in the user's config.toml
  export extern "butleradm help config set" [
  ]

  # Remove a value from the user's config.toml
  export extern "butleradm help config unset" [
  ]

  # Print the path of the user's config.toml
  export extern "butleradm help config path" [
  ]

  # Print or install the custom resource definitions
  export extern "butleradm help crds" [
  ]

  # Install the definitions on the management cluster, or update them
  export extern "butleradm help crds apply" [
  ]

  # Check the management cluster and say what to do about each problem
  export extern "butleradm help doctor" [
  ]

  # Explain an error code, or list all of them
  export extern "butleradm help explain" [
  ]

  # Make, look at and remove machines
  export extern "butleradm help machine" [
  ]

  # List machines
  export extern "butleradm help machine list" [
  ]

  # Show one machine with its conditions
  export extern "butleradm help machine get" [
  ]

  # Ask for a machine
  export extern "butleradm help machine create" [
  ]

  # Remove a machine with its disks
  export extern "butleradm help machine delete" [
  ]

  # Switch a machine on or off, or reset it
  export extern "butleradm help machine power" [
  ]

  # Print what a machine has written to its console
  export extern "butleradm help machine console" [
  ]

  # Print the manual page, or write the pages of all commands
  export extern "butleradm help man" [
  ]

  # Try the platform on this machine
  export extern "butleradm help sandbox" [
  ]

  # Start the sandbox
  export extern "butleradm help sandbox up" [
  ]

  # Show the parts and machines of the sandbox
  export extern "butleradm help sandbox status" [
  ]

  # Stop the sandbox
  export extern "butleradm help sandbox down" [
  ]

  # Stop the sandbox and remove everything in it
  export extern "butleradm help sandbox reset" [
  ]

  # Show the logs of the sandbox
  export extern "butleradm help sandbox logs" [
  ]

  # Look at the simulated machines, and let them fail on purpose
  export extern "butleradm help sandbox node" [
  ]

  # List the simulated machines
  export extern "butleradm help sandbox node list" [
  ]

  # Show or set what goes wrong with a machine on purpose
  export extern "butleradm help sandbox node fault" [
  ]

  # Run a simulated machine
  export extern "butleradm help sandbox node run" [
  ]

  # Show or set what goes wrong with the host of machines on purpose
  export extern "butleradm help sandbox fault" [
  ]

  # Own the processes of a sandbox
  export extern "butleradm help sandbox supervise" [
  ]

  # Run the controllers of the platform
  export extern "butleradm help serve" [
  ]

  # Show the components, providers and tenant clusters of the platform
  export extern "butleradm help status" [
  ]

  # Gather what somebody needs to help, without secrets
  export extern "butleradm help support-bundle" [
  ]

  # Find what runs left behind at a provider
  export extern "butleradm help sweep" [
  ]

  # Find and install the programs Butler works with
  export extern "butleradm help tools" [
  ]

  # List the programs Butler works with
  export extern "butleradm help tools list" [
  ]

  # Install the programs Butler works with
  export extern "butleradm help tools install" [
  ]

  # Print the path of a program
  export extern "butleradm help tools path" [
  ]

  # See the platform on a full screen, and work on it
  export extern "butleradm help tui" [
  ]

  # Print the version of this program and of the cluster
  export extern "butleradm help version" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm help help" [
  ]

}

export use completions *
