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
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
  ]

  def "nu-complete butleradm sandbox node color" [] {
    [ "auto" "always" "never" ]
  }

  # Simulated machines
  export extern "butleradm sandbox node" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butleradm sandbox node color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
  ]

  def "nu-complete butleradm sandbox node run color" [] {
    [ "auto" "always" "never" ]
  }

  # Run a simulated machine
  export extern "butleradm sandbox node run" [
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

  # Run a simulated machine
  export extern "butleradm sandbox node help run" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm sandbox node help help" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm sandbox help" [
  ]

  # Simulated machines
  export extern "butleradm sandbox help node" [
  ]

  # Run a simulated machine
  export extern "butleradm sandbox help node run" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butleradm sandbox help help" [
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

  # Print the manual page, or write the pages of all commands
  export extern "butleradm help man" [
  ]

  # Try the platform on this machine
  export extern "butleradm help sandbox" [
  ]

  # Simulated machines
  export extern "butleradm help sandbox node" [
  ]

  # Run a simulated machine
  export extern "butleradm help sandbox node run" [
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
