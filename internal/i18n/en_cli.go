package i18n

// enCLI has the words of the command line that the verbs share, and those of the small verbs.
func enCLI() map[string]string {
	return map[string]string{
		"cli.error":            "error",
		"cli.warning":          "warning",
		"cli.root.short":       "Install Kubernetes on machines without Internet",
		"cli.root.long":        "Eggo installs a Kubernetes cluster over SSH from an offline bundle and a deploy.yaml.",
		"cli.flag.lang":        "language of what is shown: en or zh",
		"cli.flag.debug":       "show debugging details",
		"cli.flag.help":        "show this help",
		"cli.flag.version":     "show the version",
		"cli.flag.output":      "form of the output: text or json",
		"cli.help.arg":         "command",
		"cli.help.short":       "Help about a command",
		"cli.help.usage":       "Usage:",
		"cli.help.commands":    "Commands:",
		"cli.help.global":      "Global flags:",
		"cli.help.flags":       "Flags:",
		"cli.help.examples":    "Examples:",
		"cli.help.aliases":     "Aliases:",
		"cli.help.more":        `"{command} COMMAND --help" says more about a command.`,
		"cli.version.short":    "Show the version",
		"cli.completion.short": "Print the completion script for a shell",

		"cli.flag.file":        "the deploy.yaml; - reads standard input",
		"cli.validate.short":   "Check a deploy.yaml and list all its problems",
		"cli.validate.long":    "Check a deploy.yaml and list all its problems at once, each with its line, what is wrong, and what to write instead.\nThe exit code is 0 when the file is valid, else 2. No machine is contacted.",
		"cli.validate.strict":  "take warnings for errors",
		"cli.validate.valid":   "{file} is valid: {warnings} warning(s)",
		"cli.validate.invalid": "{file} is not valid: {errors} error(s), {warnings} warning(s)",

		"fault.usage":             "The command line is not understood: {cause}",
		"fault.usage.next":        "--help lists the commands and their flags.",
		"fault.usage.lang":        "--lang {lang} is not a language of this program",
		"fault.usage.lang.next":   "Use --lang en or --lang zh.",
		"fault.usage.output":      "--output {output} is not a form of output",
		"fault.usage.output.next": "Use one of: {choices}.",
		"fault.usage.shell":       "There is no completion for the shell {shell}",
		"fault.usage.shell.next":  "Use bash, zsh or fish.",
		"fault.interrupted":       "Interrupted",
		"fault.interrupted.next":  "Run the same command again: it goes on where it stopped.",
	}
}
