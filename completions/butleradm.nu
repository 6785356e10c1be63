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
    [ "etcd" "kube-apiserver" "kube-controller-manager" "kube-scheduler" "kubectl" "helm" "kind" "talosctl" ]
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
    [ "etcd" "kube-apiserver" "kube-controller-manager" "kube-scheduler" "kubectl" "helm" "kind" "talosctl" ]
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

  # Own the processes of a sandbox
  export extern "butleradm help sandbox supervise" [
  ]

  # Run the controllers of the platform
  export extern "butleradm help serve" [
  ]

  # Show the components, providers and tenant clusters of the platform
  export extern "butleradm help status" [
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

  # Print the version of this program and of the cluster
  export extern "butleradm help version" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm help help" [
  ]

}

export use completions *
