module completions {

  def "nu-complete butlerctl color" [] {
    [ "auto" "always" "never" ]
  }

  # Work with Butler's tenant clusters
  export extern butlerctl [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
    --version(-V)             # Print version
  ]

  def "nu-complete butlerctl cluster color" [] {
    [ "auto" "always" "never" ]
  }

  # List, inspect and follow tenant clusters
  export extern "butlerctl cluster" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl cluster color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
  ]

  def "nu-complete butlerctl cluster list sort_by" [] {
    [ "namespace" "name" "age" "phase" "version" "workers" ]
  }

  def "nu-complete butlerctl cluster list color" [] {
    [ "auto" "always" "never" ]
  }

  # List tenant clusters
  export extern "butlerctl cluster list" [
    --namespace(-n): string   # Namespace to look in [default: that of the active team, else butler-tenants]
    --team: string            # Look in the namespace of this team
    --all-namespaces(-A)      # Look in all namespaces
    --selector(-l): string    # Only clusters with these labels, e.g. tier=gold,region!=eu
    --environment: string     # Only clusters of this environment
    --sort-by: string@"nu-complete butlerctl cluster list sort_by" # What to sort by
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl cluster list color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete butlerctl cluster get color" [] {
    [ "auto" "always" "never" ]
  }

  # Show one tenant cluster with its conditions and addons
  export extern "butlerctl cluster get" [
    --namespace(-n): string   # Namespace to look in [default: that of the active team, else butler-tenants]
    --team: string            # Look in the namespace of this team
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl cluster get color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the cluster
  ]

  def "nu-complete butlerctl cluster events color" [] {
    [ "auto" "always" "never" ]
  }

  # Show what happened to a tenant cluster, newest first
  export extern "butlerctl cluster events" [
    --namespace(-n): string   # Namespace to look in [default: that of the active team, else butler-tenants]
    --team: string            # Look in the namespace of this team
    --limit: string           # How many to show; 0 shows all
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl cluster events color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
    name: string              # Name of the cluster
  ]

  def "nu-complete butlerctl cluster watch color" [] {
    [ "auto" "always" "never" ]
  }

  # Follow phases and conditions of tenant clusters as they change
  export extern "butlerctl cluster watch" [
    --namespace(-n): string   # Namespace to look in [default: that of the active team, else butler-tenants]
    --team: string            # Look in the namespace of this team
    --all-namespaces(-A)      # Look in all namespaces
    --selector(-l): string    # Only clusters with these labels, e.g. tier=gold,region!=eu
    --environment: string     # Only clusters of this environment
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl cluster watch color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    name?: string             # Name of the cluster; all clusters of the namespace if left out
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butlerctl cluster help" [
  ]

  # List tenant clusters
  export extern "butlerctl cluster help list" [
  ]

  # Show one tenant cluster with its conditions and addons
  export extern "butlerctl cluster help get" [
  ]

  # Show what happened to a tenant cluster, newest first
  export extern "butlerctl cluster help events" [
  ]

  # Follow phases and conditions of tenant clusters as they change
  export extern "butlerctl cluster help watch" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butlerctl cluster help help" [
  ]

  def "nu-complete butlerctl completion shell" [] {
    [ "bash" "zsh" "fish" "powershell" "nushell" "elvish" ]
  }

  def "nu-complete butlerctl completion color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the completion script of a shell
  export extern "butlerctl completion" [
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl completion color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    shell: string@"nu-complete butlerctl completion shell" # The shell
  ]

  def "nu-complete butlerctl explain color" [] {
    [ "auto" "always" "never" ]
  }

  # Explain an error code, or list all of them
  export extern "butlerctl explain" [
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl explain color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
    code?: string             # Code to explain, such as BTL-1001
  ]

  def "nu-complete butlerctl man color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the manual page, or write the pages of all commands
  export extern "butlerctl man" [
    --dir: directory          # Write one page per command into this directory; it is created if it is missing
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl man color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help
  ]

  def "nu-complete butlerctl version color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the version of this program and of the cluster
  export extern "butlerctl version" [
    --client                  # Ask nobody: print the version of this program only
    --kubeconfig: path        # Kubeconfig file to use instead of the login
    --output(-o): string      # Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    --verbose(-v)             # Say more: details with -v, library logs with -vv
    --quiet(-q)               # Say nothing but warnings and errors
    --color: string@"nu-complete butlerctl version color" # When to use colours; auto: on a terminal, unless NO_COLOR is set
    --context: string         # Kubeconfig context to use
    --request-timeout: string # How long one request may take, e.g. 30s or 2m
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butlerctl help" [
  ]

  # List, inspect and follow tenant clusters
  export extern "butlerctl help cluster" [
  ]

  # List tenant clusters
  export extern "butlerctl help cluster list" [
  ]

  # Show one tenant cluster with its conditions and addons
  export extern "butlerctl help cluster get" [
  ]

  # Show what happened to a tenant cluster, newest first
  export extern "butlerctl help cluster events" [
  ]

  # Follow phases and conditions of tenant clusters as they change
  export extern "butlerctl help cluster watch" [
  ]

  # Print the completion script of a shell
  export extern "butlerctl help completion" [
  ]

  # Explain an error code, or list all of them
  export extern "butlerctl help explain" [
  ]

  # Print the manual page, or write the pages of all commands
  export extern "butlerctl help man" [
  ]

  # Print the version of this program and of the cluster
  export extern "butlerctl help version" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "butlerctl help help" [
  ]

}

export use completions *
